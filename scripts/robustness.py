"""Run the chapters again with other seeds and other kernels: does each measurement hold there?

Every chapter is executed with ten other seeds (an offset for `set_seed` and for the recipes), and
with each set of kernels that torch has for this processor (ATEN_CPU_CAPABILITY). What was run is
kept: a second call goes on where the first was stopped, and runs a chapter again only if its cells
or the code behind them have changed. Cells tagged `printed-numbers` reproduce somebody's printed
numbers and are left out where the seed is another one.

Writes benchmarks/robustness.json, which the page of claims reads, and benchmarks/robustness.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from evidence.execution.code_closure import Package, digest_of_cells  # noqa: E402
from evidence.execution.notebook_runner import Run, execute_all, kernel_environment, measurements_in  # noqa: E402

from attention_book.course.measurement import SIGNS, Measurement  # noqa: E402

WORK = ROOT / "book" / "_build" / "robustness"
DATA = ROOT / "benchmarks" / "robustness.json"
TABLE = ROOT / "benchmarks" / "robustness.md"
OFFSETS = tuple(range(1000, 11000, 1000))
#: What `torch.backends.cpu.get_cpu_capability` answers, to what asks for it; slowest first.
KERNELS = {"DEFAULT": "default", "AVX2": "avx2", "AVX512": "avx512"}
PRINTED = "printed-numbers"


class Variant(NamedTuple):
    """One way to run the book: a seed's offset, or a set of kernels."""

    name: str
    environment: dict[str, str]

    @property
    def has_other_seeds(self) -> bool:
        return "ATTENTION_BOOK_SEED_OFFSET" in self.environment


def variants() -> list[Variant]:
    """Return the kernels that this processor offers, then the seeds."""
    import torch

    names = list(KERNELS)
    offered = names[: names.index(torch.backends.cpu.get_cpu_capability()) + 1]
    kernels = [Variant(KERNELS[n], {"ATEN_CPU_CAPABILITY": KERNELS[n]}) for n in offered]
    seeds = [Variant(f"seed+{k}", {"ATTENTION_BOOK_SEED_OFFSET": str(k)}) for k in OFFSETS]
    return kernels + seeds


def chapters() -> list[str]:
    """Return the pages with cells, in reading order."""
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf8"))
    files = [each["file"] for part in toc["parts"] for each in part["chapters"]]
    texts = {f: (ROOT / "book" / f"{f}.md").read_text(encoding="utf8") for f in files}
    return [file for file, text in texts.items() if "{code-cell}" in text]


class Job(NamedTuple):
    """One chapter in one variant, the digests of its cells and of all code, where it is kept."""

    chapter: str
    variant: Variant
    cells: str
    code: str
    result: Path

    def kept(self) -> dict[str, Any] | None:
        if not self.result.is_file():
            return None
        found: dict[str, Any] = json.loads(self.result.read_text(encoding="utf8"))
        return found


def code_cells(path: Path) -> list[str]:
    notebook = jupytext.read(path)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def jobs(names: Iterable[str], package: Package) -> list[Job]:
    found = []
    for chapter in names:
        cells = code_cells(ROOT / "book" / f"{chapter}.md")
        digest = digest_of_cells(cells)
        key = hashlib.sha256((digest + package.key(cells)).encode()).hexdigest()[:12]
        for variant in variants():
            result = WORK / variant.name / f"{chapter}-{key}.json"
            found.append(Job(chapter, variant, digest, key, result))
    return found


def notebook_of(job: Job) -> Any:
    notebook = jupytext.read(ROOT / "book" / f"{job.chapter}.md")
    if job.variant.has_other_seeds:
        notebook.cells = [
            cell for cell in notebook.cells if PRINTED not in cell.metadata.get("tags", [])
        ]
    return notebook


def run_variant(todo: list[Job], trained_key: str, workers: int, done: Any) -> None:
    """Execute the chapters of one variant; write each result as it comes."""
    variant = todo[0].variant
    folder = WORK / variant.name
    environment = kernel_environment(folder / "kernels", ROOT / "src") | variant.environment
    environment["ATTENTION_BOOK_TRAINED"] = str(folder / f"trained-{trained_key}")
    environment["ATTENTION_BOOK_TIMINGS"] = "0"  # this machine is busy: no timing is recorded
    by_name = {job.chapter: job for job in todo}
    runs = [
        Run(job.chapter, notebook_of(job), ROOT / "book")
        for job in sorted(todo, key=lambda job: -usual_seconds(job.chapter))
    ]

    def keep(run: Run) -> None:
        result = {
            "seconds": round(run.seconds, 1),
            "measurements": measurements_in(run.notebook),
            "problems": [str(problem) for problem in run.problems],
        }
        path = by_name[run.name].result
        temporary = path.with_suffix(f".{os.getpid()}.part")
        temporary.write_text(json.dumps(result), encoding="utf8")
        temporary.replace(path)
        done(by_name[run.name], result)

    execute_all(runs, environment, jobs=workers, done=keep)


def usual_seconds(chapter: str) -> float:
    """Return how long a chapter took in its latest run, of any state; 30 s if there was none."""
    found = sorted(WORK.glob(f"*/{chapter}-????????????.json"), key=lambda p: p.stat().st_mtime)
    return float(json.loads(found[-1].read_text(encoding="utf8"))["seconds"]) if found else 30.0


class Progress:
    """Says what came out and how long the rest will take."""

    def __init__(self, todo: list[Job], workers: int) -> None:
        self.left = {(job.chapter, job.variant.name): usual_seconds(job.chapter) for job in todo}
        self.total, self.workers, self.start = len(todo), workers, time.monotonic()

    def __call__(self, job: Job, result: dict[str, Any]) -> None:
        del self.left[job.chapter, job.variant.name]
        minutes = sum(self.left.values()) / self.workers / 60
        missed = [m for m in result["measurements"] if not m["came_out"]]
        print(
            f"[{self.total - len(self.left)}/{self.total}] {job.variant.name} {job.chapter} "
            f"{result['seconds']:.0f} s, {len(result['measurements'])} measurements, "
            f"about {minutes:.0f} min left",
            flush=True,
        )
        for problem in result["problems"]:
            print(f"    {job.chapter}: {problem}", flush=True)
        for each in missed:
            print(f"    {job.chapter}: {measurement(each)} did not come out", flush=True)


def measurement(each: dict[str, Any]) -> Measurement:
    """Return a kept comparison as the package's own."""
    keys = ("name", "value", "relation", "bound", "draws")
    return Measurement(**{key: each[key] for key in keys if key in each})


def margin(each: dict[str, Any]) -> float:
    return measurement({"name": "", **each}).margin


def collected(all_jobs: list[Job]) -> dict[str, Any]:
    """Return, for each chapter and measurement, in how many runs it held and its worst value.

    A measurement that is taken several times under one name counts once: by its worst.
    """
    found: dict[str, Any] = {}
    for job in all_jobs:
        result = job.kept()
        if result is None:
            continue
        digests = {"cells": job.cells, "code": job.code}
        empty = digests | {"runs": [], "problems": {}, "measurements": {}}
        page = found.setdefault(job.chapter, empty)
        page["runs"].append(job.variant.name)
        if result["problems"]:
            page["problems"][job.variant.name] = result["problems"]
        for name in dict.fromkeys(each["name"] for each in result["measurements"]):
            each_time = [m for m in result["measurements"] if m["name"] == name]
            worst = min(each_time, key=margin)
            entry = page["measurements"].setdefault(name, {"held": 0, "runs": 0, "missed": []})
            entry["runs"] += 1
            entry["held"] += all(m["came_out"] for m in each_time)
            if not all(m["came_out"] for m in each_time):
                entry["missed"].append(job.variant.name)
            if "worst" not in entry or margin(worst) < margin(entry["worst"]):
                keys = ("value", "relation", "bound")
                entry["worst"] = {k: worst[k] for k in keys} | {"run": job.variant.name}
    return found


def with_earlier(found: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the record with what is written down of chapters that were run more often before.

    A run of a few chapters leaves the others' record as it is. Runs of the same code that were
    made in other folders or on other machines add up.
    """
    before = json.loads(DATA.read_text(encoding="utf8")) if DATA.is_file() else {}
    merged = {}
    for name in names:
        now, then = found.get(name), before.get(name)
        if now and then and then.get("code") == now["code"]:
            merged[name] = added_up(now, then)
        elif now or then:
            merged[name] = now or then
    return merged


def added_up(now: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """Return two records of one chapter as one, if no run is in both; else the longer one."""
    if set(now["runs"]) & set(then["runs"]):
        return max(now, then, key=lambda page: len(page["runs"]))
    both = {name: {} for name in (*then["measurements"], *now["measurements"])}
    for name in both:
        entries = [p["measurements"][name] for p in (then, now) if name in p["measurements"]]
        worst = min((entry["worst"] for entry in entries), key=margin)
        missed = [run for entry in entries for run in entry["missed"]]
        sums = {key: sum(entry[key] for entry in entries) for key in ("held", "runs")}
        both[name] = sums | {"missed": missed, "worst": worst}
    return {
        **now,
        "runs": [*then["runs"], *now["runs"]],
        "problems": then["problems"] | now["problems"],
        "measurements": both,
    }


def table(found: dict[str, Any]) -> str:
    """Return the report as Markdown."""
    runs = sorted({run for page in found.values() for run in page["runs"]})
    entries = [m for page in found.values() for m in page["measurements"].values()]
    held = sum(m["held"] == m["runs"] for m in entries)
    failed = sum(len(page["problems"]) for page in found.values())
    lines = [
        "# Robustness: the chapters with other seeds and other kernels",
        "",
        "Written by `make robustness`. Each measurement of each chapter, how often it held, and",
        "the run in which its margin was smallest.",
        "",
        f"Runs: {', '.join(runs)}.",
        f"{held} of {len(entries)} measurements held in every run that was made; "
        f"in {failed} runs of a chapter a law failed.",
        *fewer_runs(found, len(runs)),
        "",
        "| chapter | measurement | held | smallest margin | there | run |",
        "|---|---|---|---|---|---|",
    ]
    for chapter, page in found.items():
        for name, entry in page["measurements"].items():
            worst = entry["worst"]
            there = f"{worst['value']:.4g} {SIGNS[worst['relation']]} {worst['bound']:.4g}"
            lines.append(
                f"| {chapter} | {name} | {entry['held']}/{entry['runs']} | "
                f"{margin(worst):.3g} | {there} | {worst['run']} |"
            )
    for chapter, page in found.items():
        for run, problems in page["problems"].items():
            lines += ["", *(f"- {chapter}, {run}: {problem}" for problem in problems)]
    return "\n".join(lines) + "\n"


def fewer_runs(found: dict[str, Any], num_runs: int) -> list[str]:
    """Return the line that names the chapters which have not had all runs; none if all have."""
    fewer = [f"{name} ({len(p['runs'])})" for name, p in found.items() if len(p["runs"]) < num_runs]
    return [f"Not yet in all {num_runs} runs: {', '.join(fewer)}."] if fewer else []


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="all of them without any")
    parser.add_argument("--runs", nargs="*", help="names such as seed+1000 or avx2; all without")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--report", action="store_true", help="only write what is there")
    options = parser.parse_args(arguments)
    known = chapters()
    if unknown := set(options.chapters) - set(known):
        parser.error(f"no chapter {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    package = Package(ROOT / "src")
    every_job = jobs(known, package)
    wanted = [
        job
        for job in every_job
        if (not options.chapters or job.chapter in options.chapters)
        and (not options.runs or job.variant.name in options.runs)
    ]
    todo = [job for job in wanted if job.kept() is None and not options.report]
    progress = Progress(todo, options.jobs)
    trained_key = package.training_key[:12]
    for variant in dict.fromkeys(job.variant.name for job in todo):
        here = [job for job in todo if job.variant.name == variant]
        here[0].result.parent.mkdir(parents=True, exist_ok=True)
        run_variant(here, trained_key, options.jobs, progress)
    found = with_earlier(collected(every_job), known)
    DATA.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    TABLE.write_text(table(found), encoding="utf8")
    results = [job.kept() for job in wanted]
    good = all(
        result and not result["problems"] and all(m["came_out"] for m in result["measurements"])
        for result in results
    )
    state = "" if good else "; not everything was run and held"
    print(f"Wrote {TABLE.relative_to(ROOT)}{state}")
    return 0 if good or options.report else 1


if __name__ == "__main__":
    sys.exit(main())
