"""Block-sparse attention: blocks without a visible pair are not computed.

A mask alone saves nothing: the scores of hidden pairs are computed and then thrown away.
Here the matrix of pairs is cut into square blocks, and a block in which no pair is visible
is skipped. What remains are ordinary products of small matrices, which any processor is fast
at; so the result is exact, and the gradients are, without a kernel of our own.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention.soft import dot_product_attention
from attention_book.foundations.checks import (
    check_boolean,
    check_same_features,
    check_sizes,
    check_values,
)
from attention_book.foundations.shapes import Keys, Output, Queries, Values


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of blocks that see equally many blocks, and so can be computed together.

    Attributes:
        rows: Which blocks of queries these are.
        columns: For each, the blocks of keys in which it sees anything.
        mask: What is visible inside those blocks, side by side.

    >>> from attention_book.attention import causal_mask
    >>> first, second = plan_blocks(causal_mask(4), block_size=2).groups
    >>> second.rows.tolist(), second.columns.tolist()
    ([1], [[0, 1]])
    >>> second.mask.int().tolist()
    [[[1, 1, 1, 0], [1, 1, 1, 1]]]
    """

    rows: Int[Tensor, " row"]
    columns: Int[Tensor, "row count"]
    mask: Bool[Tensor, "row block_query seen_key"]


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """Which blocks of a mask must be computed; made once by :func:`plan_blocks`.

    Attributes:
        num_queries: Height of the mask.
        num_keys: Width of the mask.
        block_size: Queries, and keys, in a block.
        groups: The rows of blocks, those that see equally many blocks together.

    >>> from attention_book.attention import window_mask
    >>> plan_blocks(window_mask(512, radius=32), block_size=64).kept
    0.34375
    """

    num_queries: int
    num_keys: int
    block_size: int
    groups: tuple[BlockRows, ...]

    @property
    def kept(self) -> float:
        """The share of the blocks that are computed; 0 where there are no blocks."""
        tall, wide = (_blocks(n, self.block_size) for n in (self.num_queries, self.num_keys))
        return sum(group.columns.numel() for group in self.groups) / max(tall * wide, 1)


def plan_blocks(mask: Bool[Tensor, "query key"], *, block_size: int = 64) -> BlockPlan:
    """Cut a mask into blocks and note which of them hold a visible pair.

    Reading the mask takes time that grows with the square of the length; a plan serves all
    layers, heads, examples and steps that share the mask. On a GPU it waits a few times: make it
    once, outside of the steps.

    Args:
        mask: True where a query may see a key, the same for all examples and heads.
        block_size: Queries, and keys, in a block. Large blocks are computed faster, small
            ones skip more.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if it has not the axes (query, key), or ``block_size`` is below 1.

    >>> from attention_book.attention import block_mask
    >>> plan = plan_blocks(block_mask(6, block_size=2), block_size=2)
    >>> [group.columns.tolist() for group in plan.groups]
    [[[0], [1], [2]]]
    """
    check_boolean("mask", mask, "may attend")
    check_sizes(block_size=block_size)
    if mask.ndim != 2:
        raise ValueError(
            "mask: expected the axes (query, key), one mask for all examples and heads, "
            f"got the shape {tuple(mask.shape)}"
        )
    num_queries, num_keys = mask.shape
    tall, wide = _blocks(num_queries, block_size), _blocks(num_keys, block_size)
    filled = F.pad(mask, (0, wide * block_size - num_keys, 0, tall * block_size - num_queries))
    blocks = filled.view(tall, block_size, wide, block_size).transpose(1, 2)
    visible = blocks.flatten(2).any(dim=2)
    counts = visible.sum(dim=1)
    groups = []
    for count in counts[counts > 0].unique().tolist():
        rows = (counts == count).nonzero().squeeze(1)
        columns = visible[rows].nonzero()[:, 1].view(len(rows), count)
        inside = blocks[rows[:, None], columns].transpose(1, 2).flatten(2)
        groups.append(BlockRows(rows, columns, inside))
    return BlockPlan(num_queries, num_keys, block_size, tuple(groups))


def block_sparse_attention(
    queries: Queries,
    keys: Keys,
    values: Values,
    plan: BlockPlan,
    *,
    scale: float | None = None,
) -> Output:
    """Compute scaled dot-product attention, leaving out the blocks that a mask leaves empty.

    Equal to ``dot_product_attention(queries, keys, values, mask)`` up to rounding, gradients
    too. The operations are ``plan.kept`` times those of all pairs. A query that may see
    nothing gets exactly 0.

    Args:
        queries: What is asked, (\\*batch, query, d_k); heads may be one of the batch axes.
        keys: What is compared with the queries, (\\*batch, key, d_k).
        values: What is averaged, (\\*batch, key, d_v).
        plan: What :func:`plan_blocks` made of the mask.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.

    Raises:
        ValueError: if the shapes do not fit one another or the plan, or a visible score is
            NaN.

    >>> from attention_book.attention import window_mask
    >>> x, mask = torch.rand(2, 300, 8), window_mask(300, radius=20)
    >>> output = block_sparse_attention(x, x, x, plan_blocks(mask, block_size=32))
    >>> torch.allclose(output, dot_product_attention(x, x, x, mask), atol=1e-6)
    True
    """
    check_same_features(queries, keys)
    check_values(keys, values)
    _check_plan(plan, queries, keys)
    q, k, v = (_cut(each, plan.block_size) for each in (queries, keys, values))
    # One part more, of zeros, for the rows of blocks that see nothing.
    parts = [v.new_zeros(len(v), 1, plan.block_size, v.shape[-1])]
    places = torch.zeros(q.shape[1], dtype=torch.long, device=q.device)
    used = 1
    for group in plan.groups:
        seen_keys, seen_values = (each[:, group.columns].flatten(2, 3) for each in (k, v))
        parts.append(
            dot_product_attention(
                q[:, group.rows], seen_keys, seen_values, group.mask[None], scale=scale
            )
        )
        places[group.rows] = torch.arange(used, used + len(group.rows), device=q.device)
        used += len(group.rows)
    output = torch.cat(parts, dim=1)[:, places].flatten(1, 2)[:, : plan.num_queries]
    return output.reshape(*queries.shape[:-1], values.shape[-1])


def _blocks(length: int, block_size: int) -> int:
    """Return how many blocks the positions fill; the last may be only partly full."""
    return -(-length // block_size)


def _cut(x: Tensor, block_size: int) -> Tensor:
    """Return (batch, block, position in block, feature), filled with zeros at the end."""
    length, size = x.shape[-2:]
    missing = _blocks(length, block_size) * block_size - length
    one_batch = x.reshape(math.prod(x.shape[:-2]), length, size)
    cut: Tensor = F.pad(one_batch, (0, 0, 0, missing)).unflatten(1, (-1, block_size))
    return cut


def _check_plan(plan: BlockPlan, queries: Tensor, keys: Tensor) -> None:
    if not isinstance(plan, BlockPlan):
        raise TypeError(
            f"plan: expected what plan_blocks made of a mask, got {type(plan).__name__}"
        )
    counts = (queries.shape[-2], keys.shape[-2])
    if counts != (plan.num_queries, plan.num_keys):
        raise ValueError(
            f"plan: expected one for {counts[0]} queries and {counts[1]} keys, got one for "
            f"{plan.num_queries} and {plan.num_keys}"
        )
