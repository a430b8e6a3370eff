"""Each converter agrees with the library whose convention it converts."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.attention import (
    additive_from_mask,
    dot_product_attention,
    ignore_from_mask,
    mask_from_additive,
    mask_from_ignore,
    mask_from_key_padding,
)

D_MODEL = 7


def bare_multihead() -> nn.MultiheadAttention:
    """Reduce torch's layer to its core: one head, identity projections."""
    layer = nn.MultiheadAttention(D_MODEL, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_MODEL).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_MODEL))
    return layer


@pytest.fixture
def tensors():
    return tuple(torch.randn(2, count, D_MODEL) for count in (3, 5, 5))


@pytest.fixture
def mask():
    """A random mask under which every query of every example sees the first key."""
    seen = torch.rand(3, 5) < 0.5
    seen[:, 0] = True
    return seen


def test_key_padding_masks_mean_what_torch_means(tensors):
    padding = torch.tensor([[False, False, True, True, True], [False, True, False, False, True]])
    expected, weights = bare_multihead()(*tensors, key_padding_mask=padding)
    converted = mask_from_key_padding(padding)
    torch.testing.assert_close(dot_product_attention(*tensors, converted), expected)
    assert torch.equal(weights > 0, converted.expand(2, 3, 5))


def test_ignore_masks_mean_what_torch_means(tensors, mask):
    expected, _ = bare_multihead()(*tensors, attn_mask=ignore_from_mask(mask))
    torch.testing.assert_close(dot_product_attention(*tensors, mask), expected)
    assert torch.equal(mask_from_ignore(ignore_from_mask(mask)), mask)


def test_additive_masks_mean_what_torch_means(tensors, mask):
    bias = additive_from_mask(mask)
    expected, _ = bare_multihead()(*tensors, attn_mask=bias)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), expected)
    fused = F.scaled_dot_product_attention(*tensors, attn_mask=bias)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), fused)
    assert torch.equal(mask_from_additive(bias), mask)


def test_our_masks_are_the_ones_of_the_fused_kernel(tensors, mask):
    fused = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), fused)


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float32])
def test_ones_that_mark_padding(kind, mask):
    assert torch.equal(mask_from_ignore((~mask).to(kind)), mask)


def test_additive_masks_keep_their_type(dtype, mask):
    bias = additive_from_mask(mask, dtype)
    assert bias.dtype == dtype
    assert torch.equal(bias == 0, mask)
    assert torch.equal(bias == -math.inf, ~mask)
    assert torch.equal(mask_from_additive(bias), mask)


def test_large_negative_numbers_block_only_when_asked(mask):
    tutorial = (~mask).float() * -1e9
    assert torch.equal(mask_from_additive(tutorial, blocked=-1e9), mask)
    with pytest.raises(ValueError, match="a bias, not a mask"):
        mask_from_additive(tutorial)


@pytest.mark.parametrize("number", [-0.5, 1.0, math.nan, math.inf])
def test_a_bias_is_not_a_mask(number):
    bias = torch.tensor([[0.0, -math.inf], [number, 0.0]])
    with pytest.raises(ValueError, match=r"bias: .* a bias, not a mask, got bias\[1, 0\] = "):
        mask_from_additive(bias)


def test_blocked_must_be_negative():
    with pytest.raises(ValueError, match="blocked: expected a negative number, got 1"):
        mask_from_additive(torch.zeros(2, 2), blocked=1.0)


@pytest.mark.parametrize("number", [2.0, -1e9, -math.inf, math.nan])
def test_ignore_masks_hold_only_0_and_1(number):
    with pytest.raises(ValueError, match=r"ignore: expected only .* got ignore\[0, 1\]"):
        mask_from_ignore(torch.tensor([[0.0, number]]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("convert", [mask_from_key_padding, ignore_from_mask, additive_from_mask])
def test_boolean_masks_are_asked_for(convert):
    with pytest.raises(TypeError, match=r"mask: expected a boolean tensor .* got torch\.float32"):
        convert(torch.zeros(2, 5))


@pytest.mark.usefixtures("unchecked")
def test_additive_masks_are_floating_point():
    with pytest.raises(TypeError, match=r"bias: expected floating point tensors, got torch\.bool"):
        mask_from_additive(torch.ones(2, 2, dtype=torch.bool))


def test_the_originals_are_left_alone(mask):
    bias, ignore, original = additive_from_mask(mask), ignore_from_mask(mask), mask.clone()
    kept = bias.clone(), ignore.clone()
    mask_from_additive(bias)
    mask_from_ignore(ignore)
    mask_from_key_padding(ignore)
    assert torch.equal(bias, kept[0])
    assert torch.equal(ignore, kept[1])
    assert torch.equal(mask, original)
