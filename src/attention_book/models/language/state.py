"""The state of a causal language model: the keys and values of what it has read."""

from dataclasses import dataclass

from attention_book.attention import KVCache
from attention_book.foundations.shapes import StepIds, TokenIds


@dataclass(frozen=True, eq=False)
class LanguageState:
    """Where a causal language model stands: each layer's keys and values of what it read.

    Attributes:
        batch_size: How many texts are being written.
        past: One key and one value of each token, for each layer; empty at the start.

    >>> import torch
    >>> from attention_book.models import CausalLanguageModel, LanguageModelConfig
    >>> model = CausalLanguageModel(LanguageModelConfig(vocabulary=10)).eval()
    >>> _, state = model.step(torch.tensor([2, 2]), model.start(2))
    >>> state.position, state.select(torch.tensor([1, 1, 0])).batch_size
    (1, 3)
    """

    batch_size: int
    past: tuple[KVCache, ...] = ()

    @property
    def position(self) -> int:
        """How many tokens were read, and so where the next one stands."""
        return self.past[0].position if self.past else 0

    def select(self, rows: StepIds) -> "LanguageState":
        """Return the texts with these numbers."""
        return LanguageState(len(rows), tuple(layer.select(rows) for layer in self.past))


def check_rows(tokens: TokenIds, batch_size: int) -> None:
    """Check that there is one row of tokens for each text, and something in it.

    >>> import torch
    >>> check_rows(torch.tensor([[4, 5], [6, 7]]), batch_size=2)

    Raises:
        ValueError: if not.
    """
    if tokens.ndim != 2 or tokens.shape[0] != batch_size or tokens.shape[1] == 0:
        raise ValueError(
            f"tokens: expected one row for each of {batch_size} texts, with at least one token, "
            f"got the shape {tuple(tokens.shape)}"
        )


def check_one_each(token: StepIds, batch_size: int) -> None:
    """Check that there is one token for each text.

    >>> import torch
    >>> check_one_each(torch.tensor([4, 5]), batch_size=2)

    Raises:
        ValueError: if there are not as many tokens as texts.
    """
    if token.shape != (batch_size,):
        raise ValueError(
            f"token: expected one for each of {batch_size} texts, "
            f"got the shape {tuple(token.shape)}"
        )
