"""The Transformer's layer, and stacks of it: over any vectors, or over tokens."""

from collections.abc import Sequence
from functools import partial
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention import (
    KV,
    AlibiPositions,
    Cache,
    KVCache,
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    Positions,
    RelativePositions,
    SinusoidalPositions,
    T5Buckets,
    Visibility,
)
from attention_book.attention.positions.scheme import adds_to_input, within_attention
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features, HeadsMask, Offset, TokenIds
from attention_book.models.config import LayerConfig
from attention_book.models.parts import AddNorm, FeedForward, TokenEmbedding, create_norm


class Layer(ResettableLayer):
    """Look around, look over at a source if there is one, then pass each vector on by itself.

    Self-attention, cross-attention and a feed-forward network, each with its residual connection
    and norm: Vaswani et al. (2017), section 3.1 and figure 1. Over itself it is a layer of an
    encoder; where a token sees what is before it, of a decoder-only model (GPT, Llama); with a
    source to look over at, of the decoder of 2017.

    Args:
        config: The settings.
        positions: How positions enter the self-attention; all layers may share it.
        window: How many tokens a token sees to a side, itself included; None: all.
        reads_source: Whether there is a cross-attention.

    >>> import torch
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
        self,
        config: LayerConfig,
        positions: Positions,
        *,
        window: int | None = None,
        reads_source: bool = False,
    ) -> None:
        """Create the sublayers."""
        super().__init__()
        added = partial(
            AddNorm,
            d_model=config.d_model,
            dropout=config.dropout,
            order=config.norm,
            kind=config.norm_kind,
            eps=config.eps,
            bias=config.norm_bias,
            around_one=config.around_one,
        )
        self.self_attention = _attention(config, positions, window=window, sinks=config.sinks)
        self.self_attention_norm = added()
        if reads_source:
            self.cross_attention = _attention(config)
            self.cross_attention_norm = added()
        self.feed_forward = FeedForward(
            d_model=config.d_model,
            d_ff=config.d_ff,
            kind=config.feed_forward,
            dropout=config.inner_dropout,
            bias=config.feed_forward_bias,
        )
        self.feed_forward_norm = added()

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


class LayerStack(ResettableLayer):
    """Positions, layers, and a last norm where the layers have none: over words, patches, numbers.

    Args:
        config: The settings.
        looks_ahead: Whether a position may see later ones: some positions depend on it. Where it
            may not, the caller says ``is_causal``, or gives a cache.
        reads_source: Whether the layers look over at a source.

    >>> import torch
    >>> stack = LayerStack(LayerConfig(d_model=24))
    >>> stack(torch.ones(2, 7, 24)).shape
    torch.Size([2, 7, 24])
    """

    def __init__(
        self, config: LayerConfig, *, looks_ahead: bool = True, reads_source: bool = False
    ) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__()
        self.positions = create_positions(config, looks_ahead=looks_ahead)
        self.dropout = nn.Dropout(config.dropout)
        everywhere = nearby = within_attention(self.positions)
        if config.positions == "rotary" and config.windowed_rotary is not None:
            nearby = config.windowed_rotary.positions(config.head_size)
        self.layers = nn.ModuleList()
        for window in config.windows or (None,) * config.num_layers:
            positions = everywhere if window is None else nearby
            self.layers.append(Layer(config, positions, window=window, reads_source=reads_source))
        self.norm = _norm(config, config.d_model) if config.ends_in_norm else nn.Identity()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, as the constructor does: those of the positions first."""
        draw = getattr(self.positions, "reset_parameters", None)
        if draw is not None:
            draw()
        super().reset_parameters()

    def forward(
        self,
        vectors: Features,
        mask: HeadsMask | Visibility | None = None,
        *,
        is_causal: bool = False,
        cache: Cache | None = None,
    ) -> Features:
        """Return one new vector for each.

        Args:
            vectors: (batch, position, d_model).
            mask: True where a position may see another.
            is_causal: A position sees only itself and those before it.
            cache: The positions before; it goes on by these, which see themselves and the past.
        """
        x = self.place(vectors, offset=0 if cache is None else cache.position)
        return self.run(x, mask, is_causal=is_causal, cache=cache)

    def place(
        self, vectors: Features, *, offset: Offset = 0, places: TokenIds | None = None
    ) -> Features:
        """Return the vectors with their positions, if these enter here.

        Args:
            vectors: (batch, position, d_model).
            offset: Position of the first.
            places: Position of each, (batch, position), where rows begin at several places.
        """
        if places is not None and adds_to_input(self.positions):
            nothing = vectors.new_zeros(1, int(offset) + vectors.shape[1], vectors.shape[2])
            vectors = vectors + self.positions(nothing)[0][places]
        else:
            vectors = self.positions(vectors, offset=offset)
        features: Features = self.dropout(vectors)
        return features

    def run(
        self,
        x: Features,
        mask: HeadsMask | Visibility | None = None,
        *,
        is_causal: bool = False,
        cache: Cache | None = None,
        sources: Sequence[KV] = (),
        source_mask: HeadsMask | Visibility | None = None,
    ) -> Features:
        """Take vectors that have their positions through the layers.

        Args:
            x: What :meth:`place` returns.
            mask: As in a call.
            is_causal: As in a call.
            cache: As in a call.
            sources: For each layer what :meth:`project` made of a source.
            source_mask: What of the source may be seen.
        """
        for index, layer in enumerate(self.layers):
            x = layer(
                x,
                mask,
                is_causal=is_causal,
                cache=None if cache is None else cache.layers[index],
                source=sources[index] if sources else None,
                source_mask=source_mask,
            )
        features: Features = self.norm(x)
        return features

    def project(self, encoded: Features) -> tuple[KV, ...]:
        """Return a source's keys and values for every layer's cross-attention, once for all steps.

        >>> import torch
        >>> stack = LayerStack(LayerConfig(d_model=24), reads_source=True)
        >>> len(stack.project(torch.ones(2, 7, 24)))
        2
        """
        return tuple(layer.cross_attention.project(encoded) for layer in self._layers())

    def new_cache(self, batch_size: int, *, max_tokens: int | None = None) -> Cache:
        """Return the past of texts that have not begun; with ``max_tokens``, of fixed size.

        Raises:
            ValueError: if ``batch_size`` or ``max_tokens`` is below 1.
        """
        attentions = [layer.self_attention for layer in self._layers()]
        layers = [each.new_cache(max_tokens=max_tokens) for each in attentions]
        return Cache(layers, batch_size=batch_size)

    def _layers(self) -> list[Layer]:
        return cast("list[Layer]", list(self.layers))


class TokenStack(LayerStack):
    """A stack over tokens: an encoder, a decoder, a language model but for its output layer.

    Args:
        config: The settings.
        embedding: Vectors of the tokens, scaled.
        looks_ahead: Whether a token may see later ones.
        reads_source: Whether the layers look over at a source.

    >>> import torch
    >>> from attention_book.models import Transformer, TransformerConfig
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> encoder = Transformer(config).eval().encoder
    >>> encoder(torch.tensor([[4, 5]])).shape, len(encoder.layers)
    (torch.Size([1, 2, 32]), 2)
    """

    def __init__(
        self,
        config: LayerConfig,
        embedding: TokenEmbedding,
        *,
        looks_ahead: bool,
        reads_source: bool = False,
    ) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__(config, looks_ahead=looks_ahead, reads_source=reads_source)
        self.embedding = embedding

    def forward(
        self,
        tokens: TokenIds,
        mask: HeadsMask | Visibility | None = None,
        *,
        is_causal: bool = False,
        cache: Cache | None = None,
        sources: Sequence[KV] = (),
        source_mask: HeadsMask | Visibility | None = None,
    ) -> Features:
        """Return one vector for each token.

        Arguments as of :meth:`~attention_book.models.LayerStack.run`.
        """
        x = self.embed(tokens, offset=0 if cache is None else cache.position)
        return self.run(
            x,
            mask,
            is_causal=is_causal,
            cache=cache,
            sources=sources,
            source_mask=source_mask,
        )

    def embed(
        self, tokens: TokenIds, *, offset: Offset = 0, places: TokenIds | None = None
    ) -> Features:
        """Return the tokens' vectors with their positions, as ``place`` counts them."""
        return self.place(self.embedding.scaled(tokens), offset=offset, places=places)


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
            return RelativePositions(d_k=config.head_size, max_distance=config.max_distance)
        case "buckets":
            return T5Buckets(num_heads=config.num_heads, bidirectional=looks_ahead)
        case "rotary":
            return config.rotary.positions(config.head_size)
        case "alibi":
            return AlibiPositions(num_heads=config.num_heads)
        case "none":
            return NoPositions()


def _norm(config: LayerConfig, size: int) -> nn.Module:
    return create_norm(
        config.norm_kind,
        size,
        eps=config.eps,
        bias=config.norm_bias,
        around_one=config.around_one,
    )


def _attention(
    config: LayerConfig,
    positions: Positions | None = None,
    *,
    window: int | None = None,
    sinks: bool = False,
) -> MultiHeadAttention:
    attention = MultiHeadAttention(
        d_model=config.d_model,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        d_k=config.head_size,
        dropout=config.inner_dropout,
        bias=config.bias,
        positions=positions,
        scale=config.scale,
        query_norm=_norm(config, config.head_size) if config.qk_norm else None,
        key_norm=_norm(config, config.head_size) if config.qk_norm else None,
        window=window,
        sinks=sinks,
    )
    if config.output_bias is not None:
        d_heads = config.num_heads * config.head_size
        attention.W_o = nn.Linear(d_heads, config.d_model, bias=config.output_bias)
    return attention
