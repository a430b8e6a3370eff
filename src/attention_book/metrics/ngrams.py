"""BLEU by hand: what it counts, what it multiplies, and a variant that multiplies otherwise.

These functions are for reading. Results are reported with
:func:`~attention_book.metrics.corpus_bleu`, which is sacrebleu's.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class NgramMatches:
    """How many n-grams of a prediction its reference has too.

    Attributes:
        matches: Those that the reference has, each at most as often as there.
        total: All of the prediction's.

    >>> NgramMatches(matches=3, total=4).precision
    0.75
    """

    matches: int
    total: int

    @property
    def precision(self) -> float:
        """The modified precision :math:`p_n`; 0 where there is no n-gram."""
        return self.matches / self.total if self.total else 0.0


def ngram_matches(
    prediction: str | Sequence[str], reference: str | Sequence[str], n: int
) -> NgramMatches:
    """Count a prediction's n-grams, and those among them that the reference has.

    An n-gram that is predicted more often than it stands in the reference counts only as
    often as there ("clipped"), so repeating a right word earns nothing. Papineni et
    al. (2002), section 2.1.

    Args:
        prediction: Tokens, or a text whose tokens are separated by blanks.
        reference: As ``prediction``.
        n: How many tokens in a row are compared.

    Raises:
        ValueError: if ``n`` is below 1.
        TypeError: if a token is no text.

    >>> ngram_matches("the the the", "the cat", 1)
    NgramMatches(matches=1, total=3)
    >>> ngram_matches("il est paresseux .", "il est calme .", 2)
    NgramMatches(matches=1, total=3)
    """
    if n < 1:
        raise ValueError(f"n: expected 1 or more, got {n}")
    predicted, wanted = _ngrams(_tokens(prediction), n), _ngrams(_tokens(reference), n)
    return NgramMatches((predicted & wanted).total(), predicted.total())


def brevity_penalty(num_predicted: int, num_reference: int) -> float:
    """Return the factor that a translation loses by being short.

    .. math:: \\exp\\left(\\min\\left(0, 1 - \\frac{\\text{len}_\\text{reference}}
        {\\text{len}_\\text{prediction}}\\right)\\right)

    Papineni et al. (2002), section 2.2.2. A translation of no words gets 0.

    >>> brevity_penalty(4, 4), brevity_penalty(9, 4), round(brevity_penalty(2, 4), 3)
    (1.0, 1.0, 0.368)
    """
    if num_predicted == 0:
        return 0.0
    return math.exp(min(0.0, 1 - num_reference / num_predicted))


def d2l_bleu(
    prediction: str | Sequence[str], reference: str | Sequence[str], *, k: int = 2
) -> float:
    """Score one sentence from 0 to 1, as *Dive into Deep Learning* does.

    .. math:: \\exp\\left(\\min\\left(0, 1 - \\frac{\\text{len}_\\text{reference}}
        {\\text{len}_\\text{prediction}}\\right)\\right) \\prod_{n=1}^{k} p_n^{1/2^n}

    Standard BLEU gives every precision the power :math:`1/k` (:func:`textbook_bleu`).
    Here the powers are 1/2, 1/4, ..., whose sum is below 1, so the number is
    higher, and not comparable with BLEU anywhere else. Zhang et al. (2023), section 10.7.

    Args:
        prediction: Tokens, or a text whose tokens are separated by blanks.
        reference: As ``prediction``.
        k: The longest n-grams; of a shorter prediction only those that it has.

    Raises:
        ValueError: if the reference is empty, or ``k`` is below 1.
        TypeError: if a token is no text: several references are for :func:`corpus_bleu`.

    >>> round(d2l_bleu("il est paresseux .", "il est calme .", k=2), 3)
    0.658
    >>> d2l_bleu("va !", "va !", k=2)
    1.0
    """
    predicted, wanted = _tokens(prediction), _tokens(reference)
    _check(k=k, num_reference=len(wanted))
    score = brevity_penalty(len(predicted), len(wanted))
    for n in range(1, min(k, len(predicted)) + 1):
        score *= ngram_matches(predicted, wanted, n).precision ** (0.5**n)
    return score


def textbook_bleu(
    predictions: Sequence[str | Sequence[str]],
    references: Sequence[str | Sequence[str]],
    *,
    k: int = 4,
) -> float:
    """Score a corpus from 0 to 1 with BLEU as it was defined, without any smoothing.

    .. math:: \\text{BP} \\cdot \\Big(\\prod_{n=1}^{k} p_n\\Big)^{1/k}

    Matches and lengths are summed over the corpus before they are divided. It is
    :func:`corpus_bleu` / 100 with ``smoothing="none"``. Papineni et al. (2002), section 2.3.

    Args:
        predictions: Sentences as tokens, or as texts whose tokens are separated by blanks.
        references: One for each prediction.
        k: The longest n-grams.

    Raises:
        ValueError: if there is no sentence, or not one reference for each, or one is
            empty, or ``k`` is below 1.
        TypeError: if a token is no text: several references are for :func:`corpus_bleu`.

    >>> textbook_bleu(["il est paresseux ."], ["il est calme ."], k=2)
    0.5
    """
    if len(predictions) != len(references):
        raise ValueError(
            f"references: expected one for each of {len(predictions)} predictions, "
            f"got {len(references)}"
        )
    if not predictions:
        raise ValueError("predictions: expected at least one, got none")
    predicted, wanted = [_tokens(p) for p in predictions], [_tokens(r) for r in references]
    _check(k=k, num_reference=min(map(len, wanted)))
    precisions = []
    for n in range(1, k + 1):
        counts = [ngram_matches(p, w, n) for p, w in zip(predicted, wanted, strict=True)]
        corpus = NgramMatches(sum(c.matches for c in counts), sum(c.total for c in counts))
        precisions.append(corpus.precision)
    penalty = brevity_penalty(sum(map(len, predicted)), sum(map(len, wanted)))
    return penalty * math.prod(precisions) ** (1 / k)


def _ngrams(tokens: tuple[str, ...], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tokens[i : i + n] for i in range(len(tokens) - n + 1))


def _tokens(sentence: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(sentence, str):
        return tuple(sentence.split())
    for token in sentence:
        if not isinstance(token, str):
            raise TypeError(f"expected a text or its tokens, got {token!r} among the tokens")
    return tuple(sentence)


def _check(*, k: int, num_reference: int) -> None:
    if k < 1:
        raise ValueError(f"k: expected 1 or more, got {k}")
    if num_reference == 0:
        raise ValueError("reference: expected at least one token, got none")
