"""The noisy curve: what is drawn in which order."""

import math

import pytest
import torch

from attention_book import set_seed
from attention_book.course.datasets import sine_data


def test_the_points_are_drawn_as_the_chapter_says() -> None:
    set_seed(42)
    data = sine_data()
    set_seed(42)
    x = torch.sort(torch.rand(50) * 5).values
    y = 2 * torch.sin(x) + x**0.8 + torch.normal(0.0, 0.5, (50,))
    assert torch.equal(data.x_train, x)
    assert torch.equal(data.y_train, y)


def test_the_truth_is_the_formula_at_every_tenth() -> None:
    data = sine_data(n_train=1)
    assert data.n_test == 50
    for i, (x, y) in enumerate(zip(data.x_test.tolist(), data.y_true.tolist(), strict=True)):
        assert x == pytest.approx(i / 10, abs=1e-6)
        assert y == pytest.approx(2 * math.sin(i / 10) + (i / 10) ** 0.8, abs=1e-5)


def test_without_noise_the_points_lie_on_the_curve() -> None:
    data = sine_data(n_train=20, noise=0.0)
    expected = [2 * math.sin(x) + x**0.8 for x in data.x_train.tolist()]
    assert data.y_train.tolist() == pytest.approx(expected, abs=1e-5)


def test_wrong_sizes_of_the_curve_are_named() -> None:
    with pytest.raises(ValueError, match="n_train: expected at least 1, got 0"):
        sine_data(n_train=0)
    with pytest.raises(ValueError, match=r"noise: expected a standard deviation, .* got -0.5"):
        sine_data(noise=-0.5)
