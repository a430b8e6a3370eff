"""The prefixes that a beam search keeps: ranked, and grown by one token.

Nothing here asks the model: that is ``beam.py``, step by step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import is_end
from attention_book.foundations.shapes import StepIds
from attention_book.text import SpecialIds


@dataclass(frozen=True, eq=False)
class Beams:
    """The prefixes kept for each sentence, the best first.

    A finished beam continues with ``<pad>``, which costs nothing, so all are equally long.

    Attributes:
        ids: What was written, (batch, beam, token).
        log_probs: Their log-probabilities, (batch, beam); minus infinity: no prefix.
        scores: The log-probabilities divided by the length factor, (batch, beam).
        num_tokens: How many tokens were predicted, (batch, beam).
        parents: Which beam of the step before each one continues, (batch, beam).
        special: The numbers of ``<pad>``, ``<bos>`` and ``<eos>``.
        ends: All tokens that end a sentence; none given: ``<eos>`` alone.
    """

    ids: Int[Tensor, "batch beam token"]
    log_probs: Float[Tensor, "batch beam"]
    scores: Float[Tensor, "batch beam"]
    num_tokens: Int[Tensor, "batch beam"]
    parents: Int[Tensor, "batch beam"]
    special: SpecialIds = field(default_factory=SpecialIds)
    ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Without other ends a sentence ends with ``<eos>``."""
        object.__setattr__(self, "ends", self.ends or (self.special.eos,))

    @classmethod
    def start(
        cls,
        batch: int,
        device: torch.device,
        special: SpecialIds | None = None,
        ends: tuple[int, ...] = (),
    ) -> "Beams":
        """Return one empty prefix for each sentence."""
        numbers = torch.zeros(batch, 1, dtype=torch.long, device=device)
        zeros = torch.zeros(batch, 1, device=device)
        ids = numbers[..., None][..., :0]
        return cls(ids, zeros, zeros, numbers, numbers, special or SpecialIds(), ends)

    @property
    def width(self) -> int:
        """How many beams each sentence has."""
        return self.ids.shape[1]

    @property
    def last(self) -> Int[Tensor, "batch beam"]:
        """The token that each beam ends with."""
        nothing_written = self.ids.shape[2] == 0
        begun = torch.full_like(self.parents, self.special.bos)
        return begun if nothing_written else self.ids[..., -1]

    @property
    def open(self) -> Bool[Tensor, "batch beam"]:
        """True = may go on, False = finished."""
        if self.ids.shape[2] == 0:  # also where what begins a sentence ends it too
            return self.log_probs.isfinite()
        ended = is_end(self.last, self.ends) | (self.last == self.special.pad)
        return ~ended & self.log_probs.isfinite()

    def select(self, rows: StepIds) -> "Beams":
        """Return the sentences with these numbers."""
        return self._each(lambda tensor: tensor[rows])

    def first(self, width: int) -> "Beams":
        """Return the best ``width`` beams of each sentence."""
        return self._each(lambda tensor: tensor[:, :width])

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Beams":
        changed: dict[str, Any] = {
            name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **changed)

    def hypotheses(self, length_penalty: float) -> list[list[Hypothesis]]:
        """Return each sentence's beams, the best first."""
        lists = (each.tolist() for each in (self.ids, self.log_probs, self.num_tokens))
        found = [
            [
                Hypothesis.from_predictions(
                    row[:n], log_prob, length_penalty=length_penalty, eos=self.ends
                )
                for row, log_prob, n in zip(*beams, strict=True)
                if log_prob > -torch.inf
            ]
            for beams in zip(*lists, strict=True)
        ]
        # Sorted already, but for what rounding to the model's precision hid.
        return [sorted(each, key=lambda hypothesis: -hypothesis.score) for each in found]


def continued(
    beams: Beams,
    log_probs: Float[Tensor, "batch beam vocabulary"],
    *,
    count: int,
    length_penalty: float,
) -> Beams:
    """Return the best ``count`` of all continuations of each sentence's beams."""
    # Within one beam the best words score best; the rest can go.
    gains, words = _best(log_probs, count)
    going = beams.open[..., None]
    stay = torch.full_like(gains, -torch.inf)
    stay[..., 0] = 0.0  # a finished beam has one continuation, itself
    gains, words = torch.where(going, gains, stay), torch.where(going, words, beams.special.pad)
    totals = beams.log_probs[..., None] + gains
    num_tokens = beams.num_tokens + beams.open
    factor = _factor(num_tokens.to(totals), length_penalty)
    scores = (totals / factor[..., None]).flatten(1)
    best, places = _best(scores, count)
    parents = places // gains.shape[-1]
    written = beams.ids.take_along_dim(parents[..., None], dim=1)
    return Beams(
        ids=torch.cat((written, words.flatten(1).gather(1, places)[..., None]), dim=-1),
        log_probs=totals.flatten(1).gather(1, places),
        scores=best,
        num_tokens=num_tokens.gather(1, parents),
        parents=parents,
        special=beams.special,
        ends=beams.ends,
    )


def _best(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest numbers of each row and their places, of equal ones the first.

    That is what greedy search does; ``topk`` takes any, and in half precision many are equal.
    Whether any are is asked on the CPU alone: another device would have to be waited for.
    """
    size = numbers.shape[-1]
    count = min(count, size)
    values, places = numbers.topk(min(count + 1, size))
    if numbers.is_cpu and bool((values[..., :-1] > values[..., 1:]).all()):
        return values[..., :count], places[..., :count]
    least = values[..., count - 1 : count]
    # No two with the same key: those above the least, then those equal to it, each the first first.
    first = torch.arange(size, 0, -1, dtype=torch.float32, device=numbers.device)
    keys = torch.where(numbers > least, first + size, first.where(numbers == least, 0.0))
    places = keys.topk(count).indices.sort(dim=-1).values
    values, order = numbers.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return values, places.gather(-1, order)


def _factor(num_tokens: Tensor, length_penalty: float) -> Tensor:
    """Return :func:`length_factor` of many lengths."""
    return ((5 + num_tokens) / 6) ** length_penalty


def settled(
    beams: Beams, limit: StepIds, *, num_best: int, length_penalty: float
) -> Bool[Tensor, " batch"]:
    """Return which sentences' best ``num_best`` beams can no longer change.

    An open beam's log-probability can only fall, so its score will at most be the
    one that it had if it reached the limit at no further cost.
    """
    going = beams.open
    hopes = beams.log_probs / _factor(limit.to(beams.scores), length_penalty)[:, None]
    hope = hopes.masked_fill(~going, -torch.inf).amax(dim=1)
    ended = beams.scores.masked_fill(going, -torch.inf)
    found = ended.topk(min(num_best, beams.width)).values[:, -1]
    return (found > hope) | ~going.any(dim=1) | (beams.ids.shape[2] >= limit)
