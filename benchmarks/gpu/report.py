"""Write the page of results, benchmarks/gpu.md, from the parts' JSON.

python benchmarks/gpu/report.py FOLDER
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PARTS = ("kernels", "training", "decoding", "translation")
#: What a row tells, where it is known: key, unit, factor.
COLUMNS = (
    ("median_s", "ms", 1e3),
    ("ms_a_step", "ms a step", 1.0),
    ("least_ms_a_step", "ms at least", 1.0),
    ("tokens_per_s", "tokens/s", 1.0),
    ("tflops", "TFLOP/s", 1.0),
    ("flops", "TFLOP/s", 1e-12),
    ("bytes_per_s", "TB/s", 1e-12),
    ("share_of_matmul", "% of the product", 100.0),
    ("share_of_copy", "% of the copy", 100.0),
    ("peak_gib", "GiB", 1.0),
    ("difference", "difference", 1.0),
)


def page(folder: Path) -> str:
    """Return the page: the machine, then a table for each part that was measured."""
    lines = [
        "# On one GPU",
        "",
        "What `python benchmarks/gpu` has measured; how, its README says. Times are medians. "
        "*Of the product* and *of the copy*: a share of what a large matrix product and a large "
        "copy reached in the same process. Compare shares of two cards, never their times.",
    ]
    for name in PARTS:
        path = folder / f"{name}.json"
        if path.exists():
            lines += ["", *_part(json.loads(path.read_text()))]
    return "\n".join(lines) + "\n"


def _part(found: dict[str, Any]) -> Iterator[str]:
    machine = found.get("machine", {})
    on = machine.get("card", "the CPU, tiny: a dry run")
    yield f"## {found['part'].capitalize()}"
    yield ""
    state = "all parts" if found["finished"] else "not finished"
    yield f"{on}, torch {machine.get('torch')}, {machine.get('date')}; {state}."
    yield ""
    yield "| what | result |"
    yield "|---|---|"
    for key, value in found["results"].items():
        for name, told in _rows(key, value):
            yield f"| {name} | {told} |"
    if left := found.get("no_time_for"):
        yield ""
        yield "No time was left for: " + ", ".join(left) + "."


def _rows(key: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "error" in value:
        yield key, "error: " + value["error"].replace("|", "/")[:120]
        return
    parts = {name: each for name, each in value.items() if isinstance(each, dict)}
    if "forward" in parts or any("median_s" in each for each in parts.values()):
        for name, each in parts.items():
            yield f"{key}, {name}", _told(each)
        return
    yield key, _told(value)


def _told(value: dict[str, Any]) -> str:
    if "error" in value:
        return "error: " + str(value["error"])[:80]
    known = [
        f"{value[name] * factor:.4g} {unit}"
        for name, unit, factor in COLUMNS
        if isinstance(value.get(name), int | float)
    ]
    return ", ".join(known) or json.dumps(value)[:400].replace("|", "/")


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1])))
