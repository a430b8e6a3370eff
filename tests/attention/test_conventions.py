"""Conventions that hold everywhere: what the axes of a mask mean, and where the queries stand."""

import re

import pytest
import torch

from attention_book.attention import (
    KV,
    Attention,
    DotProductAttention,
    LatentAttention,
    MultiHeadAttention,
    RotaryPositions,
    ScaledDotScore,
    causal_mask,
    dot_product_attention,
    dot_product_weights,
    linear_attention,
    masked_softmax,
    tiled_attention,
)

pytestmark = pytest.mark.usefixtures("unchecked")

SIZE = 4  # of all axes: nothing is told apart by sizes that happen to differ
HEADS = {"d_model": 8, "num_heads": SIZE}


def by_heads(*sizes):
    return torch.randn(SIZE, SIZE, *sizes)


FUNCTIONS = {
    "dot_product_attention": dot_product_attention,
    "DotProductAttention": DotProductAttention(),
    "Attention": Attention(ScaledDotScore()),
    "dot_product_weights": lambda q, k, v, mask: dot_product_weights(q, k, mask),
    "masked_softmax": lambda q, k, v, mask: masked_softmax(q @ k.mT, mask),
    "tiled_attention": lambda *x: tiled_attention(*x, query_tile=2, key_tile=3),
    "bias": lambda q, k, v, mask: dot_product_attention(q, k, v, bias=mask.float()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_three_axes_for_four_are_refused_whatever_their_sizes(name):
    """The kind: axes that can be exchanged when sizes agree, here examples and heads."""
    q, k, v = by_heads(SIZE, 6), by_heads(SIZE, 6), by_heads(SIZE, 6)
    mask = torch.rand(SIZE, SIZE, SIZE) < 0.5
    with pytest.raises(ValueError, match=r"mask|bias: expected 2 axes .* or all 4") as error:
        FUNCTIONS[name](q, k, v, mask)
    advised = re.findall(r"\[[:None, ]+\]", str(error.value))
    assert advised == ["[:, None]", "[None]"]
    for index, whole in zip(advised, (mask[:, None], mask[None]), strict=True):
        followed = eval(f"mask{index}")
        assert torch.equal(followed, whole)
        expected = FUNCTIONS[name](q, k, v, whole.expand(SIZE, SIZE, SIZE, SIZE))
        torch.testing.assert_close(FUNCTIONS[name](q, k, v, followed), expected)


@pytest.mark.parametrize(
    ("module", "settings"),
    [
        (MultiHeadAttention, {}),
        (LatentAttention, {"kv_rank": 4, "d_k": 4, "d_rope": 2}),
        (MultiHeadAttention, {"window": 3}),
        (MultiHeadAttention, {"sinks": True}),
    ],
)
def test_axes_of_a_mask_in_several_heads(module, settings):
    """Two axes are (query, key), three (batch, query, key), four have the heads."""
    attention = module(**HEADS, **settings)
    x, mask = torch.randn(SIZE, SIZE, 8), torch.rand(SIZE, SIZE, SIZE) < 0.6
    for given, means in (
        (mask[0], mask[0].expand(SIZE, SIZE, SIZE, SIZE)),
        (mask, mask[:, None].expand(SIZE, SIZE, SIZE, SIZE)),
        (mask[None], mask[None].expand(SIZE, SIZE, SIZE, SIZE)),
        (mask[:, :1], mask[:, None, :1].expand(SIZE, SIZE, SIZE, SIZE)),
    ):
        expected = attention(x, x, mask=means)
        torch.testing.assert_close(attention(x, x, mask=given), expected)
        found = attention.weights(x, x, given) > 0
        assert not (found & ~means).any()
    for wrong in (mask[0, 0], mask[:3], mask[:, :3], mask[:, :, :3], mask[0][None, None, None]):
        with pytest.raises(ValueError, match="mask: expected a shape"):
            attention(x, x, mask=wrong)


def test_a_mask_of_the_keys_alone_has_an_axis_for_the_queries():
    """(batch, key) is never guessed: with as many queries as examples it is (query, key)."""
    x, real = torch.randn(2, 5, 8), torch.rand(2, 5) < 0.7
    module = MultiHeadAttention(d_model=8, num_heads=2)
    with pytest.raises(ValueError, match=r"a mask \(batch, key\) .* mask\[:, None, None, :\]"):
        module(x, x, x, real)
    with pytest.raises(ValueError, match=r"a mask \(batch, key\) .* mask\[:, None, :\]"):
        dot_product_attention(x, x, x, real)
    square = torch.tensor([[True, False], [True, True]])
    x = x[:, :2]
    assert torch.equal(module(x, x, x, square), module(x, x, x, square.expand(2, 1, 2, 2)))


CAUSAL = {
    "function": lambda q, k, **more: dot_product_attention(q, k, k, **more),
    "function, mask": lambda q, k, **more: dot_product_attention(
        q, k, k, **({"mask": torch.ones(1, k.shape[1], dtype=torch.bool)} | more)
    ),
    "tiled": lambda q, k, **more: tiled_attention(q, k, k, query_tile=2, key_tile=2, **more),
    "heads": MultiHeadAttention(d_model=8, num_heads=2),
    "grouped": MultiHeadAttention(d_model=8, num_heads=4, num_kv_heads=2),
    "weights": MultiHeadAttention(d_model=8, num_heads=2).weights,
    "latent": LatentAttention(d_model=8, num_heads=2, kv_rank=4, d_k=4, d_rope=2),
}


@pytest.mark.parametrize("counts", [(2, 10), (1, 3), (5, 3), (3, 1), (4, 5)])
@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_call_of_unequal_lengths_is_refused_with_both_choices(name, counts):
    """The kind: which of two places is meant (first at first, or last at last) is not said."""
    num_queries, num_keys = counts
    q, k = torch.randn(1, num_queries, 8), torch.randn(1, num_keys, 8)
    with pytest.raises(ValueError, match="is_causal: expected as many keys as queries") as error:
        CAUSAL[name](q, k, is_causal=True)
    first, last = re.findall(r"causal_mask\([^()]*\)", str(error.value))
    for advised, start in ((first, 0), (last, num_keys - num_queries)):
        mask = eval(advised)
        assert mask.tolist() == [
            [j <= i + start for j in range(num_keys)] for i in range(num_queries)
        ]
        CAUSAL[name](q, k, mask=mask)  # can be followed
    CAUSAL[name](k, k, is_causal=True)


def test_linear_attention_too():
    with pytest.raises(ValueError, match="is_causal: expected as many keys as queries"):
        linear_attention(*(torch.rand(n, 4) for n in (2, 5, 5)), is_causal=True)


@pytest.mark.parametrize("positions", [None, RotaryPositions(d_k=4)])
def test_with_a_cache_a_causal_call_needs_the_place_of_its_first_query(positions):
    module = MultiHeadAttention(d_model=8, num_heads=2, positions=positions)
    x = torch.randn(2, 10, 8)
    whole, cache = module(x, x, is_causal=True), module.project(x)
    for last in (1, 2, 9):
        with pytest.raises(ValueError, match=rf"offset: .* among 10 keys.* offset={10 - last} w"):
            module(x[:, -last:], cache, is_causal=True)
        output = module(x[:, -last:], cache, offset=10 - last, is_causal=True)
        torch.testing.assert_close(output, whole[:, -last:])
        at_first = module(x[:, :last], cache, mask=causal_mask(last, 10, offset=0))
        torch.testing.assert_close(at_first, whole[:, :last])
    torch.testing.assert_close(module(x, cache, is_causal=True), whole)


@pytest.mark.parametrize("settings", [{"window": 3}, {"window": 2, "sinks": True}])
def test_through_a_window_unequal_lengths_are_refused_too(settings):
    """A window goes by places, causal or not: where the queries stand must be said."""
    module, x = MultiHeadAttention(d_model=8, num_heads=2, **settings), torch.randn(2, 10, 8)
    for call in (module, module.weights):
        for queries, keys in ((x[:, :5], x[:, :3]), (x[:, :3], x[:, :5]), (x[:, :1], x)):
            for is_causal in (False, True):
                with pytest.raises(ValueError, match="expected as many keys as queries"):
                    call(queries, keys, is_causal=is_causal)
    for is_causal in (False, True):
        kv, whole = module.project(x), module(x, is_causal=is_causal)
        with pytest.raises(ValueError, match=r"offset: .* among 10 keys, got 0; offset=8 where"):
            module(x[:, 8:], kv, is_causal=is_causal)
        last = module(x[:, 8:], kv, offset=8, is_causal=is_causal)
        torch.testing.assert_close(last, whole[:, 8:])
    with pytest.raises(ValueError, match="mask: expected a shape"):
        module(x, mask=torch.ones(10, dtype=torch.bool))


def test_a_single_query_at_the_last_key_needs_no_mask():
    module, x = MultiHeadAttention(d_model=8, num_heads=2), torch.randn(2, 6, 8)
    cache = module.project(x)
    causal = module(x[:, -1:], cache, offset=5, is_causal=True)
    assert torch.equal(causal, module(x[:, -1:], cache, offset=5))
    assert isinstance(cache, KV)
