"""Stacks of layers, their dropout and positions; each layer is torch's in test_torch_modules."""

import pytest
import torch
from torch import nn

from attention_book.attention import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    Places,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Buckets,
)
from attention_book.models import (
    LayerConfig,
    LayerStack,
    Transformer,
    TransformerConfig,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.models.layers import create_positions

# --- stacks -----------------------------------------------------------------------------------


def stack_of(**settings):
    torch.manual_seed(3)
    return LayerStack(LayerConfig(d_model=20, num_heads=2, num_layers=3, **settings)).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_stack_is_positions_then_layers_then_norm(norm):
    stack, x = stack_of(norm=norm), torch.randn(2, 7, 20)
    expected = stack.positions(x)
    for layer in stack.layers:
        expected = layer(expected)
    if norm == "pre":
        expected = torch.nn.functional.layer_norm(expected, (20,))
    torch.testing.assert_close(stack(x), expected)


@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_steps_are_the_rows_of_a_call_with_the_causal_mask(positions):
    stack, x = stack_of(positions=positions), torch.randn(2, 7, 20)
    cache, rows = stack.new_cache(2), []
    for place, piece in enumerate(x.split([1, 1, 3, 2], dim=1)):
        before = cache.fork()
        rows.append(stack(piece, cache=cache))
        assert torch.equal(stack(piece, cache=before), rows[-1])
        assert cache.position == [1, 2, 5, 7][place]
    torch.testing.assert_close(torch.cat(rows, dim=1), stack(x, is_causal=True))


def test_in_training_the_positions_are_dropped_with_the_vectors():
    """Dropout is applied to the sum (Vaswani et al. 2017, section 5.4)."""
    stack, nothing = stack_of(dropout=0.5).train(), torch.zeros(2, 50, 20)
    placed, doubled = stack.place(nothing), 2 * stack.positions(nothing)
    kept = placed != 0
    torch.testing.assert_close(placed[kept], doubled[kept])
    assert 0.4 < kept.float().mean() < 0.6


def test_all_layers_share_the_positions():
    stack = stack_of(positions="relative")
    assert all(layer.self_attention.positions is stack.positions for layer in stack.layers)


# --- positions by their name -----------------------------------------------------------------

CLASSES = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "relative": RelativePositions,
    "buckets": T5Buckets,
    "rotary": RotaryPositions,
    "alibi": AlibiPositions,
    "none": NoPositions,
}


@pytest.mark.parametrize("kind", POSITION_KINDS)
def test_a_name_is_its_class_and_fits_the_layers(kind):
    config = LayerConfig(d_model=30, num_heads=5, max_distance=3, max_positions=7, positions=kind)
    positions = create_positions(config, looks_ahead=True)
    assert type(positions) is CLASSES[kind]
    assert positions(torch.randn(2, 7, 30)).shape == (2, 7, 30)
    heads = torch.randn(2, 5, 7, config.head_size)
    assert positions.rotate(heads).shape == heads.shape
    bias = positions.bias(heads, Places(heads.shape[-2], 11))
    assert (bias is None) == (kind not in ("relative", "buckets", "alibi"))
    assert bias is None or bias.expand(2, 5, 7, 11).shape == (2, 5, 7, 11)


def following(positions: T5Buckets) -> torch.Tensor:
    """The biases that the first of seven positions gives to the six after it, for each head."""
    nn.init.normal_(positions.table)
    return positions.bias(torch.zeros(1, 5, 1, 6), Places(1, 7))[0, :, 0, 1:]


def test_t5_s_buckets_tell_apart_what_follows_in_the_encoder_only():
    config = TransformerConfig(
        source_vocabulary=13, target_vocabulary=17, d_model=30, num_heads=5, positions="buckets"
    )
    model = Transformer(config)
    assert (following(model.encoder.positions).diff(dim=-1) != 0).all()
    assert (following(model.decoder.positions).diff(dim=-1) == 0).all()
