"""Early stopping against the same said in one line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.training import EarlyStopping

losses = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=20)


@given(losses, st.integers(1, 5))
def test_it_stops_when_the_first_best_is_patience_epochs_ago(values, patience) -> None:
    stopping = EarlyStopping(patience=patience)
    for epoch, value in enumerate(values, start=1):
        stop = stopping.update(value)
        best = min(values[:epoch])
        first = values.index(best) + 1
        assert (stopping.best, stopping.best_epoch, stopping.epoch) == (best, first, epoch)
        assert stop == (epoch - first >= patience)


def test_small_steps_count_once_they_add_up() -> None:
    stopping = EarlyStopping(patience=3, min_improvement=0.25)
    assert [stopping.update(loss) for loss in (1.0, 0.875, 0.75, 0.625)] == [False] * 4
    assert (stopping.best, stopping.best_epoch) == (0.625, 4)
    assert [stopping.update(loss) for loss in (0.5, 0.5, 0.5)] == [False, False, True]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_refused_and_not_counted(bad) -> None:
    stopping = EarlyStopping(patience=1)
    with pytest.raises(ValueError, match=f"value: expected a finite number, got {bad}"):
        stopping.update(bad)
    assert stopping.epoch == 0
    assert not stopping.update(1.0)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="patience: expected 1 or more, got 0"):
        EarlyStopping(patience=0)
    for bad in (-0.1, math.nan):
        with pytest.raises(ValueError, match="min_improvement: expected 0 or more, got"):
            EarlyStopping(patience=1, min_improvement=bad)
