"""Windows: what a mask would hide, and a bounded cache that forgets what nobody will see."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import (
    KVCache,
    MultiHeadAttention,
    Places,
    RelativePositions,
    RotaryPositions,
    Visibility,
)
from attention_book.inspection import capture_attention

D_MODEL, HEADS, D_K = 24, 6, 4
POSITIONS = {
    "rotary": lambda: RotaryPositions(d_k=D_K),
    "relative": lambda: RelativePositions(d_k=D_K, max_distance=5),
}


def attention(positions="rotary", **settings):
    module = MultiHeadAttention(
        d_model=D_MODEL, num_heads=HEADS, positions=POSITIONS[positions](), **settings
    ).double()
    with torch.no_grad():  # wide enough that no weight is near another
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module.eval()


def text(length=13, batch=2):
    return torch.randn(batch, length, D_MODEL, dtype=torch.float64)


def near(length, **rule):
    """The definition, pair by pair."""
    window, num_first = rule.get("window") or length, rule.get("num_first", 0)
    return torch.tensor(
        [
            [
                (j <= i or not rule.get("causal", True)) and (abs(i - j) < window or j < num_first)
                for j in range(length)
            ]
            for i in range(length)
        ]
    ).view(length, length)


@pytest.mark.parametrize(
    ("chunks", "sinks", "padded"),
    [((1,) * 13, False, True), ((1, 6, 6), True, False), ((1, 6, 6), True, True)],
)
def test_chunk_by_chunk_is_the_masked_call(chunks, sinks, padded):
    module, x = attention("relative", window=4, num_first=2, sinks=sinks), text()
    real = torch.arange(13) > (torch.tensor([[2], [0]]) if padded else -1)
    mask = real.expand(2, 13)[:, None]
    at_once, weights = (
        module(x, mask=mask, is_causal=True),
        module.weights(x, x, mask, is_causal=True),
    )
    outputs, cache, place = [], module.new_cache(), 0
    for chunk in x.split(chunks, dim=1):
        place += chunk.shape[1]
        known = mask[..., :place]
        found = module.weights(chunk, mask=known, cache=cache)
        outputs.append(module(chunk, mask=known, cache=cache))
        at = Places(1, cache.num_keys, num_first=2, dropped=cache.dropped)
        expected = weights[:, :, place - chunk.shape[1] : place]
        torch.testing.assert_close(found, expected[..., at.keys()])
    torch.testing.assert_close(torch.cat(outputs, dim=1), at_once)


@given(
    length=st.integers(1, 12),
    window=st.none() | st.integers(1, 14),
    num_first=st.integers(0, 4),
    causal=st.booleans(),
)
def test_visibility_is_the_definition_however_it_is_rendered(length, window, num_first, causal):
    rule = {"causal": causal, "window": window, "num_first": num_first}
    see, expected = Visibility(**rule), near(length, **rule)
    dense = see.dense(Places(length, length))
    assert (dense is None and expected.all()) or torch.equal(dense, expected)
    mask, is_causal = see.for_kernel(Places(length, length))
    if is_causal:
        assert mask is None
        assert torch.equal(expected, near(length))
    else:
        assert (mask is None and expected.all()) or torch.equal(mask, expected)


@pytest.mark.parametrize(
    ("causal", "shape", "window", "num_first", "dropped"),
    [
        (True, None, None, 0, 0),
        (False, (5, 9), None, 0, 0),
        (True, (1, 1, 1, 9), 3, 1, 0),
        (False, (2, 1, 5, 9), 3, 1, 0),
        (True, (1, 3, 5, 9), None, 0, 0),
        (True, None, 3, 1, 2),  # flex asks for the keys that are there
        (False, None, 3, 1, 2),
    ],
)
def test_blocks_for_flex_attention_are_the_dense_mask(causal, shape, window, num_first, dropped):
    at = Places(5, 9 - dropped, offset=4, num_first=num_first, dropped=dropped)
    mask = None if shape is None else torch.rand(shape) < 0.7
    see = Visibility(causal=causal, window=window, num_first=num_first, mask=mask)
    from torch.nn.attention.flex_attention import create_mask

    rule = see.blocks(at, batch=2, heads=3).mask_mod
    found = create_mask(rule, 2, 3, at.num_queries, at.num_keys, device="cpu")
    dense = see.dense(at)
    expected = torch.ones(1, dtype=torch.bool) if dense is None else dense
    assert torch.equal(found, expected.expand(2, 3, at.num_queries, at.num_keys))


def test_what_hides_nothing_makes_no_mask():
    past = Visibility(causal=True)
    for at in (Places(1, 5, offset=4), Places(1, 1)):
        assert past.dense(at) is None
    for offset in range(4):
        mask = past.dense(Places(1, 5, offset=offset))
        assert mask.tolist() == [[j <= offset for j in range(5)]]
    assert Visibility(window=5).dense(Places(5, 5)) is None
    assert Visibility(window=4).dense(Places(5, 5)) is not None
    assert Visibility(causal=True, window=9).for_kernel(Places(5, 5)) == (None, True)


@pytest.mark.parametrize("is_causal", [False, True])
def test_weights_times_values_is_the_output_and_can_be_captured(is_causal):
    module, x = attention(window=3, num_first=1, positions="relative"), text()
    with capture_attention(module) as seen:
        output = module(x, is_causal=is_causal)
    (weights,) = seen["MultiHeadAttention"]
    torch.testing.assert_close(module.combine(weights, x), output)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    expected = near(13, window=3, num_first=1, causal=is_causal)
    assert (weights > 0).equal(expected.expand_as(weights))


def test_a_given_mask_hides_besides():
    module, x = attention(window=3), text()
    mask = torch.rand(2, 13, 13) < 0.5
    weights = module.weights(x, x, mask, is_causal=True)
    expected = (near(13, window=3) & mask)[:, None]
    assert (weights > 0).equal(expected.expand_as(weights))
    said = Visibility(causal=True, mask=mask[:, None])
    assert torch.equal(module.weights(x, x, said), weights)
    assert torch.equal(module(x, mask=said), module(x, mask=mask, is_causal=True))


def test_gradients_flow_through_the_cache():
    module = attention(window=2)

    def read(x):
        cache = module.new_cache()
        module(x[:, :2], cache=cache)
        return module(x[:, 2:], cache=cache)

    inputs = text(4, 1).requires_grad_()
    assert torch.autograd.gradcheck(read, (inputs,))


def test_refused(unchecked):
    with pytest.raises(ValueError, match="window: expected at least 1, got 0"):
        attention(window=0)
    with pytest.raises(ValueError, match=r"num_first: expected a whole number, got 1\.5"):
        attention(window=2, num_first=1.5)
    with pytest.raises(ValueError, match="num_first: expected 0 or more, got -1"):
        attention(window=2, num_first=-1)
    module, x = attention(window=4, num_first=1), text(5)
    for forgetful in (KVCache(window=3, num_first=1), KVCache(window=4)):
        with pytest.raises(ValueError, match="cache: expected one that keeps what is seen"):
            module(x, cache=forgetful)
    with pytest.raises(ValueError, match="cache: expected one that keeps what is seen"):
        attention()(x, cache=KVCache(window=9))
    for roomy in (KVCache(), KVCache(window=9, num_first=1)):
        torch.testing.assert_close(module(x, cache=roomy), module(x, is_causal=True))
    with pytest.raises(ValueError, match="offset: expected 0, for the cache knows the place"):
        module(x, cache=module.new_cache(), offset=3)
    with pytest.raises(ValueError, match="cache: expected None, for the keys"):
        module(x, module.project(x), cache=module.new_cache())
    cache = module.new_cache()
    module(x, cache=cache)
    for wrong in (torch.ones(2, 3, 9) > 0, torch.ones(2, 5, 5) > 0):  # of the new keys alone, too
        with pytest.raises(ValueError, match="mask: expected a shape"):
            module(x, mask=wrong, cache=cache)
    assert (cache.position, cache.num_keys) == (5, 5)  # wrong input loses nothing
    with pytest.raises(TypeError, match="mask: expected a boolean tensor"):
        Visibility(mask=torch.zeros(3, 3))
