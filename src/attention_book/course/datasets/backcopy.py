"""Bigrams with back-copying: texts in which most words give a head of attention nothing to do."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_sizes

Words = Int[Tensor, "batch position"]


@dataclass(frozen=True)
class BackcopyChain:
    """Which word follows which; after a trigger, always the word that stood before it.

    The task of Guo et al. (2024): a Markov chain of words, some of them triggers. After any
    other word the next one depends on that word alone, and to look at others cannot help.
    After a trigger, to look one place back settles it.

    Attributes:
        follows: How probable each word is after each, (word, next).
        num_triggers: The first words are the triggers.

    >>> chain = BackcopyChain.draw(generator=torch.Generator().manual_seed(0))
    >>> texts = chain.texts(3, 20, generator=torch.Generator().manual_seed(1))
    >>> after = texts[:, 1:-1] < chain.num_triggers
    >>> torch.equal(texts[:, 2:][after], texts[:, :-2][after])
    True
    """

    follows: Float[Tensor, "word next"]
    num_triggers: int

    @classmethod
    def draw(
        cls,
        num_words: int = 32,
        *,
        num_triggers: int = 4,
        share: float = 0.15,
        generator: torch.Generator | None = None,
    ) -> "BackcopyChain":
        """Draw a chain; triggers come ``share`` of the time.

        Raises:
            ValueError: if there is no trigger, or no other word.
        """
        check_sizes(num_triggers=num_triggers)
        if num_triggers >= num_words:
            raise ValueError(f"num_triggers: expected less than {num_words}, got {num_triggers}")
        logits = torch.randn(num_words, num_words, generator=generator)
        triggers, others = logits.split((num_triggers, num_words - num_triggers), dim=1)
        follows = torch.cat(
            (share * triggers.softmax(dim=1), (1 - share) * others.softmax(dim=1)), dim=1
        )
        return cls(follows, num_triggers)

    @property
    def bos(self) -> int:
        """Number of the token that may stand before a text."""
        return len(self.follows)

    def texts(
        self,
        batch: int,
        length: int,
        *,
        begin: bool = False,
        generator: torch.Generator | None = None,
    ) -> Words:
        """Draw texts of so many words, and put :attr:`bos` before each if ``begin``."""
        check_sizes(batch=batch, length=length)
        first = torch.randint(self.num_triggers, len(self.follows), (batch,), generator=generator)
        words = [first]
        for place in range(1, length):
            last = words[-1]
            drawn = torch.multinomial(self.follows[last], 1, generator=generator)[:, 0]
            copied = (last < self.num_triggers) & (place > 1)
            words.append(torch.where(copied, words[-2], drawn) if place > 1 else drawn)
        if begin:
            words.insert(0, torch.full((batch,), self.bos))
        return torch.stack(words, dim=1)

    def excess(
        self, logits: Float[Tensor, "batch guess num_words"], texts: Words, *, after: int = 20
    ) -> float:
        """Return by how much guesses after words that are no triggers lose to the chain itself.

        The mean loss less that of the true probabilities, in nats: 0 is the best there is.

        Args:
            logits: The guesses after each place of the texts.
            texts: What was read, with or without :attr:`bos`.
            after: Places before this one do not count.

        Raises:
            ValueError: if there is not one guess for each place.
        """
        if logits.shape[:2] != texts.shape:
            raise ValueError(
                f"logits: expected one guess for each place of {tuple(texts.shape)}, "
                f"got the shape {tuple(logits.shape)}"
            )
        inputs, targets = texts[:, :-1], texts[:, 1:]
        losses = F.cross_entropy(logits[:, :-1].mT, targets, reduction="none")
        best = -self.follows.log()[inputs.clamp(max=self.bos - 1), targets.clamp(max=self.bos - 1)]
        return (losses - best)[self.free(inputs, after=after)].mean().item()

    def free(self, inputs: Words, *, after: int = 0) -> Bool[Tensor, "batch position"]:
        """Return where a head has nothing to do: at words that are no triggers."""
        words = (inputs >= self.num_triggers) & (inputs < self.bos)
        return words & (torch.arange(inputs.shape[1]) >= after)
