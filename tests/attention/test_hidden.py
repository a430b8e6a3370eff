"""What is hidden never moves what is seen, whatever numbers stand there.

The kind: a weight of 0 does not silence infinity or NaN (0 times either is NaN), and minus
infinity added to a score that overflowed is NaN. What fills padding is often nobody's number:
memory that was never written, features that overflowed in half precision. The expected value is
always the same call with zeros there, to the last bit, and so for the gradients.
"""

import math

import pytest
import torch

from attention_book.attention import (
    KV,
    AdditiveScore,
    AlibiPositions,
    Attention,
    BilinearScore,
    DotProductAttention,
    HardAttention,
    KernelRegression,
    LatentAttention,
    LinearState,
    LocalAttention,
    LocationAttention,
    MultiHeadAttention,
    NoPositions,
    PartialAttention,
    PredictiveLocalAttention,
    RelativePositions,
    ScaledDotScore,
    T5Buckets,
    Visibility,
    block_sparse_attention,
    causal_mask,
    dot_product_attention,
    dot_product_weights,
    fixed_state_attention,
    linear_attention,
    linear_attention_weights,
    mask_from_lengths,
    plan_blocks,
    tiled_attention,
)
from attention_book.foundations import strict
from attention_book.models import Layer, LayerConfig

D, KEYS = 4, 7
LENGTHS = torch.tensor([5, 3])
HIDDEN = ~mask_from_lengths(LENGTHS, KEYS).mT


def poisons(dtype):
    """Numbers that nobody meant: what memory holds, and what overflows."""
    return (math.nan, math.inf, -math.inf, torch.finfo(dtype).max, torch.finfo(dtype).min)


FUNCTIONS = {
    "fused": dot_product_attention,
    "fused, bias": lambda q, k, v, m: dot_product_attention(q, k, v, m, bias=_bias(q, k)),
    "fused, causal too": lambda q, k, v, m: dot_product_attention(q, k, v, m, is_causal=True),
    "fused, heads": lambda q, k, v, m: dot_product_attention(
        *(x.unflatten(-1, (2, 2)).transpose(1, 2) for x in (q, k, v)), m[:, None]
    ),
    "dropout off": DotProductAttention(dropout=0.5).eval(),
    "weights": lambda q, k, v, m: dot_product_weights(q, k, m),
    "any score": Attention(ScaledDotScore()),
    "additive": Attention(AdditiveScore(d_q=D, d_k=D, d_hidden=3)),
    "bilinear": Attention(BilinearScore(d_q=D, d_k=D)),
    "hard": HardAttention(ScaledDotScore(), straight_through=True),
    "local": LocalAttention(ScaledDotScore(), radius=2),
    "predictive": PredictiveLocalAttention(ScaledDotScore(), d_q=D, d_hidden=3, radius=2),
    "tiles": lambda q, k, v, m: tiled_attention(q, k, v, m, query_tile=2, key_tile=3),
    "tiles, causal": lambda q, k, v, m: tiled_attention(
        q, k, v, m, query_tile=2, key_tile=3, is_causal=True
    ),
    "online softmax": lambda q, k, v, m: PartialAttention.of((q @ k.mT).detach(), v, m).output,
    "kernel regression": lambda q, k, v, m: KernelRegression()(
        q[..., 0].detach(), k[..., 0].detach(), v[..., 0], m
    ),
    "linear": linear_attention,
    "linear, causal": lambda q, k, v, m: linear_attention(q, k, v, m, is_causal=True, chunk=3),
    "linear, a state": lambda q, k, v, m: LinearState.empty(k, v).add(k, v, m).read(q),
    "linear weights": lambda q, k, v, m: linear_attention_weights(q, k, m),
    "fixed state": lambda q, k, v, m: fixed_state_attention(q, k, v, m, chunk=3)[0],
}
#: Any score: its gradient meets 0 times the key, and so the key itself must be finite.
ANY_SCORE = ("any score", "additive", "bilinear", "hard", "local", "predictive")
ONE_PRECISION = ("additive", "bilinear", "predictive", "linear, a state")  # their own, or none


def _bias(q, k):
    return torch.linspace(-1, 1, KEYS, dtype=q.dtype).expand(KEYS, KEYS)


def draw(dtype):
    torch.manual_seed(11)
    return tuple(torch.randn(2, KEYS, D).to(dtype) for _ in "qkv")


def filled(x, number):
    return x.masked_fill(HIDDEN, number).requires_grad_()


def result(call, queries, keys, values, mask):
    """The output and its gradients; 0 at a tensor that it does not depend on."""
    inputs = (queries.detach().requires_grad_(), keys, values)
    output = call(*inputs, mask)
    upstream = torch.linspace(-1, 1, output.numel()).view(output.shape).to(output.dtype)
    gradients = torch.autograd.grad(output, inputs, upstream, allow_unused=True)
    return output, *(torch.zeros(1) if each is None else each for each in gradients)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hidden_keys_and_values_may_hold_anything(name):
    narrow = (torch.float32,) if name in ONE_PRECISION else (torch.float32, torch.float16)
    for dtype in narrow:
        _may_hold_anything(name, dtype)


def _may_hold_anything(name, dtype):
    (queries, keys, values), mask = draw(dtype), mask_from_lengths(LENGTHS, KEYS)
    expected = result(FUNCTIONS[name], queries, filled(keys, 0), filled(values, 0), mask)
    assert all(each.isfinite().all() for each in expected)
    for number in poisons(dtype):
        found = result(FUNCTIONS[name], queries, filled(keys, number), filled(values, number), mask)
        if name in ANY_SCORE and not math.isfinite(number):
            assert torch.equal(found[0], expected[0])
            continue
        assert all(map(torch.equal, found, expected)), number


def test_other_masks_that_hide_a_key_from_all(dtype):
    """Masks of two axes, for each head, and causal besides; the columns without a True."""
    queries, keys, values = (x.view(2, 1, KEYS, D).expand(-1, 3, -1, -1) for x in draw(dtype))
    by_head = torch.rand(1, 3, KEYS, KEYS, generator=torch.Generator().manual_seed(2)) < 0.6
    for mask in (
        torch.arange(KEYS).expand(KEYS, KEYS) < 4,
        by_head & (torch.tensor([3, 5, 0])[:, None, None] > torch.arange(KEYS)),
        mask_from_lengths(LENGTHS, KEYS)[:, None] & causal_mask(KEYS),
        torch.zeros(1, 1, dtype=torch.bool),
    ):
        hidden = ~mask.expand(2, 3, KEYS, KEYS).any(dim=-2)[..., None]
        assert hidden.any()
        expected = dot_product_attention(
            queries, *(x.masked_fill(hidden, 0) for x in (keys, values)), mask
        )
        for number in poisons(dtype):
            broken = (x.masked_fill(hidden, number) for x in (keys, values))
            assert torch.equal(dot_product_attention(queries, *broken, mask), expected)


def test_block_sparse_attention(dtype):
    """Each row of blocks has keys of its own; what none of its queries sees is hidden there."""
    queries, keys, values = draw(dtype)
    mask = (torch.arange(KEYS) < 5) & causal_mask(KEYS)
    plan = plan_blocks(mask, block_size=2)
    hidden = (torch.arange(KEYS) >= 5)[:, None]
    expected, *rest = (
        block_sparse_attention(
            queries, keys.masked_fill(hidden, n), values.masked_fill(hidden, n), plan
        )
        for n in (0.0, *poisons(dtype))
    )
    assert all(torch.equal(expected, found) for found in rest)


def test_places_of_location_attention_that_are_hidden():
    module = LocationAttention(d_q=D, d_k=D, num_keys=KEYS, d_v=D, d_out=3)
    (queries, state, values), mask = draw(torch.float32), mask_from_lengths(LENGTHS, KEYS)
    expected = module(queries, state, filled(values, 0), mask)
    for number in poisons(torch.float32):
        assert torch.equal(module(queries, state, filled(values, number), mask), expected)


def heads(**settings):
    return MultiHeadAttention(**{"d_model": 8, "num_heads": 2} | settings)


def near():
    return RelativePositions(d_k=4, max_distance=2)


MODULES = {
    "heads": lambda: heads(bias=True),
    "grouped": lambda: heads(num_heads=4, num_kv_heads=2),
    "relative": lambda: heads(positions=near()),
    "buckets": lambda: heads(positions=T5Buckets(num_heads=2, bidirectional=True)),
    "alibi": lambda: heads(positions=AlibiPositions(num_heads=2)),
    "window": lambda: heads(window=3),
    "sinks": lambda: heads(sinks=True),
    "sinks, relative": lambda: heads(window=4, sinks=True, positions=near()),
    "latent": lambda: LatentAttention(d_model=8, num_heads=2, kv_rank=4, d_k=4, d_rope=2),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_cache_may_hold_anything_where_it_is_hidden(name):
    """Memory that nobody wrote: the call, its weights, and weights times values agree."""
    torch.manual_seed(5)
    module, x = MODULES[name](), torch.randn(2, KEYS, 8)
    cache, mask = module.project(x), mask_from_lengths(LENGTHS, KEYS)

    def with_number(number):
        keys, values = (
            each.masked_fill(HIDDEN[:, None], number) for each in (cache.keys, cache.values)
        )
        past = KV(keys, values)
        weights = module.weights(x, past, mask)
        return module(x, past, mask=mask), weights, module.combine(weights, past)

    expected = with_number(0.0)
    torch.testing.assert_close(expected[0], expected[2])
    for number in poisons(torch.float32):
        assert all(map(torch.equal, with_number(number), expected)), number


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
def test_padding_that_overflows_in_half_precision(name, half):
    """Finite features of padding whose projections overflow: forwards and in all gradients."""
    torch.manual_seed(5)
    module, x = MODULES[name]().to(half), torch.randn(2, KEYS, 8).to(half)
    queries, mask = torch.randn(2, KEYS, 8).to(half), mask_from_lengths(LENGTHS, KEYS)

    def run(number):
        module.zero_grad()
        keys = filled(x, number)
        output = module(queries, keys, mask=mask)
        output.float().square().sum().backward()
        return output, keys.grad, *(p.grad for p in module.parameters() if p.grad is not None)

    expected = run(0.0)
    if name == "latent":  # the norm of the latent vector: its gradient is 0 times infinity
        expected = expected[:1]
    assert all(each.isfinite().all() for each in expected)
    for number in (torch.finfo(half).max, torch.finfo(half).min):
        assert all(map(torch.equal, run(number), expected))


def test_what_only_some_queries_see():
    """Not guaranteed to be silent, and said so: the fused kernel averages 0 times NaN.

    Finite values are, and finite keys where both scores are finite. Where weights are computed
    one by one, no key moves a query that may not see it.
    """
    queries, keys, values = (torch.randn(1, 4, D) for _ in "qkv")
    past = causal_mask(4)
    for number in (1e30, -1e30):
        later = torch.arange(4)[:, None] == 3
        moved_keys, moved = (
            keys.masked_fill(later, number / 1e20),
            values.masked_fill(later, number),
        )
        for call in (
            lambda k, v: dot_product_attention(queries, k, v, past),
            lambda k, v: dot_product_attention(queries, k, v, is_causal=True),
            lambda k, v: tiled_attention(queries, k, v, past, query_tile=2, key_tile=2),
            lambda k, v: Attention(ScaledDotScore())(queries, k, v, past),
        ):
            assert torch.equal(call(moved_keys, moved)[:, :3], call(keys, values)[:, :3])
    broken = keys.masked_fill(later, math.nan)
    with strict(False):
        weights = dot_product_weights(queries, broken, past)
        assert torch.equal(weights[:, :3], dot_product_weights(queries, keys, past)[:, :3])
        poisoned = values.masked_fill(later, math.nan)
        assert dot_product_attention(queries, keys, poisoned, past)[:, 0].isnan().all()


def test_a_visible_nan_still_shows():
    """What is seen is never cleared: the zeros stand where no query looks, and nowhere else."""
    (queries, keys, values), mask = draw(torch.float32), mask_from_lengths(LENGTHS, KEYS)
    values[0, 4, 2] = math.nan  # the last that the first example shows
    with strict(False):
        output = dot_product_attention(queries, keys, values, mask)
        assert output[0, :, 2].isnan().all()
        assert output[1].isfinite().all()
        module = MultiHeadAttention(d_model=D, num_heads=1)
        weights = module.weights(queries, keys, mask)
        cache = KV(keys[:, None], values[:, None])
        assert module.combine(weights, cache)[0].isnan().all()


def test_a_visibility_vouches_for_what_it_hides():
    """The bare mask clears padding; through a `Visibility` NaN there is refused in strict mode."""
    layer = Layer(LayerConfig(d_model=D, num_heads=1), NoPositions()).eval()
    x, real = torch.randn(2, 4, D), torch.tensor([[True, True, True, False], [True] * 4])
    broken = x.masked_fill(~real[..., None], math.nan)
    with strict(False):
        assert torch.equal(layer(broken, real[:, None])[real], layer(x, real[:, None])[real])
    for mask in (Visibility.real(real), real[:, None]):
        with pytest.raises(ValueError, match=r"scores: .* where seen, got scores.* = nan"):
            layer(broken, mask)
