"""The results as JSON, and as Markdown with what was written by hand kept."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from peers.learning import BATCH_SIZE, MAX_TOKENS, Learned
from peers.machine import Machine, clock_name
from peers.memory import Memory
from peers.turns import Row

#: From here on the page is written by hand, and stays.
BY_HAND = "## What was found"
MIB = 2**20


@dataclass(kw_only=True)
class Results:
    """All that a run found, as far as it has come."""

    date: str
    processor: str
    versions: dict[str, str]
    machine: Machine
    sizes: dict[str, str]
    missing: list[str]
    parameters: dict[str, dict[str, int]] = field(default_factory=dict)
    agreement: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write ``path``.json and ``path``.md."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"
        path.with_suffix(".json").write_text(text, encoding="utf-8")
        page = path.with_suffix(".md")
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        _, heading, by_hand = before.partition(BY_HAND)
        page.write_text(markdown(self) + heading + by_hand, encoding="utf-8")


def markdown(results: Results) -> str:
    """Return the page that shows the results."""
    parts = [_head(results)]
    for task in dict.fromkeys(row.task for row in results.rows):
        parts.append(_task(task, [row for row in results.rows if row.task == task]))
    if results.learned:
        parts.append(_learned(results.learned))
    if results.memory:
        parts.append(_memory(results.memory, results.machine))
    if results.waiting:
        parts.append(_waiting(results.waiting))
    return "\n\n".join(parts) + "\n\n"


def _head(results: Results) -> str:
    machine = results.machine
    threads = "one thread" if machine.num_threads == 1 else f"{machine.num_threads} threads"
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines = [
        "# The Transformer beside its peers",
        "",
        "`make peers` wrote this page, up to what was found; what is compared, and how, stands in "
        "`benchmarks/peers/__init__.py`.",
        "",
        f"{results.date}, {results.processor}; {threads}, {clock_name(machine)}.",
        f"{versions}.",
        f"The machine's peaks in this run: {machine.operations / 1e9:,.0f} GFLOP/s in the "
        f"fastest matrix product, {machine.bandwidth / 1e9:,.1f} GB/s read and written by the "
        "fastest copy.",
    ]
    if results.missing:
        lines.append(f"Not installed, so left out: {', '.join(results.missing)}.")
    lines += ["", "| size | | parameters | the same as ours? |", "|---|---|---|---|"]
    for size, description in results.sizes.items():
        counts = results.parameters.get(size, {})
        same = results.agreement.get(size, {})
        for name, count in counts.items():
            lines.append(f"| {size} | {name} | {count:,} | {same.get(name, '')} |")
        lines.append(f"| | *{description}* | | |")
    return "\n".join(lines)


def _task(task: str, rows: list[Row]) -> str:
    lines = [
        f"## {task[0].upper()}{task[1:]}",
        "",
        "| size | program | median | tokens a second | our time over its time (quartiles; of the "
        "fastest) | share of the matrix product's peak | of the copy's |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = (
            ""
            if row.ours is None
            else (f"**{row.ours:.3f}** ({row.lower:.3f} to {row.upper:.3f}; {row.of_fastest:.3f})")
        )
        lines.append(
            f"| {row.size} | {row.program} | {_seconds(row.seconds)} | {row.tokens:,.0f} | {ratio} "
            f"| {row.of_peak:.0%} | {row.of_bandwidth:.0%} |"
        )
    return "\n".join(lines)


def _learned(rows: list[Learned]) -> str:
    lines = [
        "## Time to a loss",
        "",
        f"The phrasebook, English to French, at most {MAX_TOKENS} tokens, {BATCH_SIZE} pairs to "
        "a batch, the same batches and first weights for all; each draws its own dropout.",
        "",
        "| size | program | seconds | epochs | last loss | our time over its time | an epoch |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratios = "| | |" if row.ours is None else f"| **{row.ours:.3f}** | {row.an_epoch:.3f} |"
        loss = f"{row.loss:.3f}" + ("" if row.reached else " (not reached)")
        lines.append(
            f"| {row.size} | {row.program} | {row.seconds:.1f} | {row.epochs} | {loss} {ratios}"
        )
    return "\n".join(lines)


def _memory(rows: list[Memory], machine: Machine) -> str:
    what = "resident memory" if machine.device == "cpu" else "the GPU's memory"
    lines = [
        "## Memory",
        "",
        f"The most {what} that a process of its own held, MiB, with all that was imported.",
        "",
        "| size | program | imported | greedy decoding | training steps |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        numbers = (row.imported, row.decoding, row.training)
        shown = " | ".join(f"{number / MIB:,.0f}" for number in numbers)
        lines.append(f"| {row.size} | {row.program} | {shown} |")
    return "\n".join(lines)


def _waiting(found: dict[str, str]) -> str:
    lines = ["## Does a forward and backward pass wait for the GPU?", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {why or 'no'} |" for name, why in found.items()]
    return "\n".join(lines)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
