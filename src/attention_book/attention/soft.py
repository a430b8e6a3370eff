"""Soft attention: the output is a weighted average of the values.

Scaled dot-product attention (Vaswani et al. 2017) in one fused step, and attention with any score.
"""

import math

from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.masks import (
    causal_mask,
    check_causal,
    check_mask,
    without_hidden,
)
from attention_book.attention.scores import Score
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.checks import (
    check_bias,
    check_probability,
    check_same_features,
    check_score,
    check_values,
    is_strict,
    reject_where,
)
from attention_book.foundations.shapes import Bias, Keys, Mask, Output, Queries, Values, Weights


class Attention(nn.Module):
    """Average the values, weighted by any score.

    .. math:: f(q) = \\sum_j \\alpha_j v_j, \\qquad \\alpha = \\operatorname{softmax}_j a(q, k_j)

    Args:
        score: A scoring function, for example
            :class:`~attention_book.attention.AdditiveScore`.
        dropout: Probability of dropping a weight while training.

    >>> import torch
    >>> from attention_book.attention import DotScore
    >>> attention = Attention(DotScore())
    >>> attention(torch.rand(1, 4), torch.ones(2, 4), torch.tensor([[0.0], [1.0]]))
    tensor([[0.5000]])
    """

    def __init__(self, score: Score, *, dropout: float = 0.0) -> None:
        """Keep the score and the dropout."""
        super().__init__()
        check_score(score)
        check_probability("dropout", dropout)
        self.score = score
        self.dropout = nn.Dropout(dropout)

    def weights(self, queries: Queries, keys: Keys, mask: Mask | None = None) -> Weights:
        """Return the attention weights, without dropout."""
        return masked_softmax(self.score(queries, keys), mask)

    def forward(
        self, queries: Queries, keys: Keys, values: Values, mask: Mask | None = None
    ) -> Output:
        """Return one weighted average of the values for each query.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a visible score is NaN.
        """
        check_values(keys, values)
        weights: Weights = self.dropout(self.weights(queries, keys, mask))
        (values,) = without_hidden(mask, values)
        return weights @ values


def dot_product_attention(
    queries: Queries,
    keys: Keys,
    values: Values,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Bias | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
) -> Output:
    """Compute scaled dot-product attention in one fused step, without storing the weights.

    .. math:: \\operatorname{softmax}\\Bigl(\\frac{Q K^\\top}{\\sqrt{d_k}}\\Bigr) V

    Vaswani et al. (2017), equation 1. A query that may see nothing gets exactly 0.
    The fused kernels can be differentiated once; for second derivatives take
    ``Attention(ScaledDotScore())``.

    A key that ``mask`` hides from all queries, as it does padding, and its value may hold
    anything, NaN and infinity too. One that some queries see and others don't may hold numbers
    whose scores are finite for both, and a finite value: for the others its weight is 0, but the
    fused kernel adds minus infinity to the score and multiplies the value by the weight.

    Args:
        queries: What is asked, (\\*batch, query, d_k).
        keys: What is compared with the queries, (\\*batch, key, d_k).
        values: What is averaged, (\\*batch, key, d_v).
        mask: True where the query may see the key; None hides nothing.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        bias: Added to the scaled scores, broadcastable to (\\*batch, query, key). It makes a
            key more or less likely; what the mask hides stays hidden.
        is_causal: Query i sees only the keys up to its own position, as with
            :func:`~attention_book.attention.causal_mask`; alone it reaches the fused kernel,
            which then computes only what is seen. There are as many keys as queries then; else a
            mask has to say where the first query stands.
        dropout: Probability of dropping a weight; pass 0 outside training.

    Raises:
        TypeError: if ``mask`` is not boolean, or ``bias`` not of the scores' type.
        ValueError: if the shapes do not fit, or the call is causal and there are more or fewer
            keys than queries; in strict mode also if a visible score is NaN.

    >>> import torch
    >>> values = torch.tensor([[0.0], [1.0]])
    >>> dot_product_attention(torch.rand(1, 4), torch.ones(2, 4), values)
    tensor([[0.5000]])
    >>> dot_product_attention(torch.rand(2, 4), torch.ones(2, 4), values, is_causal=True)
    tensor([[0.0000],
            [0.5000]])
    """
    check_same_features(queries, keys)
    check_values(keys, values)
    check_probability("dropout", dropout)
    num_queries, num_keys = queries.shape[-2], keys.shape[-2]
    if mask is not None:
        check_mask(mask, num_queries, num_keys, batch=queries.shape[:-2], device=queries.device)
    if bias is not None:
        check_bias(bias, queries, keys)
    if is_causal:
        check_causal(num_queries, num_keys)
        if not (mask is None and bias is None):  # the kernel accepts only one of them
            past = causal_mask(num_queries, device=queries.device)
            mask, is_causal = past if mask is None else mask & past, False
    keys, values = without_hidden(mask, keys, values)
    output = _fused(queries, keys, values, _added(bias, mask), is_causal, scale, dropout)
    if is_strict() and output.isnan().any():  # the fused kernel can't say which number it was
        dot_product_weights(queries, keys, mask, scale=scale, bias=bias)
        reject_where(~keys.isfinite(), keys, "keys", "finite numbers where any query sees them")
    return output


def dot_product_weights(
    queries: Queries,
    keys: Keys,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Bias | None = None,
) -> Weights:
    """Compute the weights with which ``dot_product_attention`` averages the values.

    .. math:: \\operatorname{softmax}\\Bigl(\\frac{Q K^\\top}{\\sqrt{d_k}}\\Bigr)

    Args:
        queries: What is asked, (\\*batch, query, d_k).
        keys: What is compared with the queries, (\\*batch, key, d_k).
        mask: True where the query may see the key; None hides nothing. A key moves no row
            that may not see it, whatever numbers it holds.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        bias: Added to the scaled scores, broadcastable to (\\*batch, query, key).

    Raises:
        TypeError: if ``mask`` is not boolean, or ``bias`` not of the scores' type.
        ValueError: if the shapes do not fit, or a visible score is NaN.

    >>> import torch
    >>> dot_product_weights(torch.rand(1, 4), torch.ones(2, 4))
    tensor([[0.5000, 0.5000]])
    >>> dot_product_weights(torch.rand(1, 4), torch.ones(2, 4), bias=torch.tensor([[0.0, 1.0]]))
    tensor([[0.2689, 0.7311]])
    """
    check_same_features(queries, keys)
    if mask is not None:
        shape = (queries.shape[-2], keys.shape[-2])
        check_mask(mask, *shape, batch=keys.shape[:-2], device=keys.device)
    (keys,) = without_hidden(mask, keys)
    if scale is None:
        scale = 1 / math.sqrt(keys.shape[-1])
    # The queries are scaled before the product: half precision could overflow in between.
    scores = (queries * scale) @ keys.mT
    if bias is not None:
        check_bias(bias, queries, keys)
        scores = scores + bias
    return masked_softmax(scores, mask)


class DotProductAttention(nn.Module):
    """Scaled dot-product attention: fused when only the output is asked for.

    The law ``module(q, k, v, mask) == module.weights(q, k, mask) @ v`` holds (up to
    rounding) whenever dropout is off.

    Args:
        dropout: Probability of dropping a weight while training.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.

    >>> import torch
    >>> attention = DotProductAttention()
    >>> attention
    DotProductAttention(dropout=0.0, scale=None)
    >>> queries, keys, values = torch.rand(1, 4), torch.rand(3, 4), torch.rand(3, 2)
    >>> output = attention(queries, keys, values)
    >>> torch.allclose(output, attention.weights(queries, keys) @ values)
    True
    """

    def __init__(self, *, dropout: float = 0.0, scale: float | None = None) -> None:
        """Keep the dropout and the scale."""
        super().__init__()
        check_probability("dropout", dropout)
        self.dropout = dropout
        self.scale = scale

    def weights(
        self,
        queries: Queries,
        keys: Keys,
        mask: Mask | None = None,
        *,
        bias: Bias | None = None,
    ) -> Weights:
        """Return the attention weights, without dropout."""
        return dot_product_weights(queries, keys, mask, scale=self.scale, bias=bias)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"dropout={self.dropout}, scale={self.scale}"

    def forward(
        self,
        queries: Queries,
        keys: Keys,
        values: Values,
        mask: Mask | None = None,
        *,
        bias: Bias | None = None,
    ) -> Output:
        """Return one weighted average of the values for each query."""
        dropout = self.dropout if self.training else 0.0
        return dot_product_attention(
            queries, keys, values, mask, scale=self.scale, bias=bias, dropout=dropout
        )


def _added(bias: Bias | None, mask: Mask | None) -> Tensor | None:
    """Return what the fused kernel takes for mask and bias together: the mask wins."""
    if bias is None or mask is None:
        return mask if bias is None else bias
    return bias.masked_fill(~mask, -math.inf)


def _fused(
    queries: Queries,
    keys: Keys,
    values: Values,
    mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    dropout: float,
) -> Output:
    """Call torch's kernel; without an axis for heads it would take a slower one."""
    without_heads = queries.ndim == 3
    if without_heads:
        queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
        if mask is not None and mask.ndim == 3:
            mask = mask.unsqueeze(1)
    output = F.scaled_dot_product_attention(
        queries, keys, values, mask, dropout_p=dropout, is_causal=is_causal, scale=scale
    )
    return output.squeeze(1) if without_heads else output
