"""Weights that an attention tells beside its output: whether they are those, or what else."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual

#: Whether two tensors are the same up to rounding; False where the shapes differ.
Close = Callable[[Tensor, Tensor], bool]


def what_is_told(
    got: Tensor, right: Tensor, unmasked: Tensor, earlier: Iterable[Tensor], close: Close
) -> str:
    """Name what was told instead of the weights; "weights-not-used" if it is nothing usual.

    Args:
        got: what was told.
        right: the weights, (batch, head, query, key).
        unmasked: the weights if there were no mask.
        earlier: weights of calls before.
        close: compares two tensors.

    >>> right = torch.rand(1, 2, 3, 3).softmax(-1)
    >>> what_is_told(right.mT, right, right, [], torch.equal)
    'weights-transposed'
    """
    mean = right.mean(1)
    if close(got, mean) or close(got, mean[:, None]):
        return "weights-averaged"
    if any(close(got, each) for each in earlier):
        return "weights-of-another-call"
    if close(got, unmasked):
        return "weights-before-mask"
    if got.ndim == right.ndim and close(got.mT, right):
        return "weights-transposed"
    if got.is_floating_point() and (
        close(got.softmax(-1), unmasked) or close(got.softmax(-1), right)
    ):
        return "weights-before-softmax"
    return "weights-not-used"


def why_implausible(got: Tensor, real: Tensor, *, causal: bool) -> tuple[str, Bilingual] | None:
    """Say what no weights can be, whatever the layer has learned; None if nothing speaks against.

    Args:
        got: what was told of self-attention, (batch, head, place, place) if it is right.
        real: which places are no padding, (batch, place).
        causal: whether later places are hidden.

    >>> even = torch.full((1, 2, 3, 3), 1 / 3)
    >>> real = torch.ones(1, 3, dtype=torch.bool)
    >>> why_implausible(even, real, causal=False), why_implausible(even, real, causal=True)[0]
    (None, 'weights-before-mask')
    """
    b, n = real.shape
    if got.ndim != 4 or (got.shape[0], *got.shape[2:]) != (b, n, n):
        found = Bilingual(
            f"形状是 {tuple(got.shape)}，应为 ({b}, 头, {n}, {n})",
            f"shape {tuple(got.shape)}, expected ({b}, heads, {n}, {n})",
        )
        return "weights-averaged" if got.shape == (b, n, n) else "weights-not-used", found
    of_words = real[:, None, :, None]
    off = ((got.sum(-1, keepdim=True) - 1) * of_words).abs().max()
    if off > 1e-2 or got.masked_fill(~of_words, 0).min() < 0:
        by_keys = ((got.sum(-2) - 1) * real[:, None]).abs().max() <= 1e-2
        cause = "weights-transposed" if by_keys else "weights-before-softmax"
        return cause, Bilingual(
            f"各行之和与 1 最多差 {off:.3g}", f"row sums differ from 1 by up to {off:.3g}"
        )
    later = torch.ones(n, n, dtype=torch.bool, device=got.device).triu(1)
    if causal and (got * later * of_words).abs().max() > 1e-6:
        return "weights-before-mask", Bilingual("后面的位置有权重", "later places have weight")
    if (got * ~real[:, None, None] * of_words).abs().max() > 1e-6:
        return "weights-before-mask", Bilingual("填充有权重", "padding has weight")
    return None


__all__ = ["what_is_told", "why_implausible"]
