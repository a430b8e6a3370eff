"""Grouped-query attention made of multi-head attention: the mean of each group."""

import pytest
import torch

from attention_book.attention import (
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    pooled_heads,
)
from attention_book.models import add_lora, merge_lora


class Derived(MultiHeadAttention):
    """Whatever somebody makes of it."""


HEADS, D_K = 6, 2
D_MODEL = HEADS * D_K


def make(**settings):
    return MultiHeadAttention(**{"d_model": D_MODEL, "num_heads": HEADS} | settings).double()


@pytest.mark.parametrize("bias", [False, True])
def test_with_as_many_heads_nothing_changes_not_even_the_mode(bias):
    settings = {"bias": bias, "positions": RotaryPositions(d_k=D_K), "scale": 0.3}
    attention = make(**settings, dropout=0.5).eval()
    x = torch.randn(3, 7, D_MODEL, dtype=torch.float64)
    torch.testing.assert_close(pooled_heads(attention, HEADS)(x, x), attention(x, x))
    assert pooled_heads(attention.train(), 2).training


def test_keys_and_values_are_the_mean_of_their_group():
    attention = make(bias=True)
    x = torch.randn(3, 7, D_MODEL, dtype=torch.float64)
    whole = attention.project(x)
    for num_heads in (1, 2, 3):
        pooled = pooled_heads(attention, num_heads).project(x)
        for name in ("keys", "values"):
            heads = getattr(whole, name)
            expected = torch.stack([group.mean(1) for group in heads.chunk(num_heads, dim=1)], 1)
            torch.testing.assert_close(getattr(pooled, name), expected)


def test_the_trained_module_is_left_alone():
    attention = make(dropout=0.5)
    kept = {name: each.clone() for name, each in attention.state_dict().items()}
    pooled = pooled_heads(attention, 2)
    assert pooled.dropout == 0.5
    assert pooled.W_k.weight.dtype == torch.float64
    with torch.no_grad():
        for parameter in pooled.parameters():
            parameter.zero_()
    for name, each in attention.state_dict().items():
        assert torch.equal(each, kept[name])


def test_learned_positions_are_copied_too():
    positions = RelativePositions(d_k=2, max_distance=3)
    attention = MultiHeadAttention(d_model=8, num_heads=4, positions=positions)
    kept, x = positions.keys.clone(), torch.rand(1, 5, 8)
    pooled = pooled_heads(attention, 4)
    torch.testing.assert_close(pooled(x, x), attention(x, x))
    with torch.no_grad():
        pooled.positions.keys.zero_()
    assert torch.equal(positions.keys, kept)


def test_bad_input_gets_one_clear_error():
    with pytest.raises(ValueError, match="num_kv_heads: expected a divisor"):
        pooled_heads(make(), 4)
    with pytest.raises(ValueError, match=r"attention: .* d_model=12, got 5 and 12"):
        pooled_heads(make(d_key=5), 2)
    with pytest.raises(TypeError, match=r"attention: .* got a Derived"):
        pooled_heads(Derived(d_model=12, num_heads=6), 2)


@pytest.mark.parametrize("place", ["W_q", "W_k", "W_v", "W_o"])
def test_a_change_beside_a_matrix_is_to_be_merged_first(place):
    """The kind: what stands in a linear map's place and has other parameters."""
    attention, x = make(), torch.randn(3, 7, D_MODEL, dtype=torch.float64)
    add_lora(attention, [place], rank=2)
    torch.nn.init.normal_(attention.get_submodule(place).B)
    with pytest.raises(TypeError, match=rf"attention: .*{place}, got a LoRA.*merge_lora"):
        pooled_heads(attention, 2)
    merge_lora(attention)
    torch.testing.assert_close(pooled_heads(attention, HEADS)(x, x), attention(x, x))
