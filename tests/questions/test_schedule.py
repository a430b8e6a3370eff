"""When a question comes back: the numbers of PyPI's fsrs, in whole days."""

from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler
from hypothesis import given
from hypothesis import strategies as st
from reader import Reader

START = datetime(2026, 1, 1, tzinfo=UTC)
#: Days between answers, and the grade of each.
HISTORIES = st.lists(st.tuples(st.integers(1, 400), st.integers(1, 4)), min_size=1, max_size=9)
RETENTIONS = st.sampled_from([0.8, 0.85, 0.9, 0.95])


@pytest.fixture(scope="module")
def reader():
    found = Reader()
    yield found
    found.close()


def days_of(history):
    day = 0
    for gap, grade in history:
        day += gap
        yield day, grade


@given(history=HISTORIES, retention=RETENTIONS)
def test_as_pypis_fsrs(reader, history, retention):
    scheduler = Scheduler(
        desired_retention=retention, learning_steps=(), relearning_steps=(), enable_fuzzing=False
    )
    theirs, ours = Card(), None
    for day, grade in days_of(history):
        now = START + timedelta(days=day)
        theirs, _ = scheduler.review_card(theirs, Rating(grade), now)
        ours = reader.call("asked", ours, grade, day, module="fsrs")
        later = scheduler.get_card_retrievability(theirs, now + timedelta(days=10))
        assert ours["s"] == pytest.approx(theirs.stability, rel=1e-9)
        assert ours["d"] == pytest.approx(theirs.difficulty, rel=1e-9)
        days = reader.call("interval", ours["s"], retention, module="fsrs")
        assert days == (theirs.due - now).days
        assert reader.call("remembered", ours, day + 10, module="fsrs") == pytest.approx(later)


@given(history=HISTORIES)
def test_a_better_answer_never_brings_a_question_sooner(reader, history):
    card = None
    for day, grade in days_of(history):
        after = [reader.call("asked", card, each, day, module="fsrs")["s"] for each in (1, 2, 3, 4)]
        assert after == sorted(after)
        card = reader.call("asked", card, grade, day, module="fsrs")


def test_what_is_asked_twice_a_day_is_practice(reader):
    card = reader.call("asked", None, 1, 5, module="fsrs")
    for day in (5, 4):
        assert reader.call("asked", card, 4, day, module="fsrs") == card
