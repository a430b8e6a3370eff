"""Attention weights as a word alignment: the links they imply, and how close they are to gold.

Weights have the axes (target, source), as everywhere: one row for each question. A link
(i, j) joins source token i with target token j.
"""

import math
from collections.abc import Collection

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.metrics.alignment import Links, check_lengths

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

    Raises:
        ValueError: if ``weights`` has not two axes of at least one entry, or holds NaN.

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

    Raises:
        ValueError: if a number is below 1.

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

    Raises:
        ValueError: as in :func:`hard_alignment`, or if a link lies outside ``weights``.

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

    Raises:
        ValueError: as in :func:`weight_on_gold`.

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
