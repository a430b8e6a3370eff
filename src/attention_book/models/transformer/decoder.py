"""The Transformer's decoder (Vaswani et al. 2017): it sees the words so far, and the source."""

from typing import cast

from jaxtyping import Float
from torch import Tensor

from attention_book.attention import KVCache
from attention_book.foundations.shapes import Features, StepIds, TokenIds
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.config import TransformerConfig
from attention_book.models.transformer.layers import DecoderLayer
from attention_book.models.transformer.stack import Stack
from attention_book.models.transformer.state import TransformerMemory, TransformerState


class Decoder(Stack):
    """Embedding, positions, and layers that look back at the target and over at the source.

    Args:
        config: The model's settings.
        embedding: Vectors of the tokens.

    >>> import torch
    >>> from attention_book.models import Transformer
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> model, source = Transformer(config).eval(), torch.tensor([[4, 5, 3]])
    >>> model.decoder(torch.tensor([[2, 7]]), model.encode(source, source > 0)).shape
    torch.Size([1, 2, 32])
    """

    def __init__(self, config: TransformerConfig, embedding: TokenEmbedding) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__(config, DecoderLayer, looks_ahead=False)
        self.embedding = embedding

    def read(self, encoded: Features) -> tuple[KVCache, ...]:
        """Project the encoder's output to every layer's keys and values, once for all steps."""
        return tuple(layer.read(encoded) for layer in self._layers())

    def forward(self, tokens: TokenIds, memory: TransformerMemory) -> Features:
        """Return one vector for each token of whole targets; none sees a later one."""
        x = self.embed(tokens)
        for layer, source in zip(self._layers(), memory.layers, strict=True):
            x = layer(x, source, memory.mask, is_causal=True)
        features: Features = self.norm(x)
        return features

    def step(self, token: StepIds, state: TransformerState) -> tuple[Features, TransformerState]:
        """Go on by one token of each target; ``state`` is left as it was.

        Only the new token is computed: the past is in the state, as keys and values.
        """
        memory = state.memory
        x, past = self.embed(token[:, None], offset=state.position), []
        for index, layer in enumerate(self._layers()):
            before = state.past[index] if state.past else None
            x, grown = layer.step(x, memory.layers[index], memory.mask, past=before)
            past.append(grown)
        features: Features = self.norm(x)
        return features, TransformerState(memory, tuple(past), state.position + 1)

    def cross_weights(
        self, tokens: TokenIds, memory: TransformerMemory
    ) -> Float[Tensor, "batch head target source"]:
        """Return where each head of the last layer's cross-attention looks."""
        *below, last = self._layers()
        x = self.embed(tokens)
        for layer, source in zip(below, memory.layers, strict=False):
            x = layer(x, source, memory.mask, is_causal=True)
        return last.cross_weights(x, memory.layers[-1], memory.mask, is_causal=True)

    def embed(self, tokens: TokenIds, *, offset: int = 0) -> Features:
        """Return the tokens' vectors with their positions, counted from ``offset``."""
        return self.place(self.embedding.scaled(tokens), offset=offset)

    def _layers(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.layers))
