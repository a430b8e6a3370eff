"""Trainings that take longer than a build: recorded once, with what it takes to repeat them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: They come with the package, of one commit with the code; ``scripts/record_*.py`` write them.
RECORDS = Path(__file__).parent / "data"


def recorded_run(name: str) -> Mapping[str, Any]:
    """Return what was recorded of a training.

    Args:
        name: That of the run, such as "multi30k-en-de".

    Returns:
        ``command`` repeats it; ``made`` says where and when (the commit, the machine, the date);
        ``settings`` are those of the run; ``text``, ``log``, ``curve``, ``scores``, ``faults``,
        ``time`` and ``heads`` are what came out. Those of many small trainings, such as
        "multi30k-en-scaling", have ``runs`` instead: what tells each one apart, and its results.

    >>> recorded_run("multi30k-en-de")["parameters"]
    2599424
    """
    names = sorted(path.stem for path in RECORDS.glob("*.json"))
    if name not in names:
        raise ValueError(f"name: expected one of {', '.join(names)}, got {name!r}")
    content: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return content


__all__ = ("recorded_run",)
