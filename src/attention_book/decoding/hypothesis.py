"""A hypothesis: a sentence that a search found, with the score that ranks it."""

from collections.abc import Sequence
from dataclasses import dataclass

from attention_book.text import EOS


@dataclass(frozen=True)
class Hypothesis:
    """A sentence as a search wrote it.

    Attributes:
        ids: The words' numbers, without ``<bos>`` and ``<eos>``, or whatever ended it.
        log_prob: The sum of the log-probabilities of the words, and of ``<eos>`` if
            the sentence has one.
        finished: Whether the sentence ended with ``<eos>``; False: it was cut off.
        score: What searches rank by: ``log_prob`` divided by :func:`length_factor`.

    >>> hypothesis = Hypothesis(ids=(7, 5), log_prob=-1.5, finished=True, score=-1.5)
    >>> hypothesis.num_tokens
    3
    """

    ids: tuple[int, ...]
    log_prob: float
    finished: bool
    score: float

    @property
    def num_tokens(self) -> int:
        """How many predictions ``log_prob`` sums over: the words, and ``<eos>`` if there."""
        return len(self.ids) + self.finished

    @classmethod
    def from_predictions(
        cls,
        predictions: Sequence[int],
        log_prob: float,
        *,
        length_penalty: float = 0.0,
        eos: int | tuple[int, ...] = EOS,
    ) -> "Hypothesis":
        """Return the sentence that the predictions spell; what follows an ``<eos>`` is ignored.

        >>> Hypothesis.from_predictions([7, 5, 3, 0, 0], -1.5)
        Hypothesis(ids=(7, 5), log_prob=-1.5, finished=True, score=-1.5)
        """
        ends = eos if isinstance(eos, tuple) else (eos,)
        first = next((i for i, word in enumerate(predictions) if word in ends), None)
        finished, ids = first is not None, tuple(predictions[:first])
        score = log_prob / length_factor(len(ids) + finished, length_penalty)
        return cls(ids, log_prob, finished, score)


def length_factor(num_tokens: int, length_penalty: float) -> float:
    """Return what a log-probability is divided by, so that long sentences can win.

    .. math:: \\operatorname{lp}(Y) = \\left(\\frac{5 + |Y|}{6}\\right)^{\\alpha}

    Every word makes a sentence less probable, so the most probable sentence tends to
    be too short. Wu et al. (2016), equation 14.

    Args:
        num_tokens: The number of predictions :math:`|Y|`, ``<eos>`` included.
        length_penalty: The exponent :math:`\\alpha`; with 0 the factor is 1.

    >>> length_factor(7, 0.0), length_factor(7, 1.0)
    (1.0, 2.0)
    """
    factor: float = ((5 + num_tokens) / 6) ** length_penalty
    return factor
