"""The Transformer's encoder (Vaswani et al. 2017): every source token sees the whole source."""

from attention_book.foundations.shapes import Features, Mask, TokenIds
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.config import TransformerConfig
from attention_book.models.transformer.layers import SelfAttentionLayer
from attention_book.models.transformer.stack import Stack


class Encoder(Stack):
    """Embedding, positions, and layers of self-attention over the source.

    Args:
        config: The model's settings.
        embedding: Vectors of the tokens.

    >>> import torch
    >>> from attention_book.models import Transformer
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> encoder = Transformer(config).eval().encoder
    >>> encoder(torch.tensor([[4, 5]])).shape, len(encoder.layers)
    (torch.Size([1, 2, 32]), 2)
    """

    def __init__(self, config: TransformerConfig, embedding: TokenEmbedding) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__(config, SelfAttentionLayer, looks_ahead=True)
        self.embedding = embedding

    def forward(self, tokens: TokenIds, mask: Mask | None = None) -> Features:
        """Return one vector for each token; True in ``mask`` means: may be seen."""
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        features: Features = self.norm(x)
        return features

    def embed(self, tokens: TokenIds, *, offset: int = 0) -> Features:
        """Return the tokens' vectors with their positions, counted from ``offset``."""
        return self.place(self.embedding.scaled(tokens), offset=offset)
