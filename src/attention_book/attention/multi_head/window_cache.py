"""Sliding-window attention (SWA), with a cache that forgets what no later query will see.

A query sees the w positions that end with its own (Beltagy et al. 2020; Jiang et al. 2023,
Mistral 7B), and, if asked for, the first few of the text: attention sinks that are kept (Xiao et
al. 2023, StreamingLLM).
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_book.attention.masks import check_mask
from attention_book.attention.multi_head.kv_cache import KVCache, check_same_axes
from attention_book.attention.multi_head.multi_head import MultiHeadAttention
from attention_book.foundations.checks import check_sequence, check_sizes
from attention_book.foundations.shapes import HeadsMask, HeadWeights, Keys, Queries, Values


@dataclass(frozen=True, eq=False)
class WindowCache(KVCache):
    """Keys and values that a window needs: the last ones, and the first of the text.

    :meth:`append` first drops what no later query will see, and keeps w - 1 keys for the
    queries to come, and the ``num_first`` first. So it never holds more than w keys and
    the first ones while tokens come one by one. Keys stay turned as they were: positions
    are those of the text, not of the cache.

    Attributes:
        window: w, how many positions a query sees, its own included; None keeps all.
        num_first: How many of the text's first positions every query sees besides.
        num_dropped: How many keys are gone; they stood right behind the first ones.

    >>> def token(): return KVCache(torch.rand(1, 1, 1, 4), torch.rand(1, 1, 1, 4))
    >>> past = WindowCache(torch.rand(1, 1, 7, 4), torch.rand(1, 1, 7, 4), window=3, num_first=1)
    >>> past = past.append(token()).append(token())
    >>> past.num_keys, past.position, past.key_positions
    (4, 9, tensor([0, 6, 7, 8]))
    """

    window: int | None = field(default=None, kw_only=True)
    num_first: int = field(default=0, kw_only=True)
    num_dropped: int = field(default=0, kw_only=True)

    @property
    def position(self) -> int:
        """How many tokens were read, and so where the next one stands."""
        return self.num_keys + self.num_dropped

    @property
    def key_positions(self) -> Int[Tensor, " key"]:
        """Where in the text the keys stand."""
        return _key_positions(self.num_keys, self.num_dropped, self.num_first, self.keys.device)

    def append(self, other: KVCache) -> "WindowCache":
        """Return what a later query sees of these keys and values, and the other's after them.

        Raises:
            ValueError: if the other's batch, heads or features are different.
        """
        check_same_axes(self, other)
        num_past = self.num_keys if self.window is None else self.num_first + self.window - 1
        dropped = max(0, self.num_keys - num_past)
        joined = (
            torch.cat(
                (mine[:, :, : self.num_first], mine[:, :, self.num_first + dropped :], new), dim=2
            )
            for mine, new in ((self.keys, other.keys), (self.values, other.values))
        )
        return self._with(*joined, dropped=dropped)

    def select(self, rows: Int[Tensor, " row"]) -> "WindowCache":
        """Return the examples with these numbers, in this order; one may come twice."""
        return self._with(self.keys[rows], self.values[rows])

    def contiguous(self) -> "WindowCache":
        """Return the same with each head's keys side by side in memory, and its values."""
        return self._with(self.keys.contiguous(), self.values.contiguous())

    def _with(self, keys: Tensor, values: Tensor, *, dropped: int = 0) -> "WindowCache":
        return WindowCache(
            keys,
            values,
            window=self.window,
            num_first=self.num_first,
            num_dropped=self.num_dropped + dropped,
        )


class WindowAttention(MultiHeadAttention):
    """Multi-head attention in which a query sees the last w positions, its own included.

    .. math:: j \\le i \\quad\\text{and}\\quad (i - j < w \\ \\text{or}\\ j < f)

    Sliding-window attention (Beltagy et al. 2020, section 3.1; w = 4096 in Mistral 7B, Jiang
    et al. 2023, section 2). L layers reach :math:`L (w - 1)` positions back. The first f
    positions may stay visible to all (attention sinks, Xiao et al. 2023, section 3.2).

    It looks back only, so that ``is_causal`` is True here and can't be False, and reads one
    sequence: the last key stands at the last query's position. :meth:`project` starts a
    :class:`~attention_book.attention.WindowCache`, and a call with what it grew into gives
    the rows of a call with the whole sequence.

    Args:
        window: w; None lets a query see all before it.
        num_first: f, how many of the text's first positions every query sees besides.
        kwargs: As of :class:`~attention_book.attention.MultiHeadAttention`.

    Raises:
        ValueError: if the window is below 1 or ``num_first`` negative.

    >>> attention = WindowAttention(d_model=8, num_heads=2, window=3, num_first=1)
    >>> x = torch.rand(1, 5, 8)
    >>> (attention.weights(x, x)[0, 0] > 0).int()
    tensor([[1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [1, 0, 1, 1, 1]], dtype=torch.int32)
    """

    def __init__(self, *, window: int | None, num_first: int = 0, **kwargs: Any) -> None:
        """Create the projections."""
        super().__init__(**kwargs)
        if window is not None:
            check_sizes(window=window)
        if num_first < 0:
            raise ValueError(f"num_first: expected 0 or more, got {num_first}")
        self.window, self.num_first = window, num_first

    def forward(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        values: Values | None = None,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = True,
    ) -> Float[Tensor, "*batch query d_model"]:
        """Return the mixed outputs; arguments as of ``MultiHeadAttention``, but ``is_causal``.

        Raises:
            ValueError: if ``is_causal`` is False, there are more or fewer raw keys than queries,
                or the last query of a call with a cache does not stand at its last key; and as
                of ``MultiHeadAttention``.
        """
        mask = self.visible(queries, keys, mask, offset=offset, is_causal=is_causal)
        return super().forward(queries, keys, values, mask, offset=offset)

    def project(self, keys: Keys, values: Values | None = None, *, offset: int = 0) -> WindowCache:
        """Return each head's keys and values, none dropped yet."""
        new = super().project(keys, values, offset=offset)
        return WindowCache(new.keys, new.values, window=self.window, num_first=self.num_first)

    def weights(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = True,
    ) -> HeadWeights:
        """Return the weights of each head, without dropout; arguments as in a call."""
        mask = self.visible(queries, keys, mask, offset=offset, is_causal=is_causal)
        return super().weights(queries, keys, mask, offset=offset)

    def visible(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = True,
    ) -> HeadsMask:
        """Return what the queries of such a call see: neither too far back nor still to come.

        Args:
            queries: As in a call, like the others.
            keys: Only their number matters.
            mask: Hides more.
            offset: Position of the first query.
            is_causal: True, and nothing else.

        Raises:
            ValueError: as in a call.
        """
        check_sequence("queries", queries, self.d_model)
        if not is_causal:
            raise ValueError(
                f"is_causal: expected True, for {type(self).__name__} looks back only, got False; "
                "for both sides take MultiHeadAttention, with window_mask as the mask"
            )
        num_queries = queries.shape[-2]
        num_keys = keys.num_keys if isinstance(keys, KVCache) else keys.shape[-2]
        start = _checked_start(num_queries, keys, offset)
        if mask is not None:
            check_mask(mask, num_queries, num_keys, device=queries.device)
        near = near_mask(
            num_queries,
            num_keys,
            offset=start,
            window=self.window,
            num_first=self.num_first,
            device=queries.device,
        )
        return near if mask is None else near & mask

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        first = f", num_first={self.num_first}" if self.num_first else ""
        return f"{super().extra_repr()}, window={self.window}{first}"

    def _bias(self, asked: Tensor, num_keys: int, start: int) -> Tensor | None:
        dropped = start + asked.shape[-2] - num_keys
        if dropped <= 0:
            return super()._bias(asked, num_keys, start)
        num_first = self.num_first
        last = super()._bias(asked, num_keys - num_first, start - dropped - num_first)
        if last is None or not num_first:
            return last
        first = super()._bias(asked, num_first, start)
        return None if first is None else torch.cat((first, last), dim=-1)

    def _combine(self, weights: Tensor, values: Tensor, start: int) -> Tensor:
        dropped = start + weights.shape[-2] - weights.shape[-1]
        if dropped > 0 and self.positions.biases_values:  # distances count what was dropped
            weights = _with_gap(weights, self.num_first, dropped, dim=-1)
            values = _with_gap(values, self.num_first, dropped, dim=-2)
        return super()._combine(weights, values, start)


def _checked_start(num_queries: int, keys: Keys | KVCache, offset: int) -> int:
    """Return where the first query stands among the keys; the last stands at the last key."""
    if isinstance(keys, KVCache):
        if offset + num_queries != keys.position:
            raise ValueError(
                f"offset: expected {keys.position - num_queries}, for the last of {num_queries} "
                f"queries stands at the last of {keys.position} keys, got {offset}"
            )
        return offset
    num_keys = keys.shape[-2]
    if num_queries < num_keys:
        raise ValueError(
            f"keys: expected as many as queries, got {num_queries} queries and {num_keys} keys; "
            f"keys[:, :{num_queries}] where the first query stands at the first key, project(keys) "
            f"and offset={num_keys - num_queries} where the last stands at the last"
        )
    if num_queries > num_keys:
        raise ValueError(
            f"keys: expected as many as queries, got {num_queries} queries and {num_keys} keys; "
            f"queries[:, :{num_keys}] where the first query stands at the first key, "
            f"queries[:, -{num_keys}:] where the last stands at the last"
        )
    return 0


def near_mask(
    num_queries: int,
    num_keys: int,
    *,
    offset: int = 0,
    window: int | None,
    num_first: int = 0,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "query key"]:
    """Let each query see the last w positions, its own included, and the first f of the text.

    The last key stands where the last query stands. If keys are missing, they were dropped
    behind the first f, as :class:`~attention_book.attention.WindowCache` does.

    Args:
        num_queries: Number of queries.
        num_keys: Number of keys.
        offset: Position of the first query.
        window: w; None hides only what is still to come.
        num_first: f, how many of the text's first positions every query sees besides.
        device: Where to create the mask.

    >>> near_mask(1, 4, offset=8, window=3, num_first=1)
    tensor([[True, True, True, True]])
    >>> near_mask(2, 5, offset=8, window=3, num_first=1).int()
    tensor([[1, 1, 1, 1, 0],
            [1, 0, 1, 1, 1]], dtype=torch.int32)
    """
    dropped = max(0, offset + num_queries - num_keys)
    key = _key_positions(num_keys, dropped, num_first, device)
    query = torch.arange(offset, offset + num_queries, device=device)[:, None]
    past = key <= query
    if window is None:
        return past
    return past & ((query - key < window) | (key < num_first))


def _key_positions(
    num_keys: int, dropped: int, num_first: int, device: torch.device | str | None
) -> Int[Tensor, " key"]:
    """Return where keys stand, if ``dropped`` are missing behind the first ones."""
    key = torch.arange(num_keys, device=device)
    return torch.where(key < num_first, key, key + dropped)


def _with_gap(x: Tensor, place: int, size: int, *, dim: int) -> Tensor:
    """Insert zeros along an axis."""
    first, last = x.split((place, x.shape[dim] - place), dim=dim)
    shape = list(x.shape)
    shape[dim] = size
    return torch.cat((first, x.new_zeros(shape), last), dim=dim)
