"""Token embeddings, with a clear error for a number that belongs to no token."""

import math

import torch
from torch import Tensor, nn

from attention_book.foundations.checks import whole_numbers


class TokenEmbedding(nn.Embedding):
    """An ``nn.Embedding`` with a clear error for a number outside the vocabulary.

    Args:
        size: Number of different tokens.
        d_embed: Size of a token's vector.
        name: What the numbers are called in the error.

    >>> import torch
    >>> TokenEmbedding(10, 4, name="source")(torch.tensor([[2, 9]])).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, size: int, d_embed: int, *, name: str) -> None:
        """Draw the vectors as torch does."""
        super().__init__(size, d_embed)
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        """Return one vector for each token.

        Raises:
            TypeError: if they are no integers; of any size they will do.
            ValueError: if a number is not in the vocabulary: usually a model and a
                vocabulary that do not belong together.
        """
        if input.dtype not in (torch.int64, torch.int32):  # what torch can look up
            input = whole_numbers(self.name, input)
        try:
            return super().forward(input)
        except IndexError as error:
            raise ValueError(
                f"{self.name}: expected token numbers from 0 to {self.num_embeddings - 1}, got "
                f"{int(input.min())} to {int(input.max())}; "
                "do model and vocabulary belong together?"
            ) from error

    def scaled(self, input: Tensor) -> Tensor:
        """Return the vectors times the root of their length, as Vaswani et al. (2017) do.

        Drawn with a standard deviation of :math:`1 / \\sqrt{d_\\mathrm{model}}` they then have
        about 1 a feature, like the sinusoidal positions that are added to them.
        """
        vectors: Tensor = self(input)
        return vectors * math.sqrt(self.embedding_dim)
