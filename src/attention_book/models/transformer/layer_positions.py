"""The positions of a stack of layers, by the name that its settings give them."""

from attention_book.attention import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    Positions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Buckets,
)
from attention_book.models.transformer.layer_config import LayerConfig


def create_positions(config: LayerConfig, *, looks_ahead: bool) -> Positions:
    """Return the positions of one stack of layers.

    Args:
        config: The model's settings; ``config.positions`` names the kind.
        looks_ahead: Whether a token may see later ones: in an encoder, not in a decoder.

    >>> type(create_positions(LayerConfig(positions="rotary"), looks_ahead=True)).__name__
    'RotaryPositions'
    """
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions(d_model=config.d_model)
        case "learned":
            return LearnedPositions(d_model=config.d_model, max_positions=config.max_positions)
        case "relative":
            return RelativePositions(d_k=config.d_k, max_distance=config.max_distance)
        case "buckets":
            return T5Buckets(num_heads=config.num_heads, bidirectional=looks_ahead)
        case "rotary":
            return RotaryPositions(d_k=config.d_k)
        case "alibi":
            return AlibiPositions(num_heads=config.num_heads)
        case "none":
            return NoPositions()
