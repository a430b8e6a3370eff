"""Word alignment, its error rate (AER, Och and Ney 2003), and attention weights as an alignment.

A link (i, j) joins source token i with target token j.
"""

import math
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

# --- links -------------------------------------------------------------------------------------


#: A sentence's alignment: its links (source, target).
Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class AlignmentScores:
    """How well predicted links agree with gold ones.

    Attributes:
        precision: The share of the predicted links that are possible; 1 if none is predicted.
        recall: The share of the sure links that are predicted; 1 if none is sure.
        error_rate: The alignment error rate, 0 (perfect) to 1.

    >>> AlignmentScores(precision=1.0, recall=0.5, error_rate=1 / 3).recall
    0.5
    """

    precision: float
    recall: float
    error_rate: float


def alignment_scores(
    predicted: Collection[tuple[int, int]],
    sure: Collection[tuple[int, int]],
    possible: Collection[tuple[int, int]] | None = None,
) -> AlignmentScores:
    """Compare a sentence's predicted links A with the gold links, sure S and possible P.

    .. math::

        \\text{precision} = \\frac{|A \\cap P|}{|A|}, \\quad
        \\text{recall} = \\frac{|A \\cap S|}{|S|}, \\quad
        \\text{AER} = 1 - \\frac{|A \\cap S| + |A \\cap P|}{|A| + |S|}

    Och and Ney (2003), section 5. Where all gold links are sure, the error rate is 1
    minus the F-score of precision and recall.

    Args:
        predicted: The links to be judged.
        sure: The gold links that must be there.
        possible: The gold links that may be there; the sure ones are counted among them
            whether repeated or not. None: only the sure ones.

    >>> gold = {(0, 0), (1, 1)}
    >>> alignment_scores({(0, 0), (1, 2)}, gold)
    AlignmentScores(precision=0.5, recall=0.5, error_rate=0.5)
    >>> alignment_scores({(0, 0), (1, 2)}, gold, possible={(1, 2)})
    AlignmentScores(precision=1.0, recall=0.5, error_rate=0.25)
    """
    return corpus_alignment_scores([predicted], [sure], None if possible is None else [possible])


def corpus_alignment_scores(
    predicted: Sequence[Collection[tuple[int, int]]],
    sure: Sequence[Collection[tuple[int, int]]],
    possible: Sequence[Collection[tuple[int, int]]] | None = None,
) -> AlignmentScores:
    """Compare the alignments of a corpus: as :func:`alignment_scores`, every link once.

    The counts are summed over all sentences before they are divided.

    Args:
        predicted: The links to be judged, sentence by sentence.
        sure: The gold links that must be there.
        possible: The gold links that may be there besides.

    >>> gold = [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    >>> corpus_alignment_scores([{(0, 1)}, gold[1]], gold)
    AlignmentScores(precision=0.75, recall=0.75, error_rate=0.25)
    """
    for name, links in (("sure", sure), ("possible", possible)):
        if links is not None and len(links) != len(predicted):
            raise ValueError(
                f"{name}: expected links for each of {len(predicted)} sentences, got {len(links)}"
            )
    if not predicted:
        raise ValueError("predicted: expected at least one sentence, got none")
    A, S = _tagged("predicted", predicted), _tagged("sure", sure)
    P = S | _tagged("possible", possible or ())
    in_sure, in_possible = len(A & S), len(A & P)
    return AlignmentScores(
        precision=in_possible / len(A) if A else 1.0,
        recall=in_sure / len(S) if S else 1.0,
        error_rate=1 - (in_sure + in_possible) / (len(A) + len(S)) if A or S else 0.0,
    )


def _tagged(
    name: str, sentences: Sequence[Collection[tuple[int, int]]]
) -> set[tuple[int, int, int]]:
    """Put the links of all sentences into one set, each with its sentence's number."""
    tagged = set()
    for number, links in enumerate(sentences):
        for link in links:
            try:
                i, j = map(operator.index, link)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{name}: expected links (source, target) for each sentence, "
                    f"got {link!r} in sentence {number}"
                ) from error
            tagged.add((number, i, j))
    return tagged


def diagonal_alignment(num_source: int, num_target: int) -> Links:
    """Return the diagonal alignment, a baseline that ignores the words: word j with word j.

    .. math:: i = \\left\\lfloor \\left(j + \\tfrac{1}{2}\\right)
        \\frac{\\text{num\\_source}}{\\text{num\\_target}} \\right\\rfloor

    Between sentences of unequal length the diagonal is stretched: the middle of a target
    word falls into exactly one source word.

    >>> sorted(diagonal_alignment(3, 3))
    [(0, 0), (1, 1), (2, 2)]
    >>> sorted(diagonal_alignment(2, 4))
    [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    check_lengths(num_source, num_target)
    # (2j + 1) n // 2m is the formula in whole numbers, without rounding errors.
    return frozenset(((2 * j + 1) * num_source // (2 * num_target), j) for j in range(num_target))


def check_lengths(num_source: int, num_target: int) -> None:
    """Refuse sentences without a word."""
    for name, number in (("num_source", num_source), ("num_target", num_target)):
        if number < 1:
            raise ValueError(f"{name}: expected 1 or more, got {number}")


# --- weights as alignments ---------------------------------------------------------------------


AlignmentWeights = Float[Tensor, "target source"]


def hard_alignment(
    weights: AlignmentWeights, *, threshold: float | None = None, ends_with_eos: bool = False
) -> Links:
    """Return the links that attention weights make: each target word's heaviest source word.

    .. math:: \\{(i, j) : i = \\operatorname{argmax}_{i'} \\alpha_{j i'}\\}

    A row without any weight makes no link; of equals the first is taken.

    Args:
        weights: Attention weights, (target, source).
        threshold: Instead of the argmax, link every pair that weighs at least so much.
        ends_with_eos: The last row and column belong to ``<eos>``, as in
            :func:`~attention_book.decoding.attention_of`. Then ``<eos>`` takes part in the
            comparison but in no link: a word that looks at it is not aligned.

    >>> weights = torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.3, 0.4]])
    >>> sorted(hard_alignment(weights))
    [(0, 0), (2, 1)]
    >>> sorted(hard_alignment(weights, threshold=0.3))
    [(0, 0), (0, 1), (1, 1), (2, 1)]
    >>> sorted(hard_alignment(weights, ends_with_eos=True))
    [(0, 0)]
    """
    _check_weights(weights)
    if threshold is not None:
        linked = weights >= threshold
    else:
        heaviest = torch.zeros_like(weights).scatter(1, weights.argmax(dim=1, keepdim=True), 1)
        linked = (heaviest > 0) & (weights > 0)
    if ends_with_eos:
        linked = linked[:-1, :-1]
    return frozenset((i, j) for j, i in linked.nonzero().tolist())


def uniform_weights(num_source: int, num_target: int) -> AlignmentWeights:
    """Return weights that look at every source word alike, (num_target, num_source).

    >>> uniform_weights(4, 2)
    tensor([[0.2500, 0.2500, 0.2500, 0.2500],
            [0.2500, 0.2500, 0.2500, 0.2500]])
    """
    check_lengths(num_source, num_target)
    return torch.full((num_target, num_source), 1 / num_source)


def weight_on_gold(weights: AlignmentWeights, gold: Collection[tuple[int, int]]) -> float:
    """Return how much of the weight lies on gold links, on average over the aligned target words.

    .. math:: \\frac{1}{|J|} \\sum_{j \\in J} \\sum_{i : (i, j) \\in G} \\alpha_{j i}

    It judges the weights themselves, not only the heaviest of each row. NaN if no target
    word is aligned.

    Args:
        weights: Attention weights, (target, source); further rows and columns (for ``<eos>``)
            are left out by having no gold link.
        gold: The gold links.

    >>> weight_on_gold(uniform_weights(4, 2), {(0, 0), (1, 1), (2, 1)})
    0.375
    """
    sources = _sources_by_target(weights, gold)
    if not sources:
        return math.nan
    mass = [sum(float(weights[j, i]) for i in linked) for j, linked in sources.items()]
    return sum(mass) / len(mass)


def offsets(weights: AlignmentWeights, gold: Collection[tuple[int, int]]) -> list[int | None]:
    """Return how far each target word's heaviest source word is from its nearest gold link.

    0 is right, 1 is one word too far to the right, -1 one too far to the left; None
    stands for a target word without a gold link. Between two gold links equally far
    away, the left one counts.

    Args:
        weights: Attention weights, (target, source), with or without ``<eos>``.
        gold: The gold links.

    >>> weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0]])
    >>> offsets(weights, {(0, 0), (1, 1)})
    [0, 1, None]
    """
    sources = _sources_by_target(weights, gold)
    heaviest = weights.argmax(dim=1).tolist()
    return [
        best - min(sources[j], key=lambda i: (abs(best - i), i)) if j in sources else None
        for j, best in enumerate(heaviest)
    ]


def _sources_by_target(
    weights: AlignmentWeights, gold: Collection[tuple[int, int]]
) -> dict[int, set[int]]:
    """Return the source words that each aligned target word is linked with."""
    _check_weights(weights)
    num_target, num_source = weights.shape
    sources: dict[int, set[int]] = {}
    for i, j in gold:
        if not (0 <= i < num_source and 0 <= j < num_target):
            raise ValueError(
                f"gold: expected links within {num_source} source and {num_target} target "
                f"tokens, got {(i, j)}"
            )
        sources.setdefault(j, set()).add(i)
    return sources


def _check_weights(weights: Tensor) -> None:
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(
            f"weights: expected the axes (target, source), got the shape {tuple(weights.shape)}"
        )
    if weights.isnan().any():
        raise ValueError("weights: expected numbers, got NaN")
