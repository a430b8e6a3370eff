"""Random words that come again: texts that can be copied but not known by heart."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_sizes

Guesses = Float[Tensor, "batch target num_words"]


@dataclass(frozen=True)
class RepeatedBatch:
    """A batch of texts in which random words come again.

    Attributes:
        words: Word numbers, (batch, position).
        known: True where a word can be known, (batch, position): the word before it has
            stood in the text already, and was followed by the same word.

    >>> words = torch.tensor([[7, 3, 9, 7, 3]])
    >>> batch = RepeatedBatch(words, torch.tensor([[False, False, False, False, True]]))
    >>> batch.inputs, batch.targets
    (tensor([[7, 3, 9, 7]]), tensor([[3, 9, 7, 3]]))
    """

    words: Int[Tensor, "batch position"]
    known: Bool[Tensor, "batch position"]

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """All words but the last, which is what a language model reads."""
        return self.words[:, :-1]

    @property
    def targets(self) -> Int[Tensor, "batch target"]:
        """All words but the first, which is what it has to guess."""
        return self.words[:, 1:]

    def loss(self, logits: Guesses) -> Float[Tensor, ""]:
        """Return the mean cross-entropy of all targets, known or not, in nats.

        Raises:
            ValueError: if there is not one prediction for each target.
        """
        return self.losses(logits).mean()

    def losses(self, logits: Guesses) -> Float[Tensor, "batch target"]:
        """Return the cross-entropy of each target, in nats.

        Raises:
            ValueError: if there is not one prediction for each target.
        """
        self._check(logits)
        losses = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten(), reduction="none")
        return losses.view(self.targets.shape)

    def accuracy(self, logits: Guesses) -> float:
        """Return the fraction of the known targets that got the largest logit.

        Raises:
            ValueError: if there is not one prediction for each target.
        """
        self._check(logits)
        right = logits.argmax(dim=-1) == self.targets
        return right[self.known[:, 1:]].float().mean().item()

    def _check(self, logits: Tensor) -> None:
        if logits.shape[:-1] != self.targets.shape:
            raise ValueError(
                "logits: expected one prediction for each target, "
                f"{(*self.targets.shape, 'num_words')}, got the shape {tuple(logits.shape)}"
            )


def periodic_words(
    batch: int,
    length: int = 48,
    *,
    shortest: int = 8,
    longest: int = 20,
    num_words: int = 32,
    generator: torch.Generator | None = None,
) -> RepeatedBatch:
    """Draw texts that say the same few words over and over, in an order drawn for each text.

    Each text draws its period p, evenly from ``shortest`` to ``longest``, and p different
    words; then it repeats them up to ``length``. Nothing about a text is known beforehand,
    and from place p + 1 on (counted from 0) all is known: the word after the one just read
    has followed it before.

    Args:
        batch: How many texts.
        length: Words in each.
        shortest: The shortest period.
        longest: The longest; with ``shortest == longest`` all texts have the same.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, or not shortest <= longest <= num_words.

    >>> words = periodic_words(2, 8, shortest=3, longest=3, num_words=9).words
    >>> torch.equal(words[:, 3:], words[:, :-3])
    True
    """
    check_sizes(batch=batch, length=length, shortest=shortest)
    if not shortest <= longest <= num_words:
        raise ValueError(
            f"longest: expected a number from shortest={shortest} to num_words={num_words}, "
            f"got {longest}"
        )
    period = torch.randint(shortest, longest + 1, (batch, 1), generator=generator)
    place = torch.arange(length)
    words = _shuffled(batch, num_words, generator).gather(1, place % period)
    return RepeatedBatch(words, place > period)


def embedded_repeat(
    batch: int,
    length: int = 48,
    *,
    segment: int = 12,
    num_words: int = 32,
    generator: torch.Generator | None = None,
) -> RepeatedBatch:
    """Draw texts of random words in which one segment comes twice, and nothing else does.

    The segment has different words of its own, in an order drawn for each text. Before the
    first and between the two stand other words at random; how many stand before, and so the
    distance of the two, is drawn for each text. So no habit of counting places helps, nor of
    choosing the word not seen for longest.

    Args:
        batch: How many texts.
        length: Words in each; the second segment ends it.
        segment: Words in the segment.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, no word is left for the other places, or two segments
            are longer than a text.

    >>> text = embedded_repeat(1, 9, segment=3, num_words=8)
    >>> text.words.shape, text.known.sum()
    (torch.Size([1, 9]), tensor(2))
    """
    check_sizes(batch=batch, length=length, segment=segment)
    if segment >= num_words:
        raise ValueError(f"segment: expected less than num_words={num_words}, got {segment}")
    if 2 * segment > length:
        raise ValueError(f"segment: expected at most half of length={length}, got {segment}")
    order = _shuffled(batch, num_words, generator)
    chosen, others = order[:, :segment], order[:, segment:]
    which = torch.randint(others.shape[1], (batch, length), generator=generator)
    first = torch.randint(length - 2 * segment + 1, (batch, 1), generator=generator)
    words = others.gather(1, which).scatter(1, first + torch.arange(segment), chosen)
    words[:, -segment:] = chosen
    known = torch.arange(length) > length - segment
    return RepeatedBatch(words, known.expand(batch, -1))


def _shuffled(batch: int, num_words: int, generator: torch.Generator | None) -> Tensor:
    """Return all words in an order of its own for each text."""
    return torch.rand(batch, num_words, generator=generator).argsort(dim=-1)
