"""The grader says of every answer what `check` says: passed, law, mistake, hint, and the text."""

import os
import re
from pathlib import Path

import pytest
from answers_of_every_kind import answers
from graded_cells import CAN_GRADE, graded

from attention_book.course.exercises import EXERCISES, check

pytestmark = pytest.mark.skipif(not CAN_GRADE, reason="children are forked on Linux alone")
HEAD = f"""
from attention_book.course.grading.handed_over import check
from attention_book.course.exercises import EXERCISES
{Path(__file__).with_name("answers_of_every_kind.py").read_text(encoding="utf8")}
"""
#: All answers to all exercises take some minutes: ANSWERS=all.
EVERY = 1 if os.environ.get("ANSWERS") == "all" else 9


def plain(text):
    """Return a text without addresses, and without the line that raised.

    These tests wrap the package's functions, mistaken answers among them, in checks of types.
    """
    return re.sub(r" \(line \d+: .*\)|0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("number", range(len(EXERCISES)))
def test_the_grader_says_what_check_says(number):
    name = list(EXERCISES)[number]
    wanted = list(answers(EXERCISES[name]))
    tried = [i for i in range(len(wanted)) if i == 0 or (i + number) % EVERY == 0]
    cells = [HEAD, f"all_answers = list(answers(EXERCISES[{name!r}]))"]
    cells += [f"check({name!r}, all_answers[{i}][1])" for i in tried]
    report = graded(cells, exercises=True)
    other = []
    for place, i in enumerate(tried):
        title, answer = wanted[i]
        there = report.results.get((place + 2, 0))
        here = check(name, answer, language="en")
        told = (here.passed, here.law, here.mistake, plain(str(here)))
        if there is None or told != (
            there.passed,
            there.law,
            there.mistake,
            plain(there.text),
        ):
            other.append((title, told, there, report.errors, report.remarks))
    assert not other
