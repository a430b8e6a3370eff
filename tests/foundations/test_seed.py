"""One seed for three libraries, and numbers that come out again."""

import random
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.foundations.seed import own_random_numbers


def draw() -> list[float]:
    """One number from each library."""
    return [random.random(), np.random.random(), torch.rand(1).item()]


@given(seed=st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_numbers_in_every_library(seed: int) -> None:
    set_seed(seed)
    first = draw()
    set_seed(seed)
    assert draw() == first


def test_another_seed_gives_other_numbers_in_every_library() -> None:
    set_seed(0)
    first = draw()
    set_seed(1)
    assert all(a != b for a, b in zip(first, draw(), strict=True))


def test_the_order_of_the_draws_is_part_of_the_seed() -> None:
    set_seed(42)
    first = torch.rand(2)
    set_seed(42)
    torch.rand(1)
    assert not torch.equal(torch.rand(2), first)


def test_the_default_seed_is_42() -> None:
    set_seed()
    assert torch.rand(2).tolist() == pytest.approx([0.8823, 0.9150], abs=5e-5)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_numpy_would_refuse_is_named(seed: int) -> None:
    with pytest.raises(ValueError, match=f"seed={seed} is outside"):
        set_seed(seed)


def test_without_numpy_the_others_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    set_seed(3)
    python, _, tensor = draw()
    monkeypatch.setitem(sys.modules, "numpy", None)  # as where it is not installed
    set_seed(3)
    assert [random.random(), torch.rand(1).item()] == [python, tensor]
    with own_random_numbers(5):
        inside = torch.rand(1)
    with own_random_numbers(5):
        assert torch.equal(torch.rand(1), inside)


def test_a_block_with_numbers_of_its_own_leaves_every_library_where_it_was() -> None:
    set_seed(3)
    expected = draw()
    set_seed(3)
    with own_random_numbers(5):
        draw()
    assert draw() == expected
