"""Multi-head attention: torch's own is the oracle, and the laws of its parts."""

import math
from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from attention_book.attention import (
    KV,
    AlibiPositions,
    MultiHeadAttention,
    NoPositions,
    RelativePositions,
    RotaryPositions,
    SelfAttention,
    T5Buckets,
    causal_mask,
    split_heads,
)
from attention_book.attention.from_torch import attention_to_torch

BATCH, QUERIES, KEYS, HEADS = 5, 7, 11, 3
D_K = 6  # even, for the rotations
D_MODEL = HEADS * D_K
D_KEY, D_VALUE = 13, 17
EXACT = {"rtol": 0, "atol": 1e-10}
POSITIONS = {
    "none": NoPositions,
    "relative": lambda: RelativePositions(d_k=D_K, max_distance=2),
    "relative, keys only": lambda: RelativePositions(d_k=D_K, max_distance=2, values=False),
    "buckets": lambda: T5Buckets(num_heads=HEADS, bidirectional=True, max_distance=9),
    "rotary": lambda: RotaryPositions(d_k=D_K),
    "alibi": lambda: AlibiPositions(num_heads=HEADS),
}


def make(**settings):
    return MultiHeadAttention(**{"d_model": D_MODEL, "num_heads": HEADS} | settings).double()


def draw(d_key=D_MODEL, d_value=D_MODEL):
    sizes = ((QUERIES, D_MODEL), (KEYS, d_key), (KEYS, d_value))
    return tuple(torch.randn(BATCH, *size, dtype=torch.float64) for size in sizes)


def some_mask(*batch):
    """Show each query about half of the keys."""
    mask = torch.rand(*batch, QUERIES, KEYS) < 0.5
    mask[..., 0] = True
    return mask


def test_equal_to_torch_with_a_mask_for_each_head():
    mask = some_mask(BATCH, HEADS)
    ours, (queries, keys, values) = make(bias=True), draw()
    output, weights = attention_to_torch(ours)(
        queries, keys, values, attn_mask=~mask.flatten(0, 1), average_attn_weights=False
    )
    torch.testing.assert_close(ours(queries, keys, values, mask), output, **EXACT)
    torch.testing.assert_close(ours.weights(queries, keys, mask), weights, **EXACT)
    assert (weights.masked_select(~mask) == 0).all()


@pytest.fixture(params=POSITIONS)
def attention(request):
    torch.manual_seed(1)
    return make(bias=True, scale=0.3, positions=POSITIONS[request.param]())


def test_weights_times_values_is_the_output_raw_projected_or_left_out(attention):
    queries, keys, values = draw()
    pairs = attention.project(keys, values)
    assert pairs.keys.shape == pairs.values.shape == (BATCH, HEADS, KEYS, D_K)
    for mask in (None, some_mask(), some_mask(BATCH), some_mask(BATCH, HEADS)):
        weights = attention.weights(queries, keys, mask)
        assert weights.shape == (BATCH, HEADS, QUERIES, KEYS)
        torch.testing.assert_close(attention.weights(queries, pairs, mask), weights)
        output = attention(queries, keys, values, mask)
        for same in (
            attention.combine(weights, values),
            attention.combine(weights, pairs),
            attention(queries, pairs, mask=mask),
        ):
            torch.testing.assert_close(same, output)
    left_out = attention(queries, attention.project(keys)), attention(queries, keys)
    torch.testing.assert_close(left_out, (attention(queries, keys, keys),) * 2)


def test_piece_by_piece_with_a_cache_is_all_at_once(attention):
    x, pieces = draw()[0], (3, 1, 2, 1)
    at_once = attention(x, x, x, causal_mask(QUERIES))
    weights = attention.weights(x, x, causal_mask(QUERIES))
    cache = attention.new_cache()
    for piece in x.split(pieces, dim=1):
        here = slice(cache.position, cache.position + piece.shape[1])
        look = attention.look(piece, cache=cache.fork())
        found = attention.weights(piece, cache=cache)
        output = attention(piece, cache=cache)
        torch.testing.assert_close(output, at_once[:, here])
        torch.testing.assert_close(found, weights[:, :, here, : cache.num_keys])
        assert torch.equal(attention.weights_of(look), found)
        torch.testing.assert_close(attention.combine(found, look), output)
        projected = attention.project(x[:, : here.stop])  # the same without a cache
        again = attention(piece, projected, offset=here.start, is_causal=True)
        torch.testing.assert_close(again, output)
        combined = attention.combine(found, projected, offset=here.start)
        torch.testing.assert_close(combined, output)


def test_a_query_that_sees_nothing_gets_zero_and_finite_gradients(attention):
    tensors, mask = tuple(tensor.requires_grad_() for tensor in draw()), some_mask(BATCH)
    mask[:, 2] = False
    output = attention(*tensors, mask)
    torch.testing.assert_close(output[:, 2], attention.W_o.bias.expand(BATCH, -1))
    assert (attention.weights(*tensors[:2], mask)[:, :, 2] == 0).all()
    output.sum().backward()
    for tensor in (*tensors, *attention.parameters()):
        assert tensor.grad.isfinite().all()
    without = make(positions=attention.positions)
    assert (without(*tensors, mask)[:, 2] == 0).all()


def test_each_head_is_a_self_attention_of_its_own():
    attention, x = make(bias=True), draw()[0]
    heads = []
    for head in range(HEADS):
        single = SelfAttention(d_model=D_MODEL, d_k=D_K, d_v=D_K, bias=True).double()
        features = slice(head * D_K, (head + 1) * D_K)
        with torch.no_grad():
            for name in ("W_q", "W_k", "W_v"):
                whole, part = getattr(attention, name), getattr(single, name)
                part.weight.copy_(whole.weight[features])
                part.bias.copy_(whole.bias[features])
        heads.append(single(x))
        torch.testing.assert_close(attention.weights(x, x)[:, head], single.weights(x))
    torch.testing.assert_close(attention(x, x, x), attention.W_o(torch.cat(heads, dim=-1)))


def test_the_number_of_heads_changes_no_parameter():
    for num_heads in (1, 6, 18):
        stored = make(num_heads=num_heads).state_dict()
        shapes = {name: tuple(weight.shape) for name, weight in stored.items()}
        assert shapes == {f"W_{letter}.weight": (D_MODEL, D_MODEL) for letter in "qkvo"}


def test_training_toggles_dropout_and_nothing_else(attention):
    tensors = draw()
    plain, weights = attention(*tensors), attention.weights(*tensors[:2])
    attention.dropout = 0.5
    assert not torch.allclose(attention(*tensors), plain)
    torch.testing.assert_close(attention.weights(*tensors[:2]), weights)
    many = (tensor.repeat(150, 1, 1) for tensor in tensors)
    mean = attention(*many).unflatten(0, (150, BATCH)).mean(0)
    torch.testing.assert_close(mean, plain, rtol=0, atol=0.3)
    torch.testing.assert_close(attention.eval()(*tensors), plain)


def test_the_settings_show_where_the_module_is_printed():
    assert "num_heads=3, dropout=0.25, scale=0.5" in repr(make(dropout=0.25, scale=0.5))
    assert "num_heads=3, num_kv_heads=1, dropout=0.25" in repr(make(num_kv_heads=1, dropout=0.25))


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error(attention):
    queries, keys, values = draw()
    pairs = attention.project(keys, values)
    others = KV(pairs.keys[:, :2], pairs.values[:, :2])
    for arguments, error, message in [
        ((queries[0], keys, values), ValueError, r"queries: expected the axes .* \(7, 18\)"),
        ((queries, keys[..., :7], values), ValueError, "keys: .* with 18 features"),
        ((queries, keys, values[..., :7]), ValueError, "values: .* with 18 features"),
        ((queries, keys[:2], values[:2]), ValueError, r"\(5, 3, 7, 6\) and \(2, 3, 11, 6\)"),
        ((queries[:2], pairs), ValueError, r"same leading \(batch\) axes, .* \(5, 3, 11, 6\)"),
        ((queries, others), ValueError, r"\(5, 3, 7, 6\) and \(5, 2, 11, 6\)"),
        ((queries, pairs, values), ValueError, "values: expected None"),
        ((queries.long(), keys, values), TypeError, "queries: expected floating point"),
        ((queries, keys, values, torch.ones(3, 7, 11).bool()), ValueError, "mask: expected a sh"),
        ((queries, keys, values, torch.ones(5, 2, 7, 11).bool()), ValueError, "mask: expected a"),
    ]:
        with pytest.raises(error, match=message):
            attention(*arguments)
    weights = attention.weights(queries, pairs)
    for wrong in (weights[0], weights[0, 0], weights[:1], weights[:, :1], weights[..., :4]):
        with pytest.raises(ValueError, match=r"weights: .* \(5, 3, 'query', 11\), got the shape"):
            attention.combine(wrong, pairs)
    keys[1, 2] = math.nan
    with pytest.raises(ValueError, match="scores: expected"):
        attention(queries, keys, values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_heads": 4}, "num_heads: expected a divisor of d_model, got num_heads=4 "),
        ({"num_heads": 0}, "num_heads: expected a divisor of d_model"),
        ({"d_key": 0}, "d_key: expected at least 1, got 0"),
        ({"d_value": -1}, "d_value: expected at least 1, got -1"),
        ({"dropout": 1.5}, "dropout: expected a probability"),
        ({"num_kv_heads": 2}, "got num_kv_heads=2 for num_heads=3"),
        ({"num_kv_heads": 0}, "num_kv_heads: expected a divisor of num_heads"),
    ],
)
def test_bad_settings_get_one_clear_error(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


@pytest.mark.parametrize("kind", POSITIONS)
def test_causal_is_the_causal_mask(kind):
    attention = make(positions=POSITIONS[kind](), num_kv_heads=1)
    queries, keys, values = draw()
    whole, past_keys = (keys[:, :QUERIES], values[:, :QUERIES]), attention.project(keys, values)
    for (offset, found), masked in product(((0, whole), (4, (past_keys,))), (False, True)):
        num_keys = KEYS if offset else QUERIES
        mask = some_mask(BATCH)[..., :num_keys] if masked else None
        past = causal_mask(QUERIES, num_keys, offset=offset)
        both = past if mask is None else past & mask
        expected = attention(queries, *found, mask=both, offset=offset)
        output = attention(queries, *found, mask=mask, offset=offset, is_causal=True)
        torch.testing.assert_close(output, expected, **EXACT)
        weights = attention.weights(queries, found[0], mask, offset=offset, is_causal=True)
        hidden = ~both.expand(BATCH, QUERIES, num_keys)[:, None]
        assert (weights[hidden.expand_as(weights)] == 0).all()
        torch.testing.assert_close(
            attention.combine(weights, found[-1], offset=offset), expected, **EXACT
        )


class _UnitNorm(torch.nn.Module):
    """A norm that a test can see: vectors of length 1, times a weight."""

    def __init__(self, d_k):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(d_k, dtype=torch.float64) + 0.5)

    def forward(self, heads):
        return self.weight * torch.nn.functional.normalize(heads, dim=-1)


def test_heads_of_a_size_of_their_own():
    attention = make(d_k=4, num_kv_heads=1)
    x = draw()[0]
    assert attention.project(x).keys.shape == (BATCH, 1, QUERIES, 4)
    whole = attention(x, x, is_causal=True)
    torch.testing.assert_close(attention.combine(attention.weights(x, x, is_causal=True), x), whole)
    past = attention.project(x)
    torch.testing.assert_close(attention(x, past, is_causal=True), whole)
    assert attention.cache_bytes() == 2 * 4 * 8
    assert "d_k=4" in repr(attention)


def test_norms_of_queries_and_keys_come_before_the_positions():
    norms = _UnitNorm(D_K), _UnitNorm(D_K)
    attention = make(positions=RotaryPositions(d_k=D_K), query_norm=norms[0], key_norm=norms[1])
    x, y, _ = draw()
    W_q, W_k = attention.W_q.weight, attention.W_k.weight
    rotate = RotaryPositions(d_k=D_K).rotate
    queries = rotate(norms[0](split_heads(x @ W_q.T, HEADS)))
    keys = rotate(norms[1](split_heads(y @ W_k.T, HEADS)))
    expected = (queries @ keys.mT / math.sqrt(D_K)).softmax(dim=-1)
    torch.testing.assert_close(attention.weights(x, y), expected)
    torch.testing.assert_close(attention.project(y).keys, keys)
    torch.testing.assert_close(attention.combine(expected, y), attention(x, y))
    torch.testing.assert_close(attention(x, attention.project(y)), attention(x, y))


class Called(nn.Module):
    """What can be called, and has no matrix to be read past a call."""

    def __init__(self, linear: nn.Module) -> None:
        super().__init__()
        self.linear = [linear]

    def forward(self, x):
        return self.linear[0](x)


class Adapter(nn.Module):
    """What shows the old matrix and does more, as adapters of other libraries do."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base_layer = base
        self.change = nn.Linear(base.in_features, base.out_features, bias=False).double()

    @property
    def weight(self):
        return self.base_layer.weight

    @property
    def bias(self):
        return self.base_layer.bias

    def forward(self, x):
        return self.base_layer(x) + self.change(x)


class Doubled(nn.Module):
    """A parametrization."""

    def forward(self, weight):
        return 2 * weight


class Louder(nn.Linear):
    """A class of somebody's own."""

    def forward(self, x):
        return 3 * super().forward(x)


def _another_forward(linear: nn.Linear) -> nn.Linear:
    old = linear.forward
    linear.forward = lambda x: -old(x)
    return linear


def _hooked(linear: nn.Linear, register: str, hook) -> nn.Linear:
    getattr(linear, register)(hook)
    return linear


def _louder(linear: nn.Linear) -> nn.Linear:
    louder = Louder(linear.in_features, linear.out_features).double()
    louder.load_state_dict(linear.state_dict())
    return louder


def _parametrized(linear: nn.Linear) -> nn.Linear:
    return nn.utils.parametrize.register_parametrization(linear, "weight", Doubled())


#: Whatever may come to stand where a projection stood: only a call says what it does.
IN_ITS_PLACE = {
    "forward hook": lambda x: _hooked(x, "register_forward_hook", lambda m, x, y: 2 * y),
    "pre-hook": lambda x: _hooked(x, "register_forward_pre_hook", lambda m, x: (2 * x[0],)),
    "adapter": Adapter,
    "own class": _louder,
    "own forward": _another_forward,
    "parametrized": _parametrized,
    "weight norm": nn.utils.parametrizations.weight_norm,
    "spectral norm": nn.utils.parametrizations.spectral_norm,
    "pruned": lambda x: prune.l1_unstructured(x, "weight", amount=0.5),
}


def uses(module, x, memory):
    """What a module is used for: all of its projections, and each of them."""
    cache = module.project(memory, memory)
    step = module(x[:, :1], module.project(x[:, :1]))
    return [
        module(x, x, x),
        module(x, memory, memory),
        module(x, memory, 2 * memory),
        module(x, cache),
        step,
        module.weights(x, memory),
        module.combine(module.weights(x, memory), memory),
    ]


@pytest.mark.parametrize("kind", IN_ITS_PLACE)
def test_what_stands_in_the_place_of_the_projections_is_called(kind) -> None:
    attention, (x, memory, _) = make(bias=True).eval(), draw()
    plain = uses(attention, x, memory)
    for name in ("W_q", "W_k", "W_v", "W_o"):
        setattr(attention, name, IN_ITS_PLACE[kind](attention.get_submodule(name)).eval())
    found = uses(attention, x, memory)
    for name in ("W_q", "W_k", "W_v", "W_o"):
        setattr(attention, name, Called(attention.get_submodule(name)))
    torch.testing.assert_close(found, uses(attention, x, memory), **EXACT)
    if kind != "weight norm":  # which begins as it was
        assert (found[1] - plain[1]).abs().max() > 1e-3


def test_hooks_of_the_projections_see_every_call() -> None:
    attention, (x, memory, _) = make(), draw()
    calls, linears = [], [attention.W_q, attention.W_k, attention.W_v, attention.W_o]
    for linear in linears:
        linear.register_forward_hook(lambda m, given, output: calls.append(("one", m)))
        linear.register_full_backward_hook(lambda m, into, out: calls.append(("back", m)))
    everywhere = nn.modules.module.register_module_forward_hook(
        lambda m, given, output: calls.append(("all", m)) if m in linears else None
    )
    attention(x.requires_grad_(), memory.requires_grad_(), memory).sum().backward()
    everywhere.remove()
    assert len(calls) == 12
    assert set(calls) == set(product(("one", "back", "all"), linears))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:torch.quantize_per:UserWarning")
def test_a_quantized_module_is_near_the_plain_one() -> None:
    attention, (x, memory, _) = make().float(), draw()
    x, memory = x.float(), memory.float()
    quantized = torch.ao.quantization.quantize_dynamic(attention, {nn.Linear})
    assert not isinstance(quantized.W_q, nn.Linear)
    for one, other in zip(uses(quantized, x, memory), uses(attention, x, memory), strict=True):
        assert 0 < (one - other).abs().max() < 0.1 * other.abs().max()
