"""The decoder block of today (Llama, Mistral, Qwen3, Gemma 3), each part switched by itself."""

from typing import Any

from torch import nn

from attention_book.attention import KVCache, MultiHeadAttention, Positions, Visibility
from attention_book.foundations.shapes import Features, HeadsMask
from attention_book.models.decoder.config import DecoderConfig
from attention_book.models.decoder.gated_feed_forward import Gate, GatedFeedForward
from attention_book.models.decoder.rms_norm import RMSNorm
from attention_book.models.transformer.feed_forward import FeedForward


class DecoderBlock(nn.Module):
    """Look back, then think: two sublayers, each with a norm before it and a sum after it.

    .. math::

        x &\\leftarrow x + \\operatorname{Attention}(\\operatorname{Norm}(x)) \\\\
        x &\\leftarrow x + \\operatorname{FeedForward}(\\operatorname{Norm}(x))

    Gemma 3 has one more norm before each sum.

    Args:
        config: The settings.
        positions: How positions enter the attention; all blocks may share it.
        window: How many tokens a token sees, itself included; None: all before it.

    Raises:
        ValueError: if the window is below 1.

    >>> import torch
    >>> from attention_book.attention import RotaryPositions
    >>> config = DecoderConfig(vocabulary=10, d_model=24)
    >>> block = DecoderBlock(config, RotaryPositions(d_k=6))
    >>> x = torch.rand(2, 5, 24)
    >>> cache = block.attention.new_cache()
    >>> pieces = [block(piece, cache=cache) for piece in x.split([3, 2], dim=1)]
    >>> torch.allclose(torch.cat(pieces, dim=1), block(x), atol=1e-6)
    True
    """

    def __init__(
        self, config: DecoderConfig, positions: Positions, *, window: int | None = None
    ) -> None:
        """Create the two sublayers and their norms."""
        super().__init__()
        self.attention_norm = create_norm(config, config.d_model)
        self.attention = _attention(config, positions, window)
        self.feed_forward_norm = create_norm(config, config.d_model)
        self.feed_forward = _feed_forward(config)
        after = config.norms_after
        self.attention_norm_after = create_norm(config, config.d_model) if after else nn.Identity()
        self.feed_forward_norm_after = (
            create_norm(config, config.d_model) if after else nn.Identity()
        )

    def forward(
        self,
        x: Features,
        mask: HeadsMask | Visibility | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Features:
        """Return one new vector for each token, from itself and those before it.

        Args:
            x: One vector for each token, (batch, token, d_model).
            mask: True where a token may be seen besides; it hides padding. With a cache its
                tokens are those of the whole text.
            cache: The tokens before; it goes on by these.
        """
        found = self.attention(self.attention_norm(x), mask=mask, is_causal=True, cache=cache)
        x = x + self.attention_norm_after(found)
        thought = self.feed_forward(self.feed_forward_norm(x))
        y: Features = x + self.feed_forward_norm_after(thought)
        return y


def create_norm(config: DecoderConfig, size: int) -> nn.Module:
    """Return a norm over vectors of this size.

    >>> create_norm(DecoderConfig(vocabulary=10), 4)
    RMSNorm(4, eps=1e-06)
    """
    if config.norm == "layer":
        return nn.LayerNorm(size, eps=config.eps)
    return RMSNorm(d_model=size, eps=config.eps, around_one=config.around_one)


def _attention(
    config: DecoderConfig, positions: Positions, window: int | None
) -> MultiHeadAttention:
    settings: dict[str, Any] = {
        "d_model": config.d_model,
        "num_heads": config.num_heads,
        "num_kv_heads": config.num_kv_heads,
        "d_k": config.head_size,
        "bias": config.bias,
        "fused": config.fused,
        "positions": positions,
        "scale": config.scale,
        "query_norm": create_norm(config, config.head_size) if config.qk_norm else None,
        "key_norm": create_norm(config, config.head_size) if config.qk_norm else None,
    }
    attention = MultiHeadAttention(window=window, **settings)
    if config.output_bias is not None:
        d_heads = config.num_heads * config.head_size
        attention.W_o = nn.Linear(d_heads, config.d_model, bias=config.output_bias)
    return attention


_GATES: dict[str, Gate] = {
    "swiglu": "silu",
    "geglu": "gelu_tanh",
    "geglu-erf": "gelu",
}


def _feed_forward(config: DecoderConfig) -> FeedForward | GatedFeedForward:
    if config.feed_forward == "relu":
        return FeedForward(d_model=config.d_model, d_ff=config.d_ff)
    return GatedFeedForward(
        d_model=config.d_model,
        d_ff=config.d_ff,
        gate=_GATES[config.feed_forward],
        bias=config.feed_forward_bias,
    )
