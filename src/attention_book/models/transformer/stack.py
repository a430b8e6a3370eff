"""Stacks of layers, over any vectors or over tokens."""

from collections.abc import Sequence
from typing import cast

from torch import nn

from attention_book.attention import KV, Cache, Visibility
from attention_book.attention.positions.scheme import within_attention
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features, HeadsMask, TokenIds
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.layer_config import LayerConfig
from attention_book.models.transformer.layer_positions import create_positions
from attention_book.models.transformer.layers import Layer


class LayerStack(ResettableLayer):
    """Positions, layers, and the norm that pre-norm needs at the end: over words, patches, numbers.

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
        within = within_attention(self.positions)
        self.layers = nn.ModuleList(
            Layer(config, within, reads_source=reads_source) for _ in range(config.num_layers)
        )
        self.norm = (
            nn.LayerNorm(config.d_model, eps=config.eps, bias=config.feed_forward_bias)
            if config.ends_in_norm
            else nn.Identity()
        )

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

    def place(self, vectors: Features, *, offset: int = 0) -> Features:
        """Return the vectors with their positions, counted from ``offset``."""
        features: Features = self.dropout(self.positions(vectors, offset=offset))
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
        for index, layer in enumerate(self._layers()):
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

    def new_cache(self, batch_size: int) -> Cache:
        """Return the past of texts that have not begun.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        layers = [layer.self_attention.new_cache() for layer in self._layers()]
        return Cache(layers, batch_size=batch_size)

    def _layers(self) -> list[Layer]:
        return cast("list[Layer]", list(self.layers))


class TokenStack(LayerStack):
    """A stack over tokens: the Transformer's encoder, and its decoder.

    Args:
        config: The settings.
        embedding: Vectors of the tokens, scaled as Vaswani et al. (2017) do.
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

    def embed(self, tokens: TokenIds, *, offset: int = 0) -> Features:
        """Return the tokens' vectors with their positions, counted from ``offset``."""
        return self.place(self.embedding.scaled(tokens), offset=offset)
