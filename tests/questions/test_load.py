"""How many questions a day come back: what the README says is what the schedule gives."""

from pathlib import Path

import pytest
from question_load import ROUND, questions, simulated, table

README = Path(__file__).resolve().parents[2] / "book" / "_ext" / "questions" / "README.md"


@pytest.fixture(scope="module")
def found():
    return simulated(ROUND)


def test_the_readme_says_what_a_reader_of_a_whole_book_meets(found):
    assert f"{len(ROUND)} chapters with {ROUND[0]} questions" in README.read_text(encoding="utf8")
    assert table(found) in README.read_text(encoding="utf8")


def test_more_to_remember_is_more_to_answer_and_the_year_after_is_lighter(found):
    reading, after = zip(*found.values(), strict=True)
    assert sorted(reading) == list(reading)
    assert sorted(after) == list(after)
    assert all(later < now for now, later in found.values())


def test_the_book_is_about_as_large():
    assert 0.7 < sum(questions()) / sum(ROUND) < 1.4
