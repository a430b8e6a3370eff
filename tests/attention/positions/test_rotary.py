"""Rotary positions against multiplication by complex numbers (Su et al. 2021)."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import RotaryPositions


def as_complex(x, *, start=0, base=10000.0):
    """Features 2j and 2j + 1 are one complex number, times exp(i m theta_j)."""
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    pairs = numbers.shape[-1]
    theta = base ** (-torch.arange(pairs).double() / pairs)
    m = start + torch.arange(x.shape[-2]).double()
    return torch.view_as_real(numbers * torch.exp(1j * m[:, None] * theta)).flatten(-2)


@pytest.mark.parametrize("d_k", [2, 4, 14])
@pytest.mark.parametrize("base", [10.0, 10000.0])
def test_is_a_complex_multiplication(d_k, base):
    x = torch.randn(2, 3, 5, d_k).double()
    for start in (0, 7, 1000):
        ours = RotaryPositions(d_k=d_k, base=base).rotate(x, offset=start)
        torch.testing.assert_close(ours, as_complex(x, start=start, base=base))


@given(i=st.integers(0, 2000), j=st.integers(0, 2000), shift=st.integers(0, 2000))
def test_the_score_knows_the_distance_only(i, j, shift):
    torch.manual_seed(i)
    q, k = torch.randn(2, 1, 6).double()
    rotate = RotaryPositions(d_k=6).rotate
    here = rotate(q, offset=i) @ rotate(k, offset=j).T
    there = rotate(q, offset=i + shift) @ rotate(k, offset=j + shift).T
    torch.testing.assert_close(here, there, rtol=0, atol=1e-8)


def test_lengths_stay_and_position_0_does_not_turn():
    x = torch.randn(2, 3, 5, 6).double()
    turned = RotaryPositions(d_k=6).rotate(x)
    pairs, before = turned.unflatten(-1, (3, 2)).norm(dim=-1), x.unflatten(-1, (3, 2)).norm(dim=-1)
    torch.testing.assert_close(pairs, before)
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert not torch.allclose(turned[:, :, 1], x[:, :, 1])


def test_the_score_of_two_equal_vectors_is_a_sum_of_cosines():
    ones = torch.ones(40, 8).double()
    turned = RotaryPositions(d_k=8).rotate(ones)
    distance = torch.arange(40).double()
    theta = 10000 ** (-torch.arange(4).double() / 4)
    expected = 2 * torch.cos(distance[:, None] * theta).sum(-1)
    torch.testing.assert_close(turned @ turned[0], expected)


def test_half_precision_is_rounded_once(dtype):
    x = torch.randn(1, 2, 50, 6).to(dtype)
    ours = RotaryPositions(d_k=6).rotate(x, offset=1000)
    exact = as_complex(x.double(), start=1000)
    torch.testing.assert_close(ours.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-6)


def test_gradients():
    x = torch.randn(2, 3, 4).double().requires_grad_()
    rotate = RotaryPositions(d_k=4).rotate
    assert torch.autograd.gradcheck(lambda x: rotate(x, offset=5), (x,))


def test_halves_are_neighbors_in_another_order():
    x = torch.randn(2, 3, 5, 8).double()
    halves = RotaryPositions(d_k=8, pairing="halves").rotate(x, offset=3)
    order = torch.arange(8).view(2, 4).T.flatten()  # 0, 4, 1, 5, …
    neighbors = RotaryPositions(d_k=8).rotate(x[..., order], offset=3)
    assert torch.equal(halves[..., order], neighbors)


def test_odd_sizes_and_unknown_pairings_are_refused():
    with pytest.raises(ValueError, match=r"d_k: expected an even number, .* got 7"):
        RotaryPositions(d_k=7)
    with pytest.raises(ValueError, match="base: expected a positive number"):
        RotaryPositions(d_k=4, base=0.0)
    with pytest.raises((ValueError, TypeError), match="pairing"):
        RotaryPositions(d_k=4, pairing="thirds")
