"""The linear schedule: up in equal steps, down in equal steps, never nothing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.training import linear_schedule


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_it_is_a_straight_line_up_and_a_straight_line_down(numbers) -> None:
    num_steps, warmup = numbers
    schedule = linear_schedule(num_steps=num_steps, warmup=warmup)
    found = [0.0, *map(schedule, range(1, num_steps + 1)), 0.0]
    assert all(0 < factor <= 1 for factor in found[1:-1])
    up = [b - a for a, b in itertools.pairwise(found[: warmup + 1])]
    assert up == pytest.approx([1 / warmup] * warmup if warmup else [])
    peak = [1.0, *found[warmup + 1 :]]
    down = [b - a for a, b in itertools.pairwise(peak)]
    assert down == pytest.approx([-1 / len(down)] * len(down))


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="num_steps: expected 1 or more, got 0"):
        linear_schedule(num_steps=0)
    for bad in (-1, 6):
        with pytest.raises(ValueError, match=f"warmup: expected a number from 0 to 5, got {bad}"):
            linear_schedule(num_steps=5, warmup=bad)
    for bad in (0, 6):
        with pytest.raises(ValueError, match=f"step: expected a number from 1 to 5, got {bad}"):
            linear_schedule(num_steps=5)(bad)
