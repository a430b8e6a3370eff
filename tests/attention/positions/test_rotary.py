"""Rotary positions against multiplication by complex numbers (Su et al. 2021)."""

import pytest
import torch

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


def test_half_precision_is_rounded_once(dtype):
    x = torch.randn(1, 2, 50, 6).to(dtype)
    ours = RotaryPositions(d_k=6).rotate(x, offset=1000)
    exact = as_complex(x.double(), start=1000)
    torch.testing.assert_close(ours.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-6)


def test_halves_are_neighbors_in_another_order():
    x = torch.randn(2, 3, 5, 8).double()
    halves = RotaryPositions(d_k=8, pairing="halves").rotate(x, offset=3)
    order = torch.arange(8).view(2, 4).T.flatten()  # 0, 4, 1, 5, …
    neighbors = RotaryPositions(d_k=8).rotate(x[..., order], offset=3)
    assert torch.equal(halves[..., order], neighbors)


def test_odd_sizes_and_unknown_pairings_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"d_k: expected an even number, .* got 7"):
        RotaryPositions(d_k=7)
    with pytest.raises(ValueError, match="base: expected a positive number"):
        RotaryPositions(d_k=4, base=0.0)
    with pytest.raises(ValueError, match="pairing: expected neighbors or halves, got 'thirds'"):
        RotaryPositions(d_k=4, pairing="thirds")
