"""A folder of notebooks, graded by several workers; what is decided is kept.

Beside the table lies a folder with a file of JSON for each notebook, written as it comes, and one
for the run, with the seeds that its inputs were drawn with: a complaint can be looked into, and
a run that was stopped goes on with the same inputs.
"""

import hashlib
import json
import multiprocessing
import runpy
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attention_book.course.exercises import Exercise
from attention_book.course.grading.grader import Clock, Grader, Report, Result
from attention_book.course.grading.jail import Settings
from attention_book.course.grading.notebooks import notebooks_in
from attention_book.foundations.files import write_whole

RUN_FILE = "run.json"


@dataclass(frozen=True)
class Plan:
    """How a folder is graded: the same for all its notebooks.

    Attributes:
        settings: How children are started.
        clock: How long a notebook may take.
        seeds: With which inputs are drawn; 0, the notebook's own, first.
        private: A file of Python with the lecturer's own ``EXERCISES``; empty: none.
    """

    settings: Settings
    clock: Clock
    seeds: tuple[int, ...]
    private: str = ""

    def described(self) -> dict[str, Any]:
        """Return what a result depends on, besides its notebook."""
        private = Path(self.private).read_bytes() if self.private else b""
        return {
            "attention_book": sys.modules["attention_book"].__version__,
            "way": self.settings.way,
            "language": self.settings.language,
            "seeds": list(self.seeds),
            "clock": asdict(self.clock),
            "private": hashlib.sha256(private).hexdigest() if private else "",
        }


def private_exercises(path: str) -> tuple[Exercise, ...]:
    """Return the exercises of a lecturer's file.

    Raises:
        ValueError: if it has no list ``EXERCISES`` of exercises.
    """
    if not path:
        return ()
    found = runpy.run_path(path).get("EXERCISES")
    if not isinstance(found, list | tuple) or not all(isinstance(e, Exercise) for e in found):
        raise ValueError(
            f"{path}: expected a list EXERCISES of exercises, got {type(found).__name__}"
        )
    return tuple(found)


def graded(
    folder: Path, plan: Plan, results: Path, *, workers: int = 2
) -> Iterator[tuple[int, int, Report]]:
    """Grade the notebooks of a folder; yield each as it is done, those of an earlier run first.

    Args:
        folder: Where the notebooks are.
        plan: How they are graded.
        results: Folder for what is decided, one file a notebook.
        workers: Processes at a time: random numbers are a process's own.

    Yields:
        How many are done, of how many, and the report.
    """
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / RUN_FILE, json.dumps(plan.described(), indent=1).encode())
    named = [(path, path.relative_to(folder).as_posix()) for path in notebooks_in(folder)]
    kept = {name: _kept(path, name, plan, results) for path, name in named}
    count = 0
    for report in kept.values():
        if report is not None:
            count += 1
            yield count, len(named), report
    todo = [(path, name) for path, name in named if kept[name] is None]
    if not todo:
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(todo)), _begin, (plan,)) as pool:
        for path, report in pool.imap_unordered(_one, todo):
            _keep(path, report, plan, results)
            count += 1
            yield count, len(named), report


_grader: Grader | None = None


def _begin(plan: Plan) -> None:
    global _grader
    import torch

    torch.set_num_threads(1)
    private = private_exercises(plan.private)
    _grader = Grader(plan.settings, plan.clock, plan.seeds, private)


def _one(notebook: tuple[Path, str]) -> tuple[Path, Report]:
    path, name = notebook
    assert _grader is not None
    try:
        return path, _grader.grade(path, name)
    except Exception as error:  # ours, not the student's: say so, and go on with the others
        return path, Report(name, remarks=[f"the grader failed: {type(error).__name__}: {error}"])


def _file(name: str, results: Path) -> Path:
    return results / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


def _keep(path: Path, report: Report, plan: Plan, results: Path) -> None:
    told = asdict(report) | {"results": [[*at, asdict(r)] for at, r in report.results.items()]}
    text = {"plan": plan.described(), "sha256": _digest(path), "report": told}
    data = json.dumps(text, ensure_ascii=False, indent=1).encode("utf8", "replace")
    write_whole(_file(report.notebook, results), data)


def _kept(path: Path, name: str, plan: Plan, results: Path) -> Report | None:
    """Return what an earlier run decided of the same notebook on the same terms."""
    try:
        found = json.loads(_file(name, results).read_text(encoding="utf8"))
    except (OSError, ValueError):
        return None
    if found["plan"] != plan.described() or found["sha256"] != _digest(path):
        return None
    told = found["report"]
    told["results"] = {
        (cell, number): Result(**{**result, "used": tuple(result["used"])})
        for cell, number, result in told["results"]
    }
    told["errors"] = {int(number): text for number, text in told["errors"].items()}
    return Report(**told)
