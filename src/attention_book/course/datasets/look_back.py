"""A task in which only the order matters: name the word a fixed number of places back."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_sizes


@dataclass(frozen=True)
class LookBackBatch:
    """A batch of :func:`look_back_task`: random words, of which each place asks for an earlier one.

    Attributes:
        words: Word numbers, (batch, position).
        distance: Position i asks for the word at i - distance; the first ``distance``
            positions have nothing to ask for and do not count.

    >>> LookBackBatch(torch.tensor([[7, 3, 9, 5]]), distance=2).answer
    tensor([[7, 3]])
    """

    words: Int[Tensor, "batch position"]
    distance: int

    @property
    def answer(self) -> Int[Tensor, "batch asking"]:
        """The word asked for at the positions ``distance``, ``distance + 1``, …"""
        return self.words[:, : -self.distance]

    def loss(self, logits: Float[Tensor, "batch position num_words"]) -> Float[Tensor, ""]:
        """Return the mean cross-entropy over the positions that ask, in nats.

        Raises:
            ValueError: if there is not one prediction for each word.
        """
        return F.cross_entropy(self._asking(logits).flatten(0, 1), self.answer.flatten())

    def accuracy(self, logits: Float[Tensor, "batch position num_words"]) -> float:
        """Return the fraction of asking positions whose largest logit is the right word.

        Raises:
            ValueError: if there is not one prediction for each word.
        """
        return (self._asking(logits).argmax(dim=-1) == self.answer).float().mean().item()

    def _asking(self, logits: Tensor) -> Tensor:
        if logits.shape[:-1] != self.words.shape:
            raise ValueError(
                f"logits: expected one prediction for each word, {(*self.words.shape, 'num_words')}"
                f", got the shape {tuple(logits.shape)}"
            )
        return logits[:, self.distance :]


def look_back_task(
    batch: int,
    length: int,
    distance: int,
    *,
    num_words: int = 20,
    generator: torch.Generator | None = None,
) -> LookBackBatch:
    """Draw sequences of random words; every position asks for the word ``distance`` back.

    The words are independent and all equally likely. So no word tells anything about
    another, and an attention that is to answer must look at the right *place*.

    Args:
        batch: How many sequences.
        length: Words in each.
        distance: How many places back the answer stands.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, or ``distance`` leads out of every sequence.

    >>> task = look_back_task(1, 6, 2, generator=torch.Generator().manual_seed(0))
    >>> task.words, task.answer
    (tensor([[ 4, 19, 13,  0,  3, 19]]), tensor([[ 4, 19, 13,  0]]))
    """
    check_sizes(batch=batch, length=length, distance=distance, num_words=num_words)
    if distance >= length:
        raise ValueError(f"distance: expected less than length={length}, got {distance}")
    words = torch.randint(num_words, (batch, length), generator=generator)
    return LookBackBatch(words, distance)
