"""Online softmax (Milakov and Gimelshein 2018): attention over the keys, one part at a time."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.masks import check_mask, without_hidden
from attention_book.foundations.checks import check_floating, is_strict
from attention_book.foundations.shapes import Mask, Output, Scores, Values


@dataclass(frozen=True, eq=False)
class PartialAttention:
    """What some of the keys contribute to the output of every query.

    .. math::
        m = \\max_j a_j, \\qquad s = \\sum_j e^{a_j - m}, \\qquad
        u = \\sum_j e^{a_j - m} \\, v_j

    Attention over these keys alone is u / s. Two parts are merged without their scores:
    both are brought to the larger maximum, and added. The order of merging, and how the
    keys were cut, change nothing but rounding. A part that may see nothing has the maximum
    ``-inf`` and zeros, and merging it changes nothing at all.

    Milakov & Gimelshein (2018), section 3, for m and s; Rabe & Staats (2021) carry u along.

    Attributes:
        maximum: The largest visible score of each query.
        total: The sum s, which is the softmax's denominator.
        weighted: The sum u, which is its numerator times the values.

    >>> scores, values = torch.tensor([[1.0, 3.0, 2.0]]), torch.tensor([[10.0], [20.0], [30.0]])
    >>> left = PartialAttention.of(scores[:, :1], values[:1])
    >>> right = PartialAttention.of(scores[:, 1:], values[1:])
    >>> left.merge(right).output, scores.softmax(-1) @ values
    (tensor([[21.5470]]), tensor([[21.5470]]))
    """

    maximum: Float[Tensor, "*batch query"]
    total: Float[Tensor, "*batch query"]
    weighted: Float[Tensor, "*batch query d_v"]

    @classmethod
    def of(cls, scores: Scores, values: Values, mask: Mask | None = None) -> "PartialAttention":
        """Sum up the keys of one part.

        Args:
            scores: (\\*batch, query, key); ``-inf`` hides a key just as the mask does.
            values: (\\*batch, key, d_v).
            mask: True where the query may see the key; None hides nothing.

        Raises:
            TypeError: if the scores are not floating point or the mask is not boolean.
            ValueError: if the shapes do not fit, or there is no key; in strict mode also if a
                score that can be seen is NaN or ``+inf``.
        """
        check_floating("scores and values", scores, values)
        _check_shapes(scores, values)
        if mask is not None:
            check_mask(mask, *scores.shape[-2:], batch=scores.shape[:-2], device=scores.device)
            scores = torch.where(mask, scores, -math.inf)
            (values,) = without_hidden(mask, values)
        maximum = scores.amax(dim=-1)
        if is_strict():
            _check_maximum(maximum)
        exponentials = (scores - _finite(maximum).unsqueeze(-1)).exp()
        return cls(maximum, exponentials.sum(dim=-1), exponentials @ values)

    def merge(self, other: "PartialAttention") -> "PartialAttention":
        """Return what the keys of both parts contribute together; no key may be in both.

        .. math::
            m = \\max(m_1, m_2), \\qquad s = e^{m_1 - m} s_1 + e^{m_2 - m} s_2, \\qquad
            u = e^{m_1 - m} u_1 + e^{m_2 - m} u_2
        """
        maximum = torch.maximum(self.maximum, other.maximum)
        mine = (self.maximum - _finite(maximum)).exp()
        others = (other.maximum - _finite(maximum)).exp()
        total = mine * self.total + others * other.total
        weighted = mine[..., None] * self.weighted + others[..., None] * other.weighted
        return PartialAttention(maximum, total, weighted)

    @property
    def output(self) -> Output:
        """Attention over the keys so far, u / s, exactly 0 for a query that saw nothing."""
        total = self.total.masked_fill(self.total == 0, 1.0)
        return self.weighted / total.unsqueeze(-1)

    @property
    def log_total(self) -> Float[Tensor, "*batch query"]:
        """The logarithm m + log s of the denominator, all scores counted from 0.

        From it any single weight can be computed again, as :math:`e^{a_j - (m + \\log s)}`.
        """
        return self.maximum + self.total.log()


def _check_shapes(scores: Tensor, values: Tensor) -> None:
    fits = (*scores.shape[:-2], scores.shape[-1]) == values.shape[:-1]
    if scores.ndim < 2 or not fits or scores.shape[-1] == 0:
        raise ValueError(
            "scores and values: expected the axes (*batch, query, key) and (*batch, key, d_v) "
            "with at least one key, "
            f"got the shapes {tuple(scores.shape)} and {tuple(values.shape)}"
        )


def _check_maximum(maximum: Tensor) -> None:
    """Check the scores by the largest of each query, which is NaN if one of them is."""
    below = maximum < math.inf
    if not below.all():
        got = maximum[~below][0].item()
        raise ValueError(f"scores: expected numbers below inf where seen, got {got}")


def _finite(maximum: Tensor) -> Tensor:
    """Put 0 where nothing was seen: -inf from -inf would be NaN, and 0 from -inf is -inf."""
    return maximum.masked_fill(maximum == -math.inf, 0.0)


__all__ = ["PartialAttention"]
