"""Schedules: up in equal steps, down in equal steps or as a root does, never nothing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.training import inverse_square_root_schedule, linear_schedule


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


@given(warmup=st.integers(1, 500), d_model=st.integers(1, 1024), step=st.integers(1, 5000))
def test_inverse_square_root_is_the_papers_learning_rate(
    warmup: int, d_model: int, step: int
) -> None:
    paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    factor = inverse_square_root_schedule(warmup=warmup)(step)
    assert (d_model * warmup) ** -0.5 * factor == pytest.approx(paper)


def test_inverse_square_root_refuses_what_is_no_step() -> None:
    with pytest.raises(ValueError, match="warmup: expected 1 or more, got 0"):
        inverse_square_root_schedule(warmup=0)
    with pytest.raises(ValueError, match="step: expected 1 or more, got 0"):
        inverse_square_root_schedule(warmup=3)(0)
