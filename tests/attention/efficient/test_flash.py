"""Attention in tiles: exact, forward and backward, and linear in memory."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import (
    causal_mask,
    dot_product_attention,
    masked_softmax,
    tiled_attention,
)
from attention_book.foundations import strict
from attention_book.inspection import peak_bytes

BATCH, HEADS, QUERIES, KEYS, D_K, D_V = 2, 3, 23, 31, 5, 7
TILES = {"query_tile": 4, "key_tile": 6}
EXACT = {torch.float64: {"rtol": 0, "atol": 1e-12}, torch.float32: {"rtol": 0, "atol": 1e-6}}
MASKS = {
    "none": lambda keys=KEYS: None,
    "full": lambda keys=KEYS: torch.rand(BATCH, HEADS, QUERIES, keys) < 0.5,
    "for all heads": lambda keys=KEYS: torch.rand(BATCH, 1, QUERIES, keys) < 0.5,
    "for all examples": lambda keys=KEYS: torch.rand(QUERIES, keys) < 0.5,
    "keys": lambda keys=KEYS: torch.rand(BATCH, 1, 1, keys) < 0.5,
    "queries": lambda keys=KEYS: torch.rand(BATCH, 1, QUERIES, 1) < 0.5,
}


def draw(dtype=torch.float64, queries=QUERIES, keys=KEYS):
    return tuple(
        torch.randn(BATCH, HEADS, *size, dtype=dtype)
        for size in ((queries, D_K), (keys, D_K), (keys, D_V))
    )


def plain(queries, keys, values, mask=None, *, scale=None, is_causal=False):
    """Attention as in the formula, with a matrix of all scores."""
    scale = D_K**-0.5 if scale is None else scale
    seen = torch.ones(queries.shape[-2], keys.shape[-2], dtype=torch.bool)
    seen = seen.tril() if is_causal else seen
    seen = seen if mask is None else seen & mask
    exponentials = (scale * queries @ keys.mT).exp() * seen
    total = exponentials.sum(-1, keepdim=True)
    return exponentials @ values / torch.where(total == 0, 1, total)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("dtype", "is_causal"), [(torch.float64, True), (torch.float32, False)])
def test_equal_to_the_formula_with_its_gradients(dtype, kind, is_causal):
    keys = QUERIES if is_causal else KEYS
    mask, inputs = MASKS[kind](keys), draw(dtype, keys=keys)
    inputs = [tensor.requires_grad_() for tensor in inputs]
    output = tiled_attention(*inputs, mask, is_causal=is_causal, **TILES)
    expected = plain(*inputs, mask, is_causal=is_causal)
    torch.testing.assert_close(output, expected, **EXACT[dtype])
    upstream = torch.randn_like(output)
    gradients = torch.autograd.grad(output, inputs, upstream)
    should_be = torch.autograd.grad(expected, inputs, upstream)
    tolerance = {"rtol": 0, "atol": 10 * EXACT[dtype]["atol"]}  # they are sums of larger terms
    torch.testing.assert_close(gradients, should_be, **tolerance)


@given(
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    query_tile=st.integers(1, 11),
    key_tile=st.integers(1, 11),
    is_causal=st.booleans(),
)
def test_any_tiles_of_any_lengths(queries, keys, query_tile, key_tile, is_causal):
    torch.manual_seed(5)
    inputs = draw(queries=queries, keys=queries if is_causal else keys)
    tiled = tiled_attention(*inputs, query_tile=query_tile, key_tile=key_tile, is_causal=is_causal)
    torch.testing.assert_close(tiled, plain(*inputs, is_causal=is_causal), **EXACT[tiled.dtype])


def test_equal_to_the_fused_kernel_with_another_scale():
    inputs, mask = draw(), MASKS["full"]()
    fused = dot_product_attention(*inputs, mask, scale=0.7)
    torch.testing.assert_close(tiled_attention(*inputs, mask, scale=0.7, **TILES), fused)
    inputs = draw(keys=QUERIES)
    causal = dot_product_attention(*inputs, causal_mask(QUERIES))
    torch.testing.assert_close(tiled_attention(*inputs, is_causal=True, **TILES), causal)


def test_without_batch_axes():
    queries, keys, values = (tensor[0, 0] for tensor in draw())
    output = tiled_attention(queries, keys, values, **TILES)
    torch.testing.assert_close(output, plain(queries, keys, values))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_in_half_precision_only_the_result_is_rounded(kind):
    inputs = draw(kind, keys=2000)
    exact = plain(*(tensor.double() for tensor in inputs))
    output = tiled_attention(*inputs, query_tile=23, key_tile=4)
    torch.testing.assert_close(output, exact.to(kind), rtol=torch.finfo(kind).eps, atol=1e-6)


def test_the_peak_at_length_16384_is_below_a_tenth_of_the_plain_one():
    inputs = torch.randn(3, 16384, 16).unbind()
    tiled = peak_bytes(lambda *qkv: tiled_attention(*qkv, query_tile=1024, key_tile=1024), *inputs)
    # 2 GiB: on the meta device the bytes are counted and not taken.
    explicit = peak_bytes(
        lambda q, k, v: (q @ k.mT / 4).softmax(-1) @ v, *(tensor.to("meta") for tensor in inputs)
    )
    assert explicit >= 2 * 16384**2 * 4
    assert tiled < explicit / 100  # far below a tenth


def training(length, is_causal):
    inputs = torch.randn(3, length, 16, requires_grad=True)

    def step():
        tiled = tiled_attention(*inputs, query_tile=64, key_tile=64, is_causal=is_causal)
        return torch.autograd.grad(tiled.sum(), inputs)

    return peak_bytes(step)


@pytest.mark.parametrize("is_causal", [False, True])
def test_training_memory_grows_linearly(is_causal):
    short, middle, long = (training(length, is_causal) for length in (256, 512, 1024))
    assert middle <= 2.1 * short
    assert long <= 2.1 * middle
    assert long < 1024**2 * 4 / 2  # one matrix of scores alone would take twice as much


def test_second_derivatives_are_refused_and_not_wrong():
    inputs = [tensor.requires_grad_() for tensor in draw()]
    output = tiled_attention(*inputs, **TILES).square().sum()
    (gradient,) = torch.autograd.grad(output, inputs[0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    queries, keys, values = draw()
    for arguments, error, message in [
        ((queries, keys.index_fill(-2, torch.tensor(3), math.nan), values), ValueError, "scores"),
        ((queries, keys.index_fill(-2, torch.tensor(3), math.inf), values), ValueError, "scores"),
    ]:
        with pytest.raises(error, match=message):
            tiled_attention(*arguments, **TILES)
    for tiles in ({"query_tile": 0, "key_tile": 3}, {"query_tile": 3, "key_tile": 0}):
        with pytest.raises(ValueError, match="_tile: expected at least 1, got 0"):
            tiled_attention(queries, keys, values, **tiles)


def exact(queries, keys, values, mask):
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    return masked_softmax(scores, mask) @ values


@pytest.mark.filterwarnings("default")  # kernels that are mapped by a slow rule
@pytest.mark.parametrize("mapped", [(0, 0, 0, 0), (0, None, None, None), (None, 0, None, 0)])
def test_it_can_be_mapped_and_differentiated_by_a_transform(mapped, unchecked):
    """Within torch.func nothing may be written in place, nor read back."""
    inputs = [torch.randn(3, 7, 4).double() for _ in range(3)] + [torch.rand(3, 7, 7) > 0.4]
    inputs = [x if axis == 0 else x[0] for x, axis in zip(inputs, mapped, strict=True)]

    def tiled(*inputs):
        return tiled_attention(*inputs, query_tile=3, key_tile=2)

    with strict(False):
        for ours, theirs in (
            (tiled, exact),
            *[
                tuple(
                    torch.func.grad(lambda *x, f=f: f(*x).square().sum(), a) for f in (tiled, exact)
                )
                for a in range(3)
            ],
        ):
            found, expected = (torch.func.vmap(f, in_dims=mapped)(*inputs) for f in (ours, theirs))
            torch.testing.assert_close(found, expected)
