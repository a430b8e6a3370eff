"""Stacks of layers, shared by encoder, decoder, language models and others."""

from collections.abc import Callable
from typing import cast

from torch import nn

from attention_book.attention import KVCache, Positions
from attention_book.attention.positions.scheme import within_attention
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features, Mask
from attention_book.models.transformer.layer_config import LayerConfig
from attention_book.models.transformer.layer_positions import create_positions
from attention_book.models.transformer.layers import SelfAttentionLayer

#: Makes a layer of the settings and the positions that all layers share.
CreateLayer = Callable[[LayerConfig, Positions], nn.Module]


class Stack(ResettableLayer):
    """Positions, layers, and the norm that pre-norm needs at the end; a subclass runs them.

    Args:
        config: The settings.
        layer: Creates a layer.
        looks_ahead: Whether a position may see later ones: some positions depend on it.

    >>> len(Stack(LayerConfig(num_layers=3), SelfAttentionLayer, looks_ahead=True).layers)
    3
    """

    def __init__(self, config: LayerConfig, layer: CreateLayer, *, looks_ahead: bool) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__()
        self.positions = create_positions(config, looks_ahead=looks_ahead)
        self.dropout = nn.Dropout(config.dropout)
        within = within_attention(self.positions)
        self.layers = nn.ModuleList(layer(config, within) for _ in range(config.num_layers))
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

    def place(self, vectors: Features, *, offset: int = 0) -> Features:
        """Return the vectors with their positions, counted from ``offset``."""
        features: Features = self.dropout(self.positions(vectors, offset=offset))
        return features


class LayerStack(Stack):
    """Layers of self-attention over any vectors: words, patches, measurements.

    Args:
        config: The settings.
        looks_ahead: Whether a position may see later ones; where it may not, the caller
            says ``is_causal``.

    >>> import torch
    >>> stack = LayerStack(LayerConfig(d_model=24))
    >>> stack(torch.ones(2, 7, 24)).shape
    torch.Size([2, 7, 24])
    """

    def __init__(self, config: LayerConfig, *, looks_ahead: bool = True) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__(config, SelfAttentionLayer, looks_ahead=looks_ahead)

    def step(
        self, vectors: Features, past: tuple[KVCache, ...] = ()
    ) -> tuple[Features, tuple[KVCache, ...]]:
        """Go on by one position that sees those before it, and return the past grown by it.

        The law: the rows of a causal call, one at a time.

        Args:
            vectors: One for each example, (batch, 1, d_model).
            past: Each layer's keys and values so far, left as they were; none at the start.

        Raises:
            ValueError: if there is more than one vector for an example: the first would see
                the others.
        """
        if vectors.ndim != 3 or vectors.shape[1] != 1:
            raise ValueError(
                "vectors: expected one for each example, (batch, 1, d_model), "
                f"got the shape {tuple(vectors.shape)}"
            )
        return self.read(vectors, past)

    def read(
        self, vectors: Features, past: tuple[KVCache, ...] = ()
    ) -> tuple[Features, tuple[KVCache, ...]]:
        """Go on by some positions, each of which sees itself and those before it.

        Args:
            vectors: (batch, position, d_model), those that follow.
            past: As in :meth:`step`.
        """
        x, grown = self.place(vectors, offset=past[0].position if past else 0), []
        for index, layer in enumerate(cast("list[SelfAttentionLayer]", list(self.layers))):
            x, seen = layer.step(x, past=past[index] if past else None)
            grown.append(seen)
        features: Features = self.norm(x)
        return features, tuple(grown)

    def forward(
        self, vectors: Features, mask: Mask | None = None, *, is_causal: bool = False
    ) -> Features:
        """Return one new vector for each.

        Args:
            vectors: (batch, position, d_model).
            mask: True where a position may see another.
            is_causal: A position sees only itself and those before it.
        """
        x = self.place(vectors)
        for layer in self.layers:
            x = layer(x, mask, is_causal=is_causal)
        features: Features = self.norm(x)
        return features
