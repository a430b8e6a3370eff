"""Token numbers become vectors; a number that is no token's gets a clear error."""

from torch import Tensor, nn


class TokenEmbedding(nn.Embedding):
    """An ``nn.Embedding`` that says what is wrong with a number it doesn't know.

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
            ValueError: if a number is none of the vocabulary's: usually a model and a
                vocabulary that do not belong together.
        """
        try:
            return super().forward(input)
        except IndexError as error:
            raise ValueError(
                f"{self.name}: expected token numbers from 0 to {self.num_embeddings - 1}, got "
                f"{int(input.min())} to {int(input.max())}; "
                "do model and vocabulary belong together?"
            ) from error
