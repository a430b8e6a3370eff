"""A window and its bounded cache: what a mask would hide is what the cache may forget."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import (
    AlibiPositions,
    KVCache,
    MultiHeadAttention,
    NoPositions,
    RelativePositions,
    RotaryPositions,
    SinkAttention,
    T5Buckets,
    WindowAttention,
    WindowCache,
    YarnScaling,
    near_mask,
    window_mask,
)
from attention_book.inspection import capture_attention
from attention_book.models.transformer.add_norm import AddNorm
from attention_book.models.transformer.layers import look_back

D_MODEL, HEADS, D_K = 24, 6, 4
POSITIONS = {
    "none": NoPositions,
    "rotary": lambda: RotaryPositions(d_k=D_K),
    "yarn": lambda: RotaryPositions(d_k=D_K, scaling=YarnScaling(factor=4.0, trained_length=8)),
    "alibi": lambda: AlibiPositions(num_heads=HEADS),
    "buckets": lambda: T5Buckets(num_heads=HEADS, bidirectional=False),
    "relative": lambda: RelativePositions(d_k=D_K, max_distance=5),
}


def attention(kind=WindowAttention, positions="rotary", **settings):
    module = kind(
        d_model=D_MODEL, num_heads=HEADS, positions=POSITIONS[positions](), **settings
    ).double()
    with torch.no_grad():  # wide enough that no weight is near another
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module.eval()


def text(length=13, batch=2):
    return torch.randn(batch, length, D_MODEL, dtype=torch.float64)


@pytest.mark.parametrize("chunks", [(1,) * 13, (1, 6, 6)])
@pytest.mark.parametrize("kind", [WindowAttention, SinkAttention])
def test_chunk_by_chunk_is_the_masked_call(chunks, kind):
    module, x = attention(kind, "relative", window=4, num_first=2), text()
    at_once, outputs, past, place = module(x, x, x), [], None, 0
    for chunk in x.split(chunks, dim=1):
        new = module.project(chunk, chunk, offset=place)
        past = new if past is None else past.append(new)
        outputs.append(module(chunk, past, offset=place))
        weights = module.weights(chunk, past, offset=place)
        expected = module.weights(x, x)[:, :, place : place + chunk.shape[1]]
        torch.testing.assert_close(weights, expected[..., past.key_positions])
        place += chunk.shape[1]
    torch.testing.assert_close(torch.cat(outputs, dim=1), at_once)


@given(
    length=st.integers(1, 12),
    window=st.integers(1, 14),
    num_first=st.integers(0, 4),
)
def test_the_window_is_the_mask_of_the_definition(length, window, num_first):
    expected = window_mask(length, radius=window - 1, causal=True)
    expected |= window_mask(length, radius=length, causal=True) & (torch.arange(length) < num_first)
    assert torch.equal(near_mask(length, length, window=window, num_first=num_first), expected)


def test_a_window_as_wide_as_the_text_changes_nothing():
    wide, x = attention(window=13), text()
    plain = MultiHeadAttention(d_model=D_MODEL, num_heads=HEADS, positions=RotaryPositions(d_k=D_K))
    plain.double().load_state_dict(wide.state_dict())
    torch.testing.assert_close(wide(x, x, x), plain(x, x, x, is_causal=True))
    torch.testing.assert_close(wide.weights(x, x), plain.weights(x, x, is_causal=True))


def test_weights_times_values_is_the_output_and_can_be_captured():
    module, x = attention(window=3, num_first=1, positions="relative"), text()
    with capture_attention(module) as seen:
        output = module(x, x, x)
    (weights,) = seen["WindowAttention"]
    torch.testing.assert_close(module.combine(weights, x), output)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert (weights > 0).equal(near_mask(13, 13, window=3, num_first=1).expand_as(weights))


def test_a_given_mask_hides_besides():
    module, x = attention(window=3), text()
    mask = torch.rand(2, 13, 13) < 0.5
    weights = module.weights(x, x, mask)
    assert (weights > 0).equal((near_mask(13, 13, window=3) & mask)[:, None].expand_as(weights))


@pytest.mark.parametrize(("layers", "window"), [(1, 4), (3, 4), (2, 5), (3, 1)])
def test_layers_reach_back_layers_times_window_minus_one(layers, window):
    stack = [attention(window=window) for _ in range(layers)]
    inputs = text(20, 1).requires_grad_()
    x = inputs
    for module in stack:
        x = x + module(x, x, x)
    (gradient,) = torch.autograd.grad(x[0, -1].sum(), inputs)
    reached = gradient[0].abs().sum(dim=-1).nonzero().flatten()
    assert reached.tolist() == list(range(19 - layers * (window - 1), 20))


def test_what_left_the_window_is_not_seen():
    module, x = attention(window=4, num_first=1), text()
    changed = x.clone()
    changed[:, 3] += 1
    moved = (module(x, x, x) - module(changed, changed, changed)).abs().amax(dim=(0, 2)) > 1e-9
    assert moved.nonzero().flatten().tolist() == [3, 4, 5, 6]
    changed = x.clone()
    changed[:, 0] += 1
    moved = (module(x, x, x) - module(changed, changed, changed)).abs().amax(dim=(0, 2)) > 1e-9
    assert moved.all()


def test_select_and_contiguous_keep_the_place():
    module, x, past = attention(window=3, num_first=1), text(), None
    for place in range(9):
        new = module.project(x[:, place : place + 1], offset=place)
        past = new if past is None else past.append(new)
    token = x[:, 9:10]
    whole = module(token, past.append(module.project(token, offset=9)), offset=9)
    picked = past.select(torch.tensor([1, 1, 0])).contiguous()
    assert (picked.position, picked.num_keys, picked.batch_size) == (9, 4, 3)
    token = token[[1, 1, 0]]
    ours = module(token, picked.append(module.project(token, offset=9)), offset=9)
    torch.testing.assert_close(ours, whole[[1, 1, 0]])


def test_a_layer_of_a_model_can_look_back_through_it():
    module, x = attention(window=3, num_first=1).float(), text().float()
    add_norm = AddNorm(d_model=D_MODEL, order="pre")
    at_once, past = add_norm(x, lambda x: module(x, x, x)), None
    for place in range(13):
        y, past = look_back(module, add_norm, x[:, place : place + 1], past)
        torch.testing.assert_close(y, at_once[:, place : place + 1], atol=1e-5, rtol=1e-5)
    assert isinstance(past, WindowCache)
    assert past.key_positions.tolist() == [0, 10, 11, 12]


def test_nothing_grows_however_long_the_text():
    module, past = attention(window=5, num_first=2), None
    with torch.inference_mode():
        for place in range(100):
            new = module.project(text(1), offset=place)
            past = new if past is None else past.append(new)
    assert (past.num_keys, past.position, past.num_dropped) == (7, 100, 93)
    assert past.keys.untyped_storage().nbytes() == 2 * HEADS * 7 * D_K * 8


def test_gradients_flow_through_the_cache():
    module = attention(window=2)

    def read(x):
        first = module.project(x[:, :2])
        second = first.append(module.project(x[:, 2:], offset=2))
        return module(x[:, 2:], second, offset=2)

    inputs = text(4, 1).requires_grad_()
    assert torch.autograd.gradcheck(read, (inputs,))


def test_refused():
    with pytest.raises(ValueError, match="window: expected at least 1, got 0"):
        attention(window=0)
    with pytest.raises(ValueError, match="num_first: expected 0 or more, got -1"):
        attention(window=2, num_first=-1)
    cache = attention(window=2).project(text(3))
    with pytest.raises(ValueError, match=r"other.keys: expected the batch, heads and features"):
        cache.append(KVCache(torch.rand(2, 1, 1, D_K).double(), torch.rand(2, 1, 1, D_K).double()))
