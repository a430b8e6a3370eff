"""Exact attention in tiles, as in FlashAttention (Dao et al. 2022): no full matrix of scores."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_book.attention.efficient.online_softmax import PartialAttention
from attention_book.attention.masks import causal_mask, check_causal, check_mask, without_hidden
from attention_book.foundations.checks import check_same_features, check_sizes, check_values
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values


def tiled_attention(
    queries: Queries,
    keys: Keys,
    values: Values,
    mask: Mask | None = None,
    *,
    query_tile: int,
    key_tile: int,
    scale: float | None = None,
    is_causal: bool = False,
) -> Output:
    """Compute scaled dot-product attention tile by tile, in memory linear in the length.

    .. math:: \\operatorname{softmax}\\Bigl(\\frac{Q K^\\top}{\\sqrt{d_k}}\\Bigr) V

    It is exact: the result is that of ``dot_product_attention`` up to rounding. At any time
    there are the scores of one tile, ``query_tile`` by ``key_tile``. The backward pass
    computes each tile's weights again, from the logarithm of every query's denominator, so
    that training takes linear memory too (Dao et al. 2022, algorithms 1 and 4, which do this
    inside one GPU kernel). This one is written to be read: use torch's kernel for speed.

    Args:
        queries: What is asked, (\\*batch, query, d_k).
        keys: What is compared with the queries, (\\*batch, key, d_k).
        values: What is averaged, (\\*batch, key, d_v).
        mask: True where the query may see the key; None hides nothing.
        query_tile: Queries in a tile.
        key_tile: Keys in a tile.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        is_causal: Let query i see keys 0 to i only, as many as there are queries. No mask is
            made for it, and tiles without a visible key are skipped.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if the shapes do not fit, a tile is empty, or the call is causal and there are
            more or fewer keys than queries; in strict mode if a visible score is NaN or ``+inf``.

    >>> queries, keys, values = torch.rand(3, 100, 8).unbind()
    >>> tiled = tiled_attention(queries, keys, values, query_tile=16, key_tile=32)
    >>> torch.allclose(tiled, (queries @ keys.T / 8**0.5).softmax(-1) @ values, atol=1e-6)
    True
    """
    check_same_features(queries, keys)
    check_values(keys, values)
    check_sizes(query_tile=query_tile, key_tile=key_tile)
    if mask is not None:
        shape = (queries.shape[-2], keys.shape[-2])
        check_mask(mask, *shape, batch=queries.shape[:-2], device=queries.device)
    if is_causal:
        check_causal(queries.shape[-2], keys.shape[-2])
    keys, values = without_hidden(mask, keys, values)
    if scale is None:
        scale = 1 / math.sqrt(keys.shape[-1])
    tiling = _Tiling(query_tile, key_tile, scale, is_causal)
    # Sums over many tiles in half precision would lose what the tiles add one by one.
    wide = torch.promote_types(queries.dtype, torch.float32)
    inputs = (each.to(wide) for each in (queries, keys, values))
    output: Tensor
    output, _ = _TiledAttention.apply(*inputs, mask, tiling)
    return output.to(values.dtype)


@dataclass(frozen=True)
class _Tiling:
    """How queries and keys are cut, and which scores of a tile can be seen."""

    query_tile: int
    key_tile: int
    scale: float
    is_causal: bool

    def rows(self, queries: Tensor) -> Iterator[slice]:
        """Cut the queries."""
        return _slices(queries.shape[-2], self.query_tile)

    def columns(self, keys: Tensor, rows: slice) -> Iterator[slice]:
        """Cut the keys, and leave out what lies in the future of all these queries."""
        for columns in _slices(keys.shape[-2], self.key_tile):
            if not (self.is_causal and columns.start >= rows.stop):
                yield columns

    def scores(
        self, queries: Tensor, keys: Tensor, mask: Tensor | None, rows: slice, columns: slice
    ) -> Tensor:
        """Compute the scores of one tile, -inf where a query may not see the key."""
        scores: Tensor = (self.scale * queries[..., rows, :]) @ keys[..., columns, :].mT
        if mask is not None:
            scores = scores.masked_fill(~_cut(mask, rows, columns), -math.inf)
        if self.is_causal and columns.stop > rows.start + 1:
            num_queries, num_keys = scores.shape[-2:]
            offset = rows.start - columns.start
            seen = causal_mask(num_queries, num_keys, offset=offset, device=scores.device)
            scores = scores.masked_fill(~seen, -math.inf)
        return scores


class _TiledAttention(torch.autograd.Function):
    """Both passes; only the output and one number for each query are kept between them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, tiling: _Tiling
    ) -> tuple[Tensor, Tensor]:
        """Merge, for each tile of queries, what the tiles of keys contribute."""
        outputs, log_totals = [queries[..., :0, :1] @ values[..., :1, :]], [queries[..., :0, 0]]
        for rows in tiling.rows(queries):
            seen: PartialAttention | None = None
            for columns in tiling.columns(keys, rows):
                scores = tiling.scores(queries, keys, mask, rows, columns)
                part = PartialAttention.of(scores, values[..., columns, :])
                seen = part if seen is None else seen.merge(part)
            assert seen is not None  # the first tile of keys is never skipped
            outputs.append(seen.output)
            log_totals.append(seen.log_total)
        return torch.cat(outputs, dim=-2), torch.cat(log_totals, dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """Keep what the backward pass computes the weights from."""
        queries, keys, values, mask, ctx.tiling = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(queries, keys, values, mask, *output)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the weights of each tile again, and from them its part of the gradients."""
        gradients: tuple[Tensor, ...] = _Backward.apply(upstream, *ctx.saved_tensors, ctx.tiling)
        return *gradients, None, None


class _Backward(torch.autograd.Function):
    """The backward pass, a function of its own: mapped like the forward, and derived no further."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        upstream: Tensor,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        output: Tensor,
        log_totals: Tensor,
        tiling: _Tiling,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients of queries, keys and values."""
        to_queries = [torch.zeros_like(queries[..., :0, :])]
        to_keys: dict[int, Tensor] = {}
        to_values: dict[int, Tensor] = {}
        for columns in _slices(keys.shape[-2], tiling.key_tile):
            to_keys[columns.start] = torch.zeros_like(keys[..., columns, :])
            to_values[columns.start] = torch.zeros_like(values[..., columns, :])
        # A query that saw nothing has the total 0: with +inf all its weights come out as 0.
        log_totals = log_totals.masked_fill(log_totals == -math.inf, math.inf).unsqueeze(-1)
        inner = (upstream * output).sum(dim=-1, keepdim=True)
        for rows in tiling.rows(queries):
            arriving = upstream[..., rows, :]
            to_rows = torch.zeros_like(queries[..., rows, :])
            for columns in tiling.columns(keys, rows):
                start = columns.start
                weights = tiling.scores(queries, keys, mask, rows, columns)
                weights = (weights - log_totals[..., rows, :]).exp_()
                to_values[start] = to_values[start] + weights.mT @ arriving
                to_scores = arriving @ values[..., columns, :].mT
                to_scores = (to_scores - inner[..., rows, :]).mul_(weights).mul_(tiling.scale)
                to_rows = to_rows + to_scores @ keys[..., columns, :]
                to_keys[start] = to_keys[start] + to_scores.mT @ queries[..., rows, :]
            to_queries.append(to_rows)
        return (
            torch.cat(to_queries, dim=-2),
            torch.cat([*to_keys.values()], dim=-2),
            torch.cat([*to_values.values()], dim=-2),
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep nothing: there is no second derivative."""

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Refuse.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "tiled_attention: expected one derivative (it is once_differentiable), got a second; "
            "take Attention(ScaledDotScore())"
        )


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _cut(mask: Tensor, rows: slice, columns: slice) -> Tensor:
    """Return the part of a mask for one tile; an axis of length 1 holds for all."""
    if mask.shape[-2] > 1:
        mask = mask[..., rows, :]
    return mask[..., columns] if mask.shape[-1] > 1 else mask


__all__ = ["tiled_attention"]
