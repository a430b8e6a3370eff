"""Soft attention: the laws of the weighted average, fused or not."""

import math
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from attention_book.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    ConcatLinearScore,
    ConcatTanhSumScore,
    CosineScore,
    DotProductAttention,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    causal_mask,
    dot_product_attention,
    dot_product_weights,
    masked_softmax,
)

MODULES = {
    "fused": DotProductAttention,
    "fused, own scale": lambda: DotProductAttention(scale=0.5),
    "dot": lambda: Attention(DotScore()),
    "scaled dot": lambda: Attention(ScaledDotScore()),
    "bilinear": lambda: Attention(BilinearScore(d_q=7, d_k=7)),
    "additive": lambda: Attention(AdditiveScore(d_q=7, d_k=7, d_hidden=3)),
    "concat linear": lambda: Attention(ConcatLinearScore(d_q=7, d_k=7)),
    "concat tanh sum": lambda: Attention(ConcatTanhSumScore(d_q=7, d_k=7, d_hidden=3)),
    "gaussian": lambda: Attention(GaussianScore(bandwidth=2.0)),
    "cosine": lambda: Attention(CosineScore(temperature=0.5)),
}


@pytest.fixture(params=MODULES)
def attention(request):
    return MODULES[request.param]().double()


def draw(*batch, dtype=torch.float64):
    sizes = ((3, 7), (5, 7), (5, 11))
    return tuple(torch.randn(*batch, *size).to(dtype) for size in sizes)


def some_mask(*batch):
    """Show each query about half of the keys, and the second query none."""
    mask = torch.rand(*batch, 3, 5) < 0.5
    mask[..., 0] = True
    mask[..., 1, :] = False
    return mask


def close_enough(dtype):
    return {"rtol": 0, "atol": 4 * torch.finfo(dtype).eps}


def test_the_output_is_the_weights_times_the_values(attention):
    for batch in ((), (2,), (2, 3), (2, 1, 3), (2, 1, 2, 2)):
        queries, keys, values = draw(*batch)
        for mask in (None, some_mask(), some_mask(*batch), some_mask(*(1 for _ in batch))):
            weights = attention.weights(queries, keys, mask)
            output = attention(queries, keys, values, mask)
            assert weights.shape == (*batch, 3, 5)
            assert output.shape == (*batch, 3, 11)
            torch.testing.assert_close(output, weights @ values)


def test_agrees_with_the_fused_kernel_of_torch(dtype):
    for batch, masked in product([(), (2,), (2, 3), (1, 2, 2)], [False, True]):
        queries, keys, values = draw(*batch, dtype=dtype)
        mask = some_mask(*batch) if masked else None
        expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        explicit = Attention(ScaledDotScore())(queries, keys, values, mask)
        fused = DotProductAttention()(queries, keys, values, mask)
        torch.testing.assert_close(fused, expected, **close_enough(dtype))
        torch.testing.assert_close(explicit, expected, **close_enough(dtype))


def test_a_mask_may_be_1_wide_on_any_axis(attention):
    for shape in ((3, 1), (1, 5), (1, 1), (2, 1, 1), (2, 3, 1), (1, 3, 1)):
        tensors, mask = draw(2), torch.rand(shape) < 0.5
        whole = mask.expand(2, 3, 5).contiguous()
        torch.testing.assert_close(attention(*tensors, mask), attention(*tensors, whole))


def test_no_examples_and_no_queries_are_fine(attention):
    for batch, num_queries in (((0,), 3), ((2,), 0), ((0, 2), 3), ((), 0)):
        queries, keys, values = (tensor.requires_grad_() for tensor in draw(*batch))
        for mask in (None, torch.ones(num_queries, 5, dtype=torch.bool)):
            output = attention(queries[..., :num_queries, :], keys, values, mask)
            assert output.shape == (*batch, num_queries, 11)
            output.sum().backward()
        assert torch.all(keys.grad == 0)


def test_the_scale_multiplies_the_scores_also_if_it_is_zero():
    queries, keys, values = draw(2)
    for scale in (0.0, 0.25):
        expected = (scale * queries @ keys.mT).softmax(-1)
        attention = DotProductAttention(scale=scale)
        torch.testing.assert_close(attention.weights(queries, keys), expected)
        torch.testing.assert_close(attention(queries, keys, values), expected @ values)


@pytest.mark.parametrize(
    "make", [DotProductAttention, lambda dropout: Attention(ScaledDotScore(), dropout=dropout)]
)
def test_training_toggles_dropout_and_nothing_else(make):
    tensors = draw(2)
    plain = make(dropout=0.0)(*tensors)
    noisy = make(dropout=0.5)
    assert not torch.allclose(noisy(*tensors), plain)
    torch.testing.assert_close(noisy.weights(*tensors[:2]).sum(-1), torch.ones(2, 3).double())
    torch.testing.assert_close(noisy.eval()(*tensors), plain)
    many = (tensor.expand(4000, *tensor.shape) for tensor in tensors)
    mean = noisy.train()(*many).mean(0)
    torch.testing.assert_close(mean, plain, rtol=0, atol=0.15)
    assert torch.all(make(dropout=1.0)(*tensors) == 0)


def test_a_visible_nan_is_named(attention):
    queries, keys, values = draw(2)
    keys[1, 2] = math.nan
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[:2, 2] = False
    with pytest.raises(ValueError, match=r"scores: expected .* got scores\[1, 2, 2\] = nan"):
        attention(queries, keys, values, mask)
    mask[:, 2] = False
    assert attention(queries, keys, values, mask).isfinite().all()


def some_bias(*shape, dtype=torch.float64):
    return torch.randn(shape).to(dtype)


def test_a_bias_is_added_to_the_scores(dtype):
    shapes = (3, 5), (1, 5), (2, 3, 5), (2, 1, 5), (1, 3, 1)
    for shape, masked in product(shapes, [False, True]):
        queries, keys, values = draw(2, dtype=dtype)
        bias, mask = some_bias(*shape, dtype=dtype), some_mask(2) if masked else None
        scores = queries.double() @ keys.double().mT / math.sqrt(7) + bias.double()
        expected = masked_softmax(scores, mask)
        attention = DotProductAttention()
        weights = attention.weights(queries, keys, mask, bias=bias)
        output = attention(queries, keys, values, mask, bias=bias)
        torch.testing.assert_close(weights.double(), expected, **close_enough(dtype))
        tolerance = {"rtol": 0, "atol": 8 * torch.finfo(dtype).eps}
        torch.testing.assert_close(output.double(), expected @ values.double(), **tolerance)


def test_a_bias_learns():
    bias, tensors = some_bias(3, 5).requires_grad_(), draw(2)
    for mask in (None, some_mask(2)):
        assert torch.autograd.gradcheck(
            lambda bias, mask=mask: dot_product_attention(*tensors, mask, bias=bias), bias
        )


@pytest.mark.usefixtures("unchecked")
def test_a_bias_of_another_type_or_shape_is_refused():
    queries, keys, values = draw(2)
    of_type = "bias: expected a tensor of torch.float64, got"
    for bias, error, message in [
        (torch.ones(3, 5).bool(), TypeError, f"{of_type} torch.b"),
        (torch.ones(3, 5), TypeError, f"{of_type} torch.float32"),
        (1.0, TypeError, f"{of_type} float"),
        (some_bias(5), ValueError, r"broadcasts to .* \(2, 3, 5\), got \(5,\)"),
        (some_bias(3, 4), ValueError, r"\(2, 3, 5\), got \(3, 4\)"),
        (some_bias(1, 2, 3, 5), ValueError, r"\(2, 3, 5\), got \(1, 2, 3, 5\)"),
    ]:
        with pytest.raises(error, match=message):
            dot_product_attention(queries, keys, values, bias=bias)
        with pytest.raises(error, match=message):
            dot_product_weights(queries, keys, bias=bias)


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error(attention):
    queries, keys, values = draw(2)
    elsewhere = torch.ones(3, 5, device="meta").bool()
    for tensors, error, message in [
        ((queries[0, 0], keys, values), ValueError, r"\(7,\) and \(2, 5, 7\)"),
        ((queries, keys[0], values[0]), ValueError, r"\(2, 3, 7\) and \(5, 7\)"),
        ((queries[..., :6], keys, values), ValueError, r"\(2, 3, 6\)"),
        ((queries, keys[:, :0], values[:, :0]), ValueError, "keys: expected at least one key"),
        ((queries, keys, values[:, :4]), ValueError, r"values: expected one value for each key"),
        ((queries, keys, values, torch.ones(3, 5)), TypeError, "a float is a bias"),
        ((queries, keys, values, torch.ones(3, 4).bool()), ValueError, r"5\), got \(3, 4\)"),
        ((queries, keys, values, torch.ones(3, 3, 5).bool()), ValueError, r"got \(3, 3, 5\)"),
        ((queries, keys, values, elsewhere), ValueError, "on the device cpu, got one on meta"),
        ((queries.long(), keys, values), TypeError, "queries and keys: expected floating point"),
    ]:
        with pytest.raises(error, match=message):
            attention(*tensors)


@pytest.mark.usefixtures("unchecked")
def test_a_score_is_made_before_it_is_used():
    with pytest.raises(TypeError, match=r"score: expected a scoring function such as DotScore\(\)"):
        Attention(DotScore)


def test_dropout_is_a_probability():
    for make in (
        DotProductAttention,
        lambda dropout: Attention(DotScore(), dropout=dropout),
        lambda dropout: dot_product_attention(*draw(), dropout=dropout),
    ):
        for wrong in (1.5, -0.5):
            with pytest.raises(ValueError, match="dropout: expected a probability"):
                make(dropout=wrong)


@pytest.mark.parametrize(("masked", "biased"), [(False, True), (True, False), (True, True)])
def test_causal_is_the_causal_mask(masked, biased):
    _, keys, values = draw()
    queries = torch.randn_like(keys)
    mask = torch.rand(5, 5) < 0.6 if masked else None
    bias = torch.randn(5, 5, dtype=torch.float64) if biased else None
    past = causal_mask(5)
    output = dot_product_attention(queries, keys, values, mask, bias=bias, is_causal=True)
    both = past if mask is None else past & mask
    expected = dot_product_weights(queries, keys, both, bias=bias) @ values
    torch.testing.assert_close(output, expected)
