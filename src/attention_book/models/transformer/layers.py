"""The Transformer's layers: attention and feed-forward, each with residual and norm.

A self-attention layer is a layer of an encoder, and, with ``is_causal``, of a decoder-only model
such as GPT; a decoder layer looks at a source besides.
"""

from jaxtyping import Float
from torch import Tensor

from attention_book.attention import KVCache, MultiHeadAttention, Positions
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features, Mask
from attention_book.models.transformer.add_norm import AddNorm
from attention_book.models.transformer.feed_forward import FeedForward
from attention_book.models.transformer.layer_config import LayerConfig


class SelfAttentionLayer(ResettableLayer):
    """Self-attention within one sequence, then a feed-forward network at each position.

    Vaswani et al. (2017), section 3.1: self-attention and a feed-forward network, each
    with its residual connection and layer norm.

    Args:
        config: The settings.
        positions: How positions enter the self-attention; all layers may share it.

    >>> import torch
    >>> from attention_book.attention import NoPositions
    >>> config = LayerConfig(d_model=24)
    >>> SelfAttentionLayer(config, NoPositions())(torch.ones(2, 100, 24)).shape
    torch.Size([2, 100, 24])
    """

    def __init__(self, config: LayerConfig, positions: Positions) -> None:
        """Create the two sublayers."""
        super().__init__()
        self.self_attention = _attention(config, positions)
        self.self_attention_norm = _add_norm(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_norm = _add_norm(config)

    def forward(
        self, x: Features, mask: Mask | None = None, *, is_causal: bool = False
    ) -> Features:
        """Return one new vector for each token.

        Args:
            x: One vector for each token.
            mask: True where a token may see another; it hides padding.
            is_causal: A token sees only itself and those before it.
        """
        x = self.self_attention_norm(
            x, lambda x: self.self_attention(x, x, x, mask, is_causal=is_causal)
        )
        x = self.feed_forward_norm(x, self.feed_forward)
        return x

    def step(self, x: Features, *, past: KVCache | None) -> tuple[Features, KVCache]:
        """Go on by one token, or some, that see only those before; ``past`` is left as it was.

        The rows of a causal call, those that are new.
        """
        x, grown = look_back(self.self_attention, self.self_attention_norm, x, past)
        x = self.feed_forward_norm(x, self.feed_forward)
        return x, grown


class DecoderLayer(ResettableLayer):
    """Causal self-attention, cross-attention to the source, then a feed-forward network.

    Vaswani et al. (2017), section 3.1. The source comes as the keys and values that
    :meth:`read` made of the encoder's output, once for all steps.

    Args:
        config: The settings.
        positions: How positions enter the self-attention; all layers may share it.

    >>> import torch
    >>> from attention_book.attention import NoPositions
    >>> config = LayerConfig(d_model=24)
    >>> layer = DecoderLayer(config, NoPositions()).eval()
    >>> x, source = torch.rand(2, 5, 24), layer.read(torch.rand(2, 7, 24))
    >>> at_once = layer(x, source, is_causal=True)
    >>> first, past = layer.step(x[:, :1], source, past=None)
    >>> second, past = layer.step(x[:, 1:2], source, past=past)
    >>> torch.allclose(second, at_once[:, 1:2], atol=1e-6)
    True
    """

    def __init__(self, config: LayerConfig, positions: Positions) -> None:
        """Create the three sublayers."""
        super().__init__()
        self.self_attention = _attention(config, positions)
        self.self_attention_norm = _add_norm(config)
        self.cross_attention = _attention(config, positions=None)
        self.cross_attention_norm = _add_norm(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_norm = _add_norm(config)

    def read(self, encoded: Features) -> KVCache:
        """Project the encoder's output to this layer's keys and values of the source."""
        return self.cross_attention.project(encoded, encoded)

    def forward(
        self,
        x: Features,
        source: KVCache,
        source_mask: Mask | None = None,
        *,
        is_causal: bool,
    ) -> Features:
        """Return one new vector for each token of whole targets.

        Args:
            x: One vector for each target token.
            source: What :meth:`read` made of the encoder's output.
            source_mask: True at the source's real tokens, (batch, 1, source).
            is_causal: Hide the future, as training must.
        """
        x = self.self_attention_norm(x, lambda x: self.self_attention(x, x, x, is_causal=is_causal))
        return self._look_and_think(x, source, source_mask)

    def step(
        self,
        x: Features,
        source: KVCache,
        source_mask: Mask | None = None,
        *,
        past: KVCache | None,
    ) -> tuple[Features, KVCache]:
        """Go on by one token, and return the past grown by it; ``past`` is left as it was."""
        x, grown = look_back(self.self_attention, self.self_attention_norm, x, past)
        return self._look_and_think(x, source, source_mask), grown

    def cross_weights(
        self,
        x: Features,
        source: KVCache,
        source_mask: Mask | None = None,
        *,
        is_causal: bool,
    ) -> Float[Tensor, "batch head target source"]:
        """Return where each head of the cross-attention looks; arguments as in a call."""
        x = self.self_attention_norm(x, lambda x: self.self_attention(x, x, x, is_causal=is_causal))
        queries = self.cross_attention_norm.prepare(x)
        return self.cross_attention.weights(queries, source, source_mask)

    def _look_and_think(self, x: Features, source: KVCache, source_mask: Mask | None) -> Features:
        x = self.cross_attention_norm(
            x, lambda x: self.cross_attention(x, source, mask=source_mask)
        )
        x = self.feed_forward_norm(x, self.feed_forward)
        return x


def look_back(
    attention: MultiHeadAttention, add_norm: AddNorm, x: Features, past: KVCache | None
) -> tuple[Features, KVCache]:
    """Let new tokens look at themselves and all before them; return the past grown by them.

    >>> import torch
    >>> attention, add_norm = MultiHeadAttention(d_model=8, num_heads=2), AddNorm(d_model=8)
    >>> x, past = look_back(attention, add_norm, torch.rand(1, 1, 8), None)
    >>> look_back(attention, add_norm, x, past)[1].num_keys
    2
    """
    offset = 0 if past is None else past.position
    token = add_norm.prepare(x)
    new = attention.project(token, token, offset=offset)
    grown = new if past is None else past.append(new)
    if token.shape[1] > 1:
        found = attention(token, grown, offset=offset, is_causal=True)
    else:  # all that is there came before; a window needs no mask for it
        found = attention(token, grown, offset=offset)
    return add_norm.add(x, found), grown


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
