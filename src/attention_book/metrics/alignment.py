"""Word alignment and its error rate (AER, Och and Ney 2003): which word comes from which.

A link (i, j) joins source token i with target token j.
"""

import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass

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

    Raises:
        ValueError: if there is no sentence, not as many in each argument, or a link is no pair
            of whole numbers.

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

    Raises:
        ValueError: if a number is below 1.

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
