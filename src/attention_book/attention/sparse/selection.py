"""Selection by content: the best keys, blocks routed by mean keys (MoBA), lightning indexer (DSA).

A pattern says by position alone who may see whom. Here a cheap score of what stands there says it,
and the result is a mask as any other: attention with it is exact over the keys that are left.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.attention.masks import causal_mask, check_mask
from attention_book.attention.multi_head import split_heads
from attention_book.attention.positions.rotary import RotaryPositions
from attention_book.attention.positions.scheme import Positions, check_within_attention
from attention_book.foundations.checks import (
    check_floating,
    check_same_features,
    check_sequence,
    check_sizes,
    check_whole,
    is_strict,
    reject_where,
)
from attention_book.foundations.shapes import Features, Keys, Mask, Offset, Queries, Scores, Weights

Chosen = Bool[Tensor, "*batch query key"]


def select_keys(scores: Scores, num_keys: int, mask: Mask | None = None) -> Chosen:
    """Let each query see the ``num_keys`` keys with its highest scores, of those it may see.

    A query that may see no more than that many sees all of them. Of equal scores the earlier key
    is taken. With as many as there are keys the result is ``mask`` itself. The choice has no
    gradient: what scores only to choose learns nothing from a loss behind it.

    Args:
        scores: One number for each query and key; a score of ``-inf`` hides its key.
        num_keys: How many keys a query keeps, 0 or more.
        mask: True where the query may see the key; None hides nothing.

    Raises:
        TypeError: if ``scores`` is not floating point or ``mask`` not boolean.
        ValueError: if ``num_keys`` is no whole number or negative, or ``mask`` does not broadcast;
            in strict mode also if a score that can be seen is NaN.

    >>> import torch
    >>> from attention_book.attention import causal_mask
    >>> scores = torch.tensor([[3.0, 1.0, 2.0]]).expand(3, 3)
    >>> select_keys(scores, 2, causal_mask(3)).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 0, 1]], dtype=torch.int32)
    """
    check_floating("scores", scores)
    check_whole(num_keys=num_keys)
    if num_keys < 0:
        raise ValueError(f"num_keys: expected 0 or more, got {num_keys}")
    if mask is not None:
        check_mask(mask, *scores.shape[-2:], batch=scores.shape[:-2], device=scores.device)
        scores = scores.masked_fill(~mask, -math.inf)
    if is_strict():
        reject_where(scores.isnan(), scores, "scores", "numbers where a query sees the key")
    best = scores.argsort(dim=-1, descending=True, stable=True)[..., :num_keys]
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, value=True)
    return chosen & (scores > -math.inf)


def route_blocks(
    queries: Queries, keys: Keys, *, block_size: int, num_blocks: int, offset: int = 0
) -> Chosen:
    """Let each query see its own block and the past blocks whose mean key fits it best.

    .. math::
        s_{ib} = q_i \\cdot \\frac{1}{B} \\sum_{j \\in b} k_j, \\qquad
        i \\text{ sees } j \\le i \\text{ in its own block and in the best } s_{ib},\\ b < i // B

    The routing of mixture of block attention (MoBA, Lu et al. 2025), for each head by itself. Only
    blocks that are wholly past are scored: the mean of the own one would know of keys that come
    after the query, and though these are hidden, the choice would tell of them.

    Args:
        queries: (\\*batch, query, d_k), as they are compared.
        keys: (\\*batch, key, d_k).
        block_size: B, how many keys are pooled.
        num_blocks: How many blocks a query sees, the own one included.
        offset: Position of the first query.

    Raises:
        TypeError: if one is not floating point.
        ValueError: if the shapes do not fit, a size is below 1, or the offset is negative.

    >>> import torch
    >>> keys = torch.tensor([[0.0], [1.0], [5.0], [5.0], [2.0], [9.0], [0.0]])
    >>> route_blocks(torch.ones(1, 1), keys, block_size=2, num_blocks=2, offset=6).int()
    tensor([[0, 0, 0, 0, 1, 1, 1]], dtype=torch.int32)
    """
    check_same_features(queries, keys)
    check_sizes(block_size=block_size, num_blocks=num_blocks)
    seen = causal_mask(queries.shape[-2], keys.shape[-2], offset=offset, device=keys.device)
    first = torch.arange(0, keys.shape[-2], block_size, device=keys.device)
    pooled = torch.stack([block.mean(dim=-2) for block in keys.split(block_size, dim=-2)], dim=-2)
    own = (offset + torch.arange(queries.shape[-2], device=keys.device)) // block_size
    past, home = first // block_size < own[:, None], first // block_size == own[:, None]
    blocks = select_keys(queries @ pooled.mT, num_blocks - 1, past) | home
    return blocks.repeat_interleave(block_size, dim=-1)[..., : keys.shape[-2]] & seen


class LightningIndexer(nn.Module):
    """Score every key cheaply, so that attention need look only at the best (DSA).

    .. math::
        I_{ts} = \\sum_{j=1}^{H} w_{tj} \\operatorname{ReLU}(q_{tj} \\cdot k_s), \\qquad
        q_{tj} = \\operatorname{RoPE}_t(W_q^{(j)} x_t), \\quad
        k_s = \\operatorname{RoPE}_s(\\operatorname{norm}(W_k x_s)), \\quad
        w_t = \\frac{W_w x_t}{\\sqrt{H d_k}}

    DeepSeek-AI (2025), "DeepSeek-V3.2", equation 1, with the norm, the positions and the factor of
    the released model. All heads share one small key, which is all that is cached. Give the scores
    to :func:`select_keys`. The number of scores still grows with the square of the length, only
    that each is cheap.

    A choice passes no gradient on: an indexer learns from the attention that it is to spare, by
    :func:`indexer_loss`.

    Args:
        d_model: Size of a position's vector.
        num_heads: H, how many queries a position asks with.
        d_k: Size of each of them and of the key.
        d_rope: How many of their first features are turned by position, even; None: all.
        d_query: Size of what the queries are made of; ``d_model`` when None. DeepSeek makes them of
            the latent vectors of the main attention's queries.
        positions: How these are turned; None: rotary, its pairs in halves as DeepSeek's.

    Raises:
        ValueError: if a size is out of range.

    >>> import torch
    >>> indexer, x = LightningIndexer(d_model=16, num_heads=2, d_k=4), torch.rand(1, 7, 16)
    >>> indexer(x).shape
    torch.Size([1, 7, 7])
    >>> last = indexer(x[:, 6:], indexer.project(x), offset=6)
    >>> torch.allclose(last, indexer(x)[:, 6:], atol=1e-6)
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_rope: int | None = None,
        d_query: int | None = None,
        positions: Positions | None = None,
    ) -> None:
        """Create the projections and the norm."""
        super().__init__()
        d_rope = d_k if d_rope is None else d_rope
        d_query = d_model if d_query is None else d_query
        check_sizes(d_model=d_model, num_heads=num_heads, d_k=d_k, d_rope=d_rope, d_query=d_query)
        if d_rope > d_k:
            raise ValueError(f"d_rope: expected at most d_k={d_k}, got {d_rope}")
        self.d_model, self.d_query, self.num_heads = d_model, d_query, num_heads
        self.d_k, self.d_rope = d_k, d_rope
        self.W_q = nn.Linear(d_query, num_heads * d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_w = nn.Linear(d_model, num_heads, bias=False)
        self.key_norm = nn.LayerNorm(d_k, eps=1e-6)
        rotary = RotaryPositions(d_k=d_rope, pairing="halves")
        self.positions = rotary if positions is None else positions
        check_within_attention(self.positions, turned_only=True)

    def forward(
        self,
        x: Features,
        keys: Keys | None = None,
        *,
        queries: Queries | None = None,
        offset: Offset = 0,
    ) -> Float[Tensor, "batch query key"]:
        """Return one score for each query and key, those of the future too.

        Args:
            x: (batch, query, d_model).
            keys: What :meth:`project` made of all that may be seen; None: of ``x``.
            queries: (batch, query, d_query); ``x`` when None.
            offset: Position of the first query.

        Raises:
            ValueError: if the shapes do not fit.
        """
        queries = x if queries is None else queries
        check_sequence("x", x, self.d_model)
        check_sequence("queries", queries, self.d_query)
        keys = self.project(x, offset=offset) if keys is None else keys
        check_sequence("keys", keys, self.d_k)
        q = self._placed(split_heads(self.W_q(queries), self.num_heads), offset)
        each = (q @ keys[:, None].mT).relu()
        w = self.W_w(x) * (self.num_heads * self.d_k) ** -0.5
        return torch.einsum("bqh,bhqk->bqk", w, each)

    def project(self, x: Features, *, offset: Offset = 0) -> Keys:
        """Return the key of each position, (batch, key, d_k): what is cached of it.

        Raises:
            ValueError: if the shapes do not fit.
        """
        check_sequence("x", x, self.d_model)
        return self._placed(self.key_norm(self.W_k(x)), offset)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"num_heads={self.num_heads}, d_k={self.d_k}, d_rope={self.d_rope}"

    def _placed(self, heads: Tensor, offset: Offset) -> Tensor:
        turned, rest = heads.split([self.d_rope, self.d_k - self.d_rope], dim=-1)
        return torch.cat((self.positions.rotate(turned, offset=offset), rest), dim=-1)


def indexer_loss(scores: Scores, weights: Weights, mask: Mask | None = None) -> Float[Tensor, ""]:
    """Return how far an indexer's scores are from the weights that they are to predict.

    .. math::
        \\frac{1}{n} \\sum_t
        \\operatorname{KL}\\bigl(p_t \\,\\|\\, \\operatorname{softmax}(I_t)\\bigr)

    DeepSeek-AI (2025), "DeepSeek-V3.2", equation 3: p is the mean of the heads' weights. It is
    only looked at; no gradient goes to it.

    Args:
        scores: I, (\\*batch, query, key).
        weights: p, of the same shape; a query's weights sum to 1, or to 0 if it sees nothing.
        mask: True where the query may see the key; None hides nothing.

    Raises:
        TypeError: if ``scores`` is not floating point or ``mask`` not boolean.
        ValueError: if the shapes do not fit.

    >>> import torch
    >>> weights = torch.tensor([[0.25, 0.75]])
    >>> indexer_loss(torch.zeros(1, 2), weights)
    tensor(0.1308)
    """
    check_floating("scores", scores)
    if scores.shape != weights.shape:
        raise ValueError(
            "weights: expected the shape of the scores, "
            f"{tuple(scores.shape)}, got {tuple(weights.shape)}"
        )
    if mask is not None:
        check_mask(mask, *scores.shape[-2:], batch=scores.shape[:-2], device=scores.device)
        scores = scores.masked_fill(~mask, -math.inf)
    p = weights.detach()
    guessed = scores.log_softmax(dim=-1).masked_fill(p == 0, 0.0)
    return (torch.xlogy(p, p) - p * guessed).sum(dim=-1).mean()


__all__ = ["LightningIndexer", "indexer_loss", "route_blocks", "select_keys"]
