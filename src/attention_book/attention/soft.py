"""Soft attention: the output is a weighted average of the values, or partly of sinks.

Scaled dot-product attention (Vaswani et al. 2017) in one fused step, and attention with any score.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.masks import check_causal, check_mask, without_hidden
from attention_book.attention.scores import Score
from attention_book.attention.softmax import masked_softmax
from attention_book.attention.visibility import Places, Visibility
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
    if bias is not None:
        check_bias(bias, queries, keys)
    at = Places(queries.shape[-2], keys.shape[-2])
    if is_causal:
        check_causal(at.num_queries, at.num_keys)
    see = _visibility(mask, at, queries, is_causal=is_causal)
    keys, values = without_hidden(mask, keys, values)
    return attend(queries, keys, values, see, at, scale=scale, bias=bias, dropout=dropout)


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
    if bias is not None:
        check_bias(bias, queries, keys)
    at = Places(queries.shape[-2], keys.shape[-2])
    see = _visibility(mask, at, queries)
    (keys,) = without_hidden(mask, keys)
    return attention_weights(queries, keys, see, at, scale=scale, bias=bias)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    see: Visibility,
    at: Places,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Average the values over the keys that a query sees, in one fused step, unchecked.

    What :func:`dot_product_attention` does with what it has checked, and multi-head attention with
    what it has made. Heads of queries may share keys and values (GQA, Ainslie et al. 2023): head i
    of h looks into head :math:`\\lfloor i h_{kv} / h \\rfloor`.

    Args:
        q: Queries, (\\*batch, query, d_k), or (batch, head, query, d_k).
        k: Keys, (\\*batch, key, d_k), or (batch, kv_head, key, d_k).
        v: Values, (\\*batch, key, d_v), or (batch, kv_head, key, d_v); all are finite.
        see: Which keys a query sees.
        at: Where queries and keys stand.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        bias: Added to the scaled scores, broadcastable to (\\*batch, query, key).
        dropout: Probability of dropping a weight.

    >>> import torch
    >>> past = Visibility(causal=True)
    >>> q, kv = torch.rand(1, 4, 3, 2), torch.rand(1, 2, 3, 2)
    >>> by_hand = attend(q, *[kv.repeat_interleave(2, dim=1)] * 2, past, Places(3, 3))
    >>> torch.allclose(attend(q, kv, kv, past, Places(3, 3)), by_hand, atol=1e-6)
    True
    """
    mask, is_causal = see.for_kernel(at, q.device)
    if bias is not None:
        mask = see.dense(at, q.device) if is_causal else mask  # the kernel takes one of them
        mask, is_causal = bias if mask is None else bias.masked_fill(~mask, -math.inf), False
    given = q, k
    if without_heads := q.ndim == 3:  # torch would take a slower kernel
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        mask = mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask
    # Some kernels refuse to be told where nothing is shared; torch.compile wants a plain bool.
    shared = True if q.ndim > 3 and q.shape[-3] != k.shape[-3] else False  # noqa: SIM210
    output = F.scaled_dot_product_attention(
        q, k, v, mask, dropout_p=dropout, is_causal=is_causal, scale=scale, enable_gqa=shared
    )
    if is_strict() and output.isnan().any():  # the kernel can't say which number it was
        attention_weights(*given, see, at, scale=scale, bias=bias)
        reject_where(~k.isfinite(), k, "keys", "finite numbers where any query sees them")
    return output.squeeze(1) if without_heads else output


def attention_weights(
    q: Tensor,
    k: Tensor,
    see: Visibility,
    at: Places,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
) -> Weights:
    """Return the weights with which :func:`attend` averages, (\\*batch, [head,] query, key).

    With ``sinks``, a score for each head that no key has, the softmax has one term more:

    .. math:: \\alpha_{ij} = \\frac{e^{a_{ij}}}{e^{s_h} + \\sum_{j'} e^{a_{ij'}}}

    so that a query's weights sum to less than 1 (OpenAI's gpt-oss, 2025; with :math:`s_h = 0`,
    Miller 2023). A query that sees no key gets 0.

    Args:
        q: As in :func:`attend`, like the others.
        k: Keys.
        see: Which keys a query sees.
        at: Where queries and keys stand.
        scale: Factor of the scores.
        bias: Added to the scaled scores.
        sinks: One score for each head, (head).

    >>> import torch
    >>> past = Visibility(causal=True)
    >>> q, sinks = torch.zeros(1, 2, 1, 4), torch.tensor([0.0, -torch.inf])
    >>> attention_weights(q, torch.ones(1, 2, 3, 4), past, Places(1, 3, offset=2), sinks=sinks)
    tensor([[[[0.2500, 0.2500, 0.2500]],
    <BLANKLINE>
             [[0.3333, 0.3333, 0.3333]]]])
    """
    k = shared_heads(k, q.shape[-3]) if q.ndim > 3 else k
    # The queries are scaled before the product: half precision could overflow in between.
    scores = (q * (1 / math.sqrt(k.shape[-1]) if scale is None else scale)) @ k.mT
    if bias is not None:
        scores = scores + bias
    mask = see.dense(at, q.device)
    if sinks is None:
        return masked_softmax(scores, mask)
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    if mask is not None:
        mask = F.pad(mask.expand(*mask.shape[:-1], at.num_keys), (0, 1), value=True)
    return masked_softmax(torch.cat((scores, column), dim=-1), mask)[..., :-1]


def shared_heads(kv: Tensor, num_heads: int) -> Tensor:
    """Repeat each head of keys or values for all heads of queries that share it.

    >>> import torch
    >>> shared_heads(torch.rand(5, 3, 7, 2), num_heads=6).shape
    torch.Size([5, 6, 7, 2])
    """
    each = num_heads // kv.shape[-3]
    return kv if each == 1 else kv.repeat_interleave(each, dim=-3)


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


def _visibility(
    mask: Mask | None, at: Places, queries: Tensor, *, is_causal: bool = False
) -> Visibility:
    """Return what a call says of who sees whom, checked."""
    if mask is not None:
        shape, device = queries.shape[:-2], queries.device
        check_mask(mask, at.num_queries, at.num_keys, batch=shape, device=device)
    return Visibility(causal=is_causal, mask=mask)
