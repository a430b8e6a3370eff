"""Every exercise in the page: its solution passes, each known mistake is called by its name."""

from __future__ import annotations

from typing import Any

import pytest

from attention_book.course.exercises import EXERCISES, check

pytestmark = pytest.mark.browser

#: A text that checks all known answers of one exercise, and prints what came of each.
CELL = """\
from attention_book.course.exercises import EXERCISES
exercise = EXERCISES[{name!r}]
for answer in [exercise.solution, *(each.wrong for each in exercise.mistakes)]:
    verdict = check({name!r}, answer)
    print(verdict.passed, verdict.mistake, verdict.law)
"""


@pytest.fixture(scope="module")
def run(browser: Any, served: str) -> Any:
    """Run a cell in one page; return what it prints, and how it ended."""
    page = browser.new_page()
    page.goto(f"{served}/a.html")
    call = """async (text) => {
      await pagePython.load();
      let printed = "";
      const out = (more) => { printed += more; };
      const heard = { progress() {}, started() {}, out };
      const found = await pagePython.run(text, '{"names":{}}', heard);
      return { printed, error: found.error, missing: found.missing };
    }"""
    yield lambda text: page.evaluate(call, text)
    page.close()


def in_python(name: str) -> list[str]:
    """What a notebook prints for the same cell."""
    exercise = EXERCISES[name]
    answers = [exercise.solution, *(each.wrong for each in exercise.mistakes)]
    verdicts = [check(name, answer) for answer in answers]
    return [f"{each.passed} {each.mistake} {each.law}" for each in verdicts]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_verdicts_are_those_of_a_notebook(run: Any, name: str) -> None:
    found = run(CELL.format(name=name))
    assert found["error"] is None, found["error"]
    assert found["missing"] == []
    assert found["printed"].splitlines() == in_python(name)
