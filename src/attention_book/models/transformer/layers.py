"""The Transformer's layer: attention and feed-forward, each with residual and norm.

Over itself it is a layer of an encoder; where a token sees what is before it, of a decoder-only
model such as GPT; with a source to look over at, of the decoder of 2017.
"""

from jaxtyping import Float
from torch import Tensor

from attention_book.attention import KV, KVCache, MultiHeadAttention, Positions, Visibility
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features, HeadsMask
from attention_book.models.transformer.add_norm import AddNorm
from attention_book.models.transformer.feed_forward import FeedForward
from attention_book.models.transformer.layer_config import LayerConfig


class Layer(ResettableLayer):
    """Look around, look over at a source if there is one, then pass each vector on by itself.

    Self-attention, cross-attention and a feed-forward network, each with its residual connection
    and layer norm: Vaswani et al. (2017), section 3.1 and figure 1.

    Args:
        config: The settings.
        positions: How positions enter the self-attention; all layers may share it.
        reads_source: Whether there is a cross-attention.

    >>> import torch
    >>> from attention_book.attention import NoPositions
    >>> config = LayerConfig(d_model=24)
    >>> Layer(config, NoPositions())(torch.ones(2, 100, 24)).shape
    torch.Size([2, 100, 24])
    >>> layer = Layer(config, NoPositions(), reads_source=True).eval()
    >>> x, source = torch.rand(2, 5, 24), torch.rand(2, 7, 24)
    >>> at_once, cache = layer(x, is_causal=True, source=source), layer.self_attention.new_cache()
    >>> pieces = [layer(piece, cache=cache, source=source) for piece in x.split([3, 2], dim=1)]
    >>> torch.allclose(torch.cat(pieces, dim=1), at_once, atol=1e-6)
    True
    """

    def __init__(
        self, config: LayerConfig, positions: Positions, *, reads_source: bool = False
    ) -> None:
        """Create the sublayers."""
        super().__init__()
        self.self_attention = _attention(config, positions)
        self.self_attention_norm = _add_norm(config)
        if reads_source:
            self.cross_attention = _attention(config, positions=None)
            self.cross_attention_norm = _add_norm(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_norm = _add_norm(config)

    def forward(
        self,
        x: Features,
        mask: HeadsMask | Visibility | None = None,
        *,
        is_causal: bool = False,
        cache: KVCache | None = None,
        source: Float[Tensor, "batch source d_source"] | KV | None = None,
        source_mask: HeadsMask | Visibility | None = None,
    ) -> Features:
        """Return one new vector for each token.

        Args:
            x: One vector for each token, (batch, token, d_model).
            mask: True where a token may see another; it hides padding.
            is_causal: A token sees only itself and those before it.
            cache: The tokens before; it goes on by these, which see themselves and the past.
            source: What to look over at, (batch, source, d_model), or what the cross-attention's
                ``project`` made of it, once for all calls.
            source_mask: True at the source's real tokens, (batch, 1, source).
        """
        x = self.self_attention_norm(
            x, self.self_attention, mask=mask, is_causal=is_causal, cache=cache
        )
        if source is not None:
            x = self.cross_attention_norm(x, self.cross_attention, keys=source, mask=source_mask)
        x = self.feed_forward_norm(x, self.feed_forward)
        return x


def _attention(config: LayerConfig, positions: Positions | None) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model,
        num_heads=config.num_heads,
        dropout=config.inner_dropout,
        bias=config.bias,
        positions=positions,
    )


def _feed_forward(config: LayerConfig) -> FeedForward:
    return FeedForward(
        d_model=config.d_model,
        d_ff=config.d_ff,
        dropout=config.inner_dropout,
        activation=config.activation,
        bias=config.feed_forward_bias,
    )


def _add_norm(config: LayerConfig) -> AddNorm:
    return AddNorm(
        d_model=config.d_model,
        dropout=config.dropout,
        order=config.norm,
        eps=config.eps,
        bias=config.feed_forward_bias,
    )
