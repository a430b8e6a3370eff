"""RMSNorm: torch's own is the oracle; scale comes out, means do not."""

import pytest
import torch

from attention_book.models import RMSNorm


@pytest.fixture
def x():
    return torch.randn(3, 5, 7, dtype=torch.float64)


def with_weight(**settings):
    norm = RMSNorm(d_model=7, **settings).double()
    torch.nn.init.normal_(norm.weight)
    return norm


@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_equal_to_torch(x, eps):
    ours = with_weight(eps=eps)
    expected = torch.nn.functional.rms_norm(x, (7,), ours.weight, eps)
    torch.testing.assert_close(ours(x), expected, rtol=0, atol=1e-12)


def test_around_one_is_the_same_with_another_weight(x):
    ours, shifted = with_weight(), with_weight(around_one=True)
    shifted.weight.data = ours.weight.data - 1
    torch.testing.assert_close(shifted(x), ours(x), rtol=0, atol=1e-12)
    assert torch.equal(RMSNorm(d_model=7, around_one=True)(x), RMSNorm(d_model=7)(x))


def test_a_factor_comes_out_and_a_shift_does_not(x):
    norm = with_weight(eps=1e-12)
    torch.testing.assert_close(norm(1000 * x), norm(x))
    torch.testing.assert_close(norm(-x), -norm(x))
    assert (norm(x + 1) - norm(x)).abs().max() > 0.1


def test_the_mean_square_is_1_at_the_start(x):
    norm = RMSNorm(d_model=7, eps=1e-12)
    torch.testing.assert_close(norm(x).square().mean(dim=-1), torch.ones(3, 5).double())


def test_zeros_stay_zeros_and_half_precision_does_not_overflow():
    norm = RMSNorm(d_model=7)
    assert torch.equal(norm(torch.zeros(1, 7)), torch.zeros(1, 7))
    large = torch.full((1, 7), 6e4, dtype=torch.float16)
    for around_one in (False, True):
        half = RMSNorm(d_model=7, around_one=around_one).half()
        assert half(large).dtype == torch.float16
        torch.testing.assert_close(half(large), torch.ones_like(large))


def test_gradients():
    norm = with_weight(around_one=True)
    x = torch.randn(2, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, (x,))


def test_other_sizes_are_refused(x):
    with pytest.raises(ValueError, match="x: expected the feature size 6"):
        RMSNorm(d_model=6)(x)
    with pytest.raises(ValueError, match="eps: expected a positive number"):
        RMSNorm(d_model=6, eps=0.0)
    with pytest.raises(ValueError, match="d_model: expected at least 1"):
        RMSNorm(d_model=0)
