"""Positions by their name in the settings: all of a stack's own sizes, looking where it looks."""

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
from attention_book.models import LayerConfig, Transformer, TransformerConfig
from attention_book.models.transformer.layer_config import POSITION_KINDS
from attention_book.models.transformer.layer_positions import create_positions

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
    heads = torch.randn(2, 5, 7, config.d_k)
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
