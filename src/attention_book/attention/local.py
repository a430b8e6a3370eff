"""Local attention (local-m and local-p): a query sees only a window of the keys.

Local or global says *which* keys may be seen, soft or hard says *how* they are
combined. Both layers here are soft attention through a window.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.masks import check_mask, window_mask, without_hidden
from attention_book.attention.scores import Score
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.checks import (
    check_features,
    check_queries_keys,
    check_radius,
    check_score,
    check_sizes,
    check_values,
)
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values, Weights


class LocalAttention(nn.Module):
    """Soft attention to the keys near the query's own position ("local-m").

    .. math:: \\alpha_{ij} = \\operatorname{softmax}_j a(q_i, k_j)
        \\quad \\text{over } |i - j| \\le \\text{radius}

    Query i stands at key i, however many there are of either. Luong et al. (2015), section 3.2.

    Args:
        score: A scoring function, for example
            :class:`~attention_book.attention.ScaledDotScore`.
        radius: The furthest distance that can be seen; 0 leaves the own position.
        causal: Also hide the keys that come after the query.

    Raises:
        ValueError: if the radius is negative.

    >>> from attention_book.attention import DotScore
    >>> LocalAttention(DotScore(), radius=1).weights(torch.ones(4, 2), torch.ones(4, 2))
    tensor([[0.5000, 0.5000, 0.0000, 0.0000],
            [0.3333, 0.3333, 0.3333, 0.0000],
            [0.0000, 0.3333, 0.3333, 0.3333],
            [0.0000, 0.0000, 0.5000, 0.5000]])
    """

    def __init__(self, score: Score, *, radius: int, causal: bool = False) -> None:
        """Keep the score and the window."""
        super().__init__()
        check_score(score)
        check_radius(radius, smallest=0)
        self.score = score
        self.radius = radius
        self.causal = causal

    def weights(self, queries: Queries, keys: Keys, mask: Mask | None = None) -> Weights:
        """Return the weights: 0 outside the window and where the mask hides a key."""
        check_queries_keys(queries, keys)
        num_queries, num_keys = queries.shape[-2], keys.shape[-2]
        window = window_mask(
            num_queries, num_keys, radius=self.radius, causal=self.causal, device=keys.device
        )
        if mask is not None:
            check_mask(mask, num_queries, num_keys, batch=keys.shape[:-2], device=keys.device)
            window = window & mask
        return masked_softmax(self.score(queries, keys), window)

    def forward(
        self, queries: Queries, keys: Keys, values: Values, mask: Mask | None = None
    ) -> Output:
        """Return one weighted average of the values in the window for each query."""
        check_values(keys, values)
        weights = self.weights(queries, keys, mask)
        (values,) = without_hidden(mask, values)
        return weights @ values


class PredictiveLocalAttention(nn.Module):
    """Soft attention around a position that the query predicts ("local-p").

    .. math::

        p &= S \\cdot \\operatorname{sigmoid}(v_p^\\top \\tanh(W_p q)) \\\\
        \\alpha_j &= \\operatorname{softmax}_j a(q, k_j)
        \\cdot \\exp\\left( -\\frac{(j - p)^2}{2 \\sigma^2} \\right)
        \\quad \\text{over } |j - p| \\le D, \\\\
        \\sigma &= D / 2

    Here D is the radius and S the length of the source. The softmax runs over the
    window; the Gaussian on top is not normalized again, as in the paper, so the
    weights of a query sum to *less* than 1. It is through the Gaussian that p is
    learned: the edge of the window has no gradient.

    Luong et al. (2015), equations 9 and 10.

    Args:
        score: A scoring function, for example
            :class:`~attention_book.attention.ScaledDotScore`.
        d_q: Feature size of the queries.
        d_hidden: Width of the predictor's hidden layer.
        radius: Half the width of the window, at least 1.

    Raises:
        ValueError: if the radius is less than 1, for the Gaussian needs a width.

    >>> from attention_book.attention import DotScore
    >>> attention = PredictiveLocalAttention(DotScore(), d_q=2, d_hidden=3, radius=2)
    >>> queries, keys = torch.zeros(1, 2), torch.zeros(5, 2)
    >>> attention.predict_positions(queries, num_keys=5).detach()
    tensor([2.5000])
    >>> attention.weights(queries, keys).detach()
    tensor([[0.0000, 0.0812, 0.2206, 0.2206, 0.0812]])
    """

    def __init__(self, score: Score, *, d_q: int, d_hidden: int, radius: int) -> None:
        """Keep the score, and create the predictor, without biases."""
        super().__init__()
        check_score(score)
        check_sizes(d_q=d_q, d_hidden=d_hidden)
        check_radius(radius, smallest=1)
        self.score = score
        self.radius = radius
        self.W_p = nn.Linear(d_q, d_hidden, bias=False)
        self.v_p = nn.Linear(d_hidden, 1, bias=False)

    def predict_positions(
        self, queries: Queries, num_keys: int, mask: Mask | None = None
    ) -> Float[Tensor, "*batch query"]:
        """Return the position p, between 0 and S, for each query (equation 9).

        Args:
            queries: What the position is predicted from.
            num_keys: How many keys there are.
            mask: The source ends with the last key it shows: S is the number of
                keys up to there. None shows them all.
        """
        check_features("queries", queries, self.W_p.in_features)
        share = torch.sigmoid(self.v_p(torch.tanh(self.W_p(queries))))
        if mask is None:
            return (num_keys * share).squeeze(-1)
        counted = torch.arange(1, num_keys + 1, device=queries.device)
        lengths = (mask * counted).amax(dim=-1, keepdim=True)
        return (lengths * share).squeeze(-1)

    def weights(self, queries: Queries, keys: Keys, mask: Mask | None = None) -> Weights:
        """Return softmax over the window, times the Gaussian around p (equation 10)."""
        check_queries_keys(queries, keys)
        num_queries, num_keys = queries.shape[-2], keys.shape[-2]
        if mask is not None:
            check_mask(mask, num_queries, num_keys, batch=keys.shape[:-2], device=keys.device)
        centers = self.predict_positions(queries, num_keys, mask).unsqueeze(-1)
        distances = torch.arange(num_keys, device=keys.device) - centers
        window = distances.abs() <= self.radius
        seen = window if mask is None else window & mask
        soft = masked_softmax(self.score(queries, keys), seen)
        sigma = self.radius / 2
        return soft * torch.exp(-(distances**2) / (2 * sigma**2))

    def forward(
        self, queries: Queries, keys: Keys, values: Values, mask: Mask | None = None
    ) -> Output:
        """Return one weighted sum of the values around the predicted position."""
        check_values(keys, values)
        weights = self.weights(queries, keys, mask)
        (values,) = without_hidden(mask, values)
        return weights @ values
