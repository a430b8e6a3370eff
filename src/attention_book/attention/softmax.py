"""Masked softmax: a softmax that respects a mask, even where nothing may be seen."""

import math

from attention_book.attention.masks import check_mask
from attention_book.foundations.checks import check_floating, is_strict, reject_where
from attention_book.foundations.shapes import Mask, Scores, Weights


def masked_softmax(scores: Scores, mask: Mask | None = None) -> Weights:
    """Turn scores into weights, with weight exactly 0 for every hidden key.

    .. math:: \\alpha_{ij} = \\frac{m_{ij} \\exp(a_{ij})}{\\sum_l m_{il} \\exp(a_{il})}

    A score of ``-inf`` hides its key just as the mask does. A query that may see
    nothing gets weight 0 everywhere, and gradients stay finite: the usual fill
    with ``-inf`` alone would give NaN there, and a fill with -1e9 would attend to
    padding.

    Args:
        scores: One number for each query and key.
        mask: True where the query may see the key; None hides nothing.

    Returns:
        Weights of the shape of ``scores``; each row sums to 1, or to 0 where the
        query may see nothing. ``scores`` itself is left as it was.

    Raises:
        TypeError: if ``scores`` is not floating point or ``mask`` not boolean.
        ValueError: if there are no keys, or if ``mask`` does not broadcast; in strict mode
            also if a score that can be seen is NaN or ``+inf``.

    >>> import torch
    >>> scores = torch.zeros(2, 3)
    >>> masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    _check(scores, mask)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    nothing = (scores == -math.inf).all(dim=-1, keepdim=True)  # a query that may see no key
    return scores.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


def _check(scores: Scores, mask: Mask | None) -> None:
    check_floating("scores", scores)
    if scores.ndim < 2 or scores.shape[-1] == 0:
        raise ValueError(
            "scores: expected the axes (*batch, query, key) with at least one key, "
            f"got the shape {tuple(scores.shape)}"
        )
    if mask is not None:
        check_mask(mask, *scores.shape[-2:], batch=scores.shape[:-2], device=scores.device)
    if is_strict():
        seen = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        reject_where(~(seen < math.inf), scores, "scores", "numbers below inf where seen")
