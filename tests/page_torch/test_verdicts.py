"""The book's exercises give the same verdicts with the page's torch as with PyTorch.

An exercise that comes out otherwise is listed, with the reason; one that cannot run in a page at
all stands in book/page_torch/not_in_page.yml, from where its page tells the reader.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from offenders import no_offenders

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NOT_IN_PAGE = ROOT / "book" / "page_torch" / "not_in_page.yml"
#: The answers whose verdict may differ, by exercise, and why; on another processor it may not.
OTHERWISE = {
    ("dead-parameters", "mistake 2, rounding-taken-for-life"): "The answer compares sums with"
    " `torch.equal`: which of two hints of the same mistake fits hangs on how they round.",
}


@pytest.fixture(scope="module")
def verdicts():
    """Return the verdicts with PyTorch and with the page's torch, each from its own process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, str(HERE / "verdicts.py"), which],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for which in ("pytorch", "page")
    ]
    written = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    return [json.loads(text) for text in written]


@pytest.fixture(scope="module")
def not_in_page():
    """Return the exercises that cannot run in a page, with what their page says."""
    return yaml.safe_load(NOT_IN_PAGE.read_text(encoding="utf8")) or {}


def test_the_verdicts_are_the_same(verdicts, not_in_page):
    theirs, ours = verdicts

    def check(name):
        told = {
            answer: (verdict, ours[name].get(answer))
            for answer, verdict in theirs[name].items()
            if ours[name].get(answer) != verdict and (name, answer) not in OTHERWISE
        }
        assert not told, "\n".join(f"{answer}: {pair}" for answer, pair in told.items())

    assert theirs.keys() == ours.keys()
    no_offenders(check, [name for name in theirs if name not in not_in_page])


def test_what_cannot_run_does_not(verdicts, not_in_page):
    theirs, ours = verdicts
    key = "the solution"
    assert [name for name in not_in_page if theirs[name][key] == ours[name][key]] == []


def test_nearly_all_exercises_come_out_alike(verdicts, not_in_page):
    otherwise = {name for name, _ in OTHERWISE} | set(not_in_page)
    assert len(otherwise) <= 0.15 * len(verdicts[0])


def test_what_cannot_run_says_why_in_both_languages(not_in_page):
    assert all(texts.keys() == {"zh", "en"} for texts in not_in_page.values())
