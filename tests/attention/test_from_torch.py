"""Our attention and torch's: the same parameters, the same results, there and back."""

import pytest
import torch
from torch import nn

from attention_book.attention import (
    AlibiPositions,
    MultiHeadAttention,
    NoPositions,
    RelativePositions,
    RotaryPositions,
    T5Buckets,
    causal_mask,
)
from attention_book.attention.from_torch import (
    attention_from_torch,
    attention_to_torch,
)

BATCH, QUERIES, KEYS = 2, 5, 7
# (d_model, num_heads, d_key, d_value): other sizes need separate projections.
SIZES = [(6, 2, 6, 6), (11, 1, 11, 11), (15, 3, 13, 17), (15, 5, 15, 17), (17, 17, 13, 17)]
EXACT = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(params=SIZES, ids=str)
def size(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "bias"])
def bias(request):
    return request.param


def torchs(size, bias, **settings):
    """Create torch's module with parameters none of which is 0."""
    d_model, num_heads, d_key, d_value = size
    settings = {"batch_first": True, "dtype": torch.float64} | settings
    return scattered(
        nn.MultiheadAttention(d_model, num_heads, bias=bias, kdim=d_key, vdim=d_value, **settings)
    )


def our_own(size, bias, **settings):
    d_model, num_heads, d_key, d_value = size
    settings = {"d_key": d_key, "d_value": d_value, "bias": bias} | settings
    return scattered(MultiHeadAttention(d_model=d_model, num_heads=num_heads, **settings).double())


def scattered(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.4)
    return module


def draw(size):
    d_model, _, d_key, d_value = size
    sizes = ((QUERIES, d_model), (KEYS, d_key), (KEYS, d_value))
    return [torch.randn(BATCH, *each, dtype=torch.float64) for each in sizes]


def same_parameters(module, other):
    first, second = module.state_dict(), other.state_dict()
    assert list(first) == list(second)
    assert all(torch.equal(first[name], second[name]) for name in first)


def of_gradients(module, output, upstream):
    """Put each gradient where its parameter was: the mapping then says which belong together."""
    output.backward(upstream)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.grad)
    return module


def test_there_and_back_nothing_changes(size, bias):
    theirs, ours = torchs(size, bias), our_own(size, bias)
    same_parameters(attention_to_torch(attention_from_torch(theirs)), theirs)
    same_parameters(attention_from_torch(attention_to_torch(ours)), ours)


def pairs(size, bias):
    """Yield ours and torch's, once made from torch's, once from ours."""
    theirs = torchs(size, bias)
    yield attention_from_torch(theirs), theirs
    ours = our_own(size, bias)
    yield ours, attention_to_torch(ours)


def test_results_weights_and_gradients_are_those_of_torch(size, bias):
    padding = torch.arange(KEYS) < torch.tensor([[7], [4]])
    mask = padding[:, None] & causal_mask(QUERIES, KEYS, offset=2)
    for ours, theirs in pairs(size, bias):
        tensors = draw(size)
        expected, weights = theirs(
            *tensors,
            key_padding_mask=~padding,
            attn_mask=~causal_mask(QUERIES, KEYS, offset=2),
            average_attn_weights=False,
        )
        found = ours(*tensors, mask)
        torch.testing.assert_close(found, expected, **EXACT)
        torch.testing.assert_close(ours.weights(*tensors[:2], mask), weights, **EXACT)
        upstream = torch.randn_like(found)
        mine = of_gradients(ours, found, upstream)
        other = attention_from_torch(of_gradients(theirs, expected, upstream))
        torch.testing.assert_close(dict(mine.state_dict()), dict(other.state_dict()), **EXACT)


def test_from_torch_with_the_batch_second(bias):
    theirs = torchs(SIZES[2], bias, batch_first=False)
    tensors = draw(SIZES[2])
    expected, _ = theirs(*(tensor.transpose(0, 1) for tensor in tensors))
    found = attention_from_torch(theirs)(*tensors)
    torch.testing.assert_close(found, expected.transpose(0, 1), **EXACT)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mode_type_dropout_and_what_is_frozen_are_kept(size, training, dtype):
    theirs = torchs(size, True, dtype=dtype, dropout=0.3).train(training)
    theirs.out_proj.weight.requires_grad_(False)
    ours = attention_from_torch(theirs)
    back = attention_to_torch(ours)
    assert ours.training == back.training == training
    assert ours.dropout == back.dropout == 0.3
    assert {parameter.dtype for parameter in ours.parameters()} == {dtype}
    for weight in (ours.W_o.weight, back.out_proj.weight):
        assert not weight.requires_grad
    assert ours.W_o.bias.requires_grad
    assert sum(not parameter.requires_grad for parameter in ours.parameters()) == 1


def test_the_device_is_kept(size):
    ours = attention_from_torch(torchs(size, True, device="meta"))
    back = attention_to_torch(ours)
    for module in (ours, back):
        assert {parameter.device.type for parameter in module.parameters()} == {"meta"}


def test_nothing_is_drawn():
    theirs, state = torchs(SIZES[0], True), torch.random.get_rng_state()
    attention_to_torch(attention_from_torch(theirs))
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("setting", ["add_bias_kv", "add_zero_attn"])
def test_what_ours_lacks_is_named(setting):
    theirs = nn.MultiheadAttention(6, 2, **{setting: True})
    with pytest.raises(ValueError, match=f"{setting}: expected False, .* got True"):
        attention_from_torch(theirs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_kv_heads": 1}, "num_kv_heads: expected num_heads = 2, .* got 1"),
        ({"scale": 1.0}, "scale: expected None, .* got 1.0"),
        ({"d_k": 3}, "torch's attention has no"),
        ({"query_norm": nn.Identity()}, "torch's attention has no"),
        ({"key_norm": nn.Identity()}, "torch's attention has no"),
        ({"window": 3}, "window and sinks: expected None"),
        ({"sinks": True}, "window and sinks: expected None"),
        *[
            ({"positions": positions}, f"positions: .* got {type(positions).__name__}")
            for positions in (
                RelativePositions(d_k=4, max_distance=2),
                RelativePositions(d_k=4, max_distance=2, values=False),
                T5Buckets(num_heads=2, bidirectional=True),
                RotaryPositions(d_k=4),
                AlibiPositions(num_heads=2),
            )
        ],
    ],
)
def test_what_torchs_lacks_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        attention_to_torch(MultiHeadAttention(d_model=8, num_heads=2, **settings))


def test_what_changes_nothing_in_attention_is_let_through():
    x = torch.randn(BATCH, QUERIES, 8).double()
    for settings in ({"scale": 0.5}, {"positions": NoPositions()}):  # 1 / sqrt(d_k), written out
        ours = MultiHeadAttention(d_model=8, num_heads=2, **settings).double()
        torch.testing.assert_close(attention_to_torch(ours)(x, x, x)[0], ours(x, x, x), **EXACT)


def test_projections_that_are_partly_frozen_cannot_become_one():
    ours = our_own(SIZES[0], True)
    ours.W_k.weight.requires_grad_(False)
    with pytest.raises(ValueError, match="requires_grad: expected the same of W_q, W_k and W_v"):
        attention_to_torch(ours)
