"""Sinusoidal positions against the formula of Vaswani et al. (2017), section 3.5."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import SinusoidalPositions, sinusoids


def by_hand(i, column, d_model, base=10000.0):
    """The formula, one number at a time, with Python's own sine."""
    angle = i / base ** (2 * (column // 2) / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


@given(
    start=st.integers(0, 3000),
    number=st.integers(1, 5),
    d_model=st.integers(1, 33),
    base=st.sampled_from([2.0, 100.0, 10000.0, 1e6]),
)
def test_is_the_formula_number_by_number(start, number, d_model, base):
    ours = sinusoids(number, d_model, offset=start, base=base, dtype=torch.float64)
    expected = [
        [by_hand(i, column, d_model, base) for column in range(d_model)]
        for i in range(start, start + number)
    ]
    torch.testing.assert_close(ours, torch.tensor(expected).double(), rtol=0, atol=1e-7)


def test_the_first_three_positions_of_four_columns():
    expected = torch.tensor(
        [[0, 1, 0, 1], [0.8415, 0.5403, 0.0100, 0.99995], [0.9093, -0.4161, 0.0200, 0.9998]]
    )
    torch.testing.assert_close(sinusoids(3, 4), expected, rtol=0, atol=5e-5)
    # cos 0.01 lies so close to a boundary that its print depends on the type.
    assert "0.9999" in str(sinusoids(2, 4))
    assert "1.0000" in str(sinusoids(2, 4, dtype=torch.float64)[1, 3])


def test_the_frequencies_of_32_columns():
    encoding = sinusoids(2, 32, dtype=torch.float64)
    for columns, frequency in (((0, 1), 1.0), ((6, 7), 0.1778), ((8, 9), 0.1)):
        sine, cosine = encoding[1, list(columns)]
        assert torch.atan2(sine, cosine).item() == pytest.approx(frequency, abs=5e-5)


def test_the_module_adds_it():
    x = torch.randn(2, 3, 5, 7).double()
    positions = SinusoidalPositions(d_model=7, base=50.0)
    expected = x + sinusoids(5, 7, offset=11, base=50.0, dtype=torch.float64)
    assert torch.equal(positions(x, offset=11), expected)


def test_far_positions_are_as_exact_as_near_ones():
    single = sinusoids(3, 16, offset=1_000_000)
    exact = sinusoids(3, 16, offset=1_000_000, dtype=torch.float64)
    torch.testing.assert_close(single.double(), exact, rtol=0, atol=1e-7)


def test_impossible_settings_are_refused():
    for make, message in (
        (lambda: sinusoids(3, 0), "d_model: expected at least 1, got 0"),
        (lambda: sinusoids(3, 4, base=0.0), "base: expected a positive number"),
        (lambda: sinusoids(3, 4, offset=-1), "offset: expected 0 or more"),
        (lambda: SinusoidalPositions(d_model=0), "d_model: expected at least 1"),
        (lambda: SinusoidalPositions(d_model=4, base=-1.0), "base: expected a positive number"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
