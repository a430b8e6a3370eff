"""Every attack ends as it should, in time, and leaves nothing behind."""

import os
import tempfile
import time
from pathlib import Path

import pytest
from attacks import ATTACKS
from graded_cells import CAN_GRADE, WAY, graded, view

from attention_book.course.exercises import EXERCISES
from attention_book.course.grading.grader import Clock
from attention_book.foundations.seed import own_random_numbers

pytestmark = pytest.mark.skipif(not CAN_GRADE, reason="children are forked on Linux alone")
#: All attacks take some minutes: ATTACKS=all (`make attacks`).
ALL = os.environ.get("ATTACKS") == "all"
CLOCK = Clock(cell=6.0, check=8.0, notebook=90.0)


@pytest.fixture(scope="module")
def secret():
    """Return the notebook of another student, which everybody on the machine may read."""
    with tempfile.TemporaryDirectory(prefix="others-") as folder:
        path = Path(folder) / "another.ipynb"
        path.write_text('{"cells": "of another student"}', encoding="utf8")
        path.chmod(0o644)
        path.parent.chmod(0o755)
        yield path


def table():
    """Return a source that knows what is expected on the usual inputs."""
    exercise = EXERCISES["attention-pooling"]
    with own_random_numbers(0):
        rows = [
            f"{round(float(p.arguments[0].flatten()[0]), 4)}: "
            f"torch.tensor({exercise.solution(*p.arguments).tolist()})"
            for p in exercise.probes()
        ]
    return "TABLE = {" + ", ".join(rows) + "}"


def children():
    """Return the processes that the grader has started, by the folder that they import from."""
    found, mark = set(), str(view()).encode()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                environment = Path(f"/proc/{entry}/environ").read_bytes()
                state = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if mark in environment and state != "Z":
                found.add(entry)
    return found


def told(report):
    """Return all that a report says."""
    results = report.results.values()
    texts = [*(r.text for r in results), *(repr(sorted(r.used)) for r in results)]
    return "\n".join([*texts, *report.errors.values(), *report.remarks, report.output])


@pytest.mark.parametrize("attack", [a for a in ATTACKS if ALL or a.quick], ids=lambda a: a.name)
def test_an_attack_ends_as_it_should(attack, secret):
    before, wrong = children(), []
    others = [str(secret), str(Path(__file__).parent / "attacks.py")]
    cells = [
        cell.replace("OTHERS", repr(others)).replace("TABLES", table() if cell == "TABLES" else "")
        for cell in attack.cells
    ]
    start = time.monotonic()
    report = graded(cells, seeds=(0, 20261126, 7), clock=CLOCK)
    seconds = time.monotonic() - start
    last, text = report.last(), told(report)
    for name, wanted in attack.passed.items():
        got = last[name].passed if name in last else None
        if got is not wanted:
            wrong.append(f"{name}: {got}, not {wanted}")
    if attack.says and attack.says not in text:
        wrong.append(f"does not say {attack.says!r}")
    if attack.never and attack.never in text:
        wrong.append(f"says {attack.never!r}")
    if seconds > 3 * attack.seconds:
        wrong.append(f"{seconds:.0f} s")
    wrong += [f"left {path}" for path in attack.also if os.path.exists(path)]
    deadline = time.monotonic() + 5
    while (left := children() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left and WAY != "fork":  # the server itself may have started meanwhile
        wrong.append(f"left processes {left}")
    assert not wrong, text[:2000]
