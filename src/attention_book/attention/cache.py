"""The KV cache: keys and values of what was read, kept for what is still to come.

A cache is a handle on a past that never changes: :meth:`KVCache.extend` lets the handle go on to a
longer past, and whoever holds a :meth:`KVCache.fork` stays where it was. So a search may branch
anywhere, and nothing is copied for it.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import Offset, TokenIds, TokenMask


class KVCache:
    """What one attention layer keeps of the text so far: each head's keys and values.

    Give it to a call, and the call's keys and values are appended to it. What is kept never
    changes, and forks share it in memory, so don't write into the tensors.

    Args:
        window: Keep only what a query sees through such a window, its own position included;
            None: everything.
        num_first: With a window, keep the text's first positions besides.

    >>> cache, token = KVCache(window=3, num_first=1), torch.rand(1, 2, 1, 4)
    >>> for _ in range(9):
    ...     keys, values = cache.extend(token, token)
    >>> cache.position, cache.num_keys, cache.dropped
    (9, 4, 5)
    >>> longer = cache.fork()
    >>> _ = longer.extend(token, token)
    >>> cache.position, longer.position
    (9, 10)
    """

    def __init__(self, *, window: int | None = None, num_first: int = 0) -> None:
        """Begin with nothing read."""
        check_sizes(window=1 if window is None else window)
        if num_first < 0:
            raise ValueError(f"num_first: expected 0 or more, got {num_first}")
        self.window, self.num_first = window, num_first
        #: How many tokens were read, and so where the next one stands.
        self.position: Offset = 0  # a tensor in a FixedKVCache that is on its device
        #: The keys and the values that are kept, each (batch, head, key, feature).
        self.rows: tuple[Tensor, ...] = ()
        self._room: Room | None = None

    @property
    def num_keys(self) -> int:
        """How many keys are kept."""
        return self.rows[0].shape[2] if self.rows else 0

    @property
    def dropped(self) -> int:
        """How many keys are gone, which stood right behind the first ones."""
        return int(self.position) - self.num_keys

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Append what is new, and return all that is kept.

        With a window, what no query from here on will see is dropped first. Without gradients
        only the new rows are written, behind the others, while there is room.

        Args:
            new: The new tokens' keys and values, each (batch, head, key, feature).

        >>> cache = KVCache()
        >>> _ = cache.extend(torch.zeros(2, 4, 5, 8), torch.zeros(2, 4, 5, 8))
        >>> cache.extend(torch.ones(2, 4, 1, 8), torch.ones(2, 4, 1, 8))[0].shape
        torch.Size([2, 4, 6, 8])
        """
        self._check(new)
        num_new, length = new[0].shape[2], self.num_keys
        if not self.rows:
            self.rows = new
        elif self.window is not None:
            gone = max(0, length - self.num_first - self.window + 1)
            kept = (
                (old[:, :, : self.num_first], old[:, :, self.num_first + gone :])
                for old in self.rows
            )
            self.rows = tuple(
                torch.cat((*old, row), dim=2) for old, row in zip(kept, new, strict=True)
            )
        elif torch.is_grad_enabled() or torch.compiler.is_compiling() or not self._alike(new):
            self.rows = tuple(torch.cat(pair, dim=2) for pair in zip(self.rows, new, strict=True))
        else:
            if self._room is None or not self._room.is_free(num_new, after=length):
                self._room = Room(2 * (length + num_new), self.rows)
            self.rows = self._room.write(new)
        self.position += num_new
        return self.rows

    def fork(self) -> "KVCache":
        """Return another handle on the same past."""
        return copy(self)

    def back_to(self, position: int) -> "KVCache":
        """Return a handle on the past as it was after the first ``position`` tokens.

        Raises:
            ValueError: if these were never read, or a window has dropped what they saw.

        >>> cache, five = KVCache(), torch.rand(1, 2, 5, 4)
        >>> _ = cache.extend(five, five)
        >>> cache.back_to(3).num_keys
        3
        """
        gone = self.position - position
        # The first query to come sees window - 1 keys before its own.
        missing = self.dropped and self.num_keys - gone < self.num_first + (self.window or 1) - 1
        if gone < 0 or position < 0 or missing:
            raise ValueError(
                f"position: expected one that was read, of which the window keeps what it saw, up "
                f"to {self.position}, got {position}"
            )
        earlier = copy(self)
        earlier.rows = tuple(row[:, :, : row.shape[2] - gone] for row in self.rows)
        earlier.position = position
        return earlier

    def select(self, rows: Int[Tensor, " row"]) -> "KVCache":
        """Return the past of the examples with these numbers, in this order; one may come twice.

        Without gradients the room behind the last key is kept: what beam search picks at every
        step is copied once, and the next key is written behind it.
        """
        chosen = copy(self)
        if self._room is not None and not torch.is_grad_enabled():
            chosen._room = Room(self._room.size, self.rows, rows)
            chosen.rows = chosen._room.write(())
        else:
            chosen.rows, chosen._room = tuple(each[rows] for each in self.rows), None
        return chosen

    def __repr__(self) -> str:
        """Say how much is kept."""
        window = "" if self.window is None else f", window={self.window}"
        kind = type(self).__name__
        return f"{kind}(position={self.position}, num_keys={self.num_keys}{window})"

    def _alike(self, new: Sequence[Tensor]) -> bool:
        """Whether one memory can hold both: types and devices are the same."""
        return all(
            (old.dtype, old.device) == (row.dtype, row.device)
            for old, row in zip(self.rows, new, strict=True)
        )

    def _check(self, new: Sequence[Tensor]) -> None:
        known = self.rows or new
        for row, old in zip(new, known, strict=True):
            expected = (*known[0].shape[:2], *new[0].shape[2:3], *old.shape[3:])
            if row.ndim != 4 or tuple(row.shape) != expected:
                raise ValueError(
                    "new: expected the axes (batch, head, key, feature), as many keys as values, "
                    f"and the batch, heads and features of what was read, {expected}, "
                    f"got the shape {tuple(row.shape)}"
                )


class Cache:
    """A model's past: one cache for each layer, and which of its tokens are no padding.

    A handle as each of them: give it to a call of the model, and it goes on by the call's tokens.

    Args:
        layers: The caches.
        batch_size: How many texts there are.

    >>> cache = Cache([KVCache(), KVCache()], batch_size=2)
    >>> cache.position, cache.select(torch.tensor([1, 1, 0])).batch_size
    (0, 3)
    """

    def __init__(self, layers: Sequence[KVCache], *, batch_size: int) -> None:
        """Begin with nothing read."""
        check_sizes(batch_size=batch_size)
        self.layers, self.batch_size = tuple(layers), batch_size
        #: Which tokens are no padding, (batch, token), or None where all are.
        self.real: TokenMask | None = None

    @property
    def position(self) -> Offset:
        """How many tokens were read, and so where the next one stands."""
        return self.layers[0].position

    def on_device(self) -> "Cache":
        """Return the past of fixed size with its length on the device: what goes on from it there.

        Every step from here on is the same program at any length, and can be recorded and replayed:
        :class:`~attention_book.decoding.RecordedStep`.

        Raises:
            ValueError: if it has no fixed size, nothing was read, or there is padding.
        """
        if not all(hasattr(layer, "on_device") for layer in self.layers):
            raise ValueError("cache: expected one of fixed size, from start(…, max_tokens=…)")
        if self.real is not None:
            raise ValueError("cache: expected texts without padding, got some")
        device = self.layers[0].rows[0].device if self.layers[0].rows else "cpu"
        length = torch.full((), int(self.position), dtype=torch.long, device=device)
        layers: list[Any] = list(self.layers)
        return self._with([layer.on_device(length) for layer in layers], None)

    def note(self, tokens: TokenIds, real: TokenMask | None) -> Bool[Tensor, "batch read"] | None:
        """Remember which of the new tokens are real, and return it for all; None: all are.

        >>> cache, tokens = Cache([KVCache()], batch_size=1), torch.tensor([[0, 5]])
        >>> cache.note(tokens, tokens > 0)
        tensor([[False,  True]])
        """
        if real is not None or self.real is not None:
            past = self.real
            if past is None:
                past = tokens.new_ones(len(tokens), int(self.position), dtype=torch.bool)
            new = torch.ones_like(tokens, dtype=torch.bool) if real is None else real
            self.real = torch.cat((past, new), dim=1)
        return self.real

    def fork(self) -> "Cache":
        """Return another handle on the same past."""
        return self._with([layer.fork() for layer in self.layers], self.real)

    def back_to(self, position: int) -> "Cache":
        """Return a handle on the past as it was after the first ``position`` tokens."""
        real = None if self.real is None else self.real[:, :position]
        return self._with([layer.back_to(position) for layer in self.layers], real)

    def select(self, rows: Int[Tensor, " row"]) -> "Cache":
        """Return the past of the texts with these numbers; one may come twice."""
        real = None if self.real is None else self.real[rows]
        return self._with([layer.select(rows) for layer in self.layers], real, len(rows))

    def _with(
        self, layers: Sequence[KVCache], real: Tensor | None, batch_size: int | None = None
    ) -> "Cache":
        other = copy(self)
        other.layers, other.real = tuple(layers), real
        other.batch_size = self.batch_size if batch_size is None else batch_size
        return other


class Room:
    """Memory with free rows behind the last one written.

    To append one row to n others, ``torch.cat`` copies all n: appending n rows one by one makes
    about :math:`n^2 / 2` copies. Here a new row is written behind the last one and nothing is
    copied, until the room is full and all rows move to one of twice the size, so that n rows cost
    fewer than 2n copies, as in a Python list. A row is written once, so what :meth:`write`
    returned never changes; only one thread at a time may write.
    """

    def __init__(
        self,
        size: int,
        rows: Sequence[Tensor],
        chosen: Int[Tensor, " row"] | None = None,
        *,
        zeros: bool = False,
    ) -> None:
        """Move rows, or those of chosen examples, to a place with ``size`` of them.

        Without ``zeros`` anything may lie behind the last row.
        """
        make = torch.zeros if zeros else torch.empty
        self.size, self.used = size, rows[0].shape[2]
        batch_size = len(rows[0]) if chosen is None else len(chosen)
        # What is made while only inferring could not be written to afterwards.
        with torch.inference_mode(False):
            self.memory = tuple(
                make(
                    (batch_size, old.shape[1], size, old.shape[3]),
                    dtype=old.dtype,
                    device=old.device,
                )
                for old in rows
            )
        for place, old in zip(self.memory, rows, strict=True):
            if chosen is None:
                place.data[:, :, : self.used] = old
            else:
                torch.index_select(old, 0, chosen, out=place.data[:, :, : self.used])

    def is_free(self, num_rows: int, *, after: int) -> bool:
        """Whether ``num_rows`` rows can be written right behind the first ``after`` ones."""
        return after == self.used and after + num_rows <= self.size

    def write(self, new: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Write behind the last row, and return all rows."""
        start, self.used = self.used, self.used + (new[0].shape[2] if new else 0)
        for place, rows in zip(self.memory, new, strict=False):
            # A backward pass may still need the rows before. They don't change, but autograd
            # sees one memory and would refuse: writing to ``data`` bypasses it.
            place.data[:, :, start : self.used] = rows
        return tuple(place.data[:, :, : self.used] for place in self.memory)


__all__ = ["Cache", "KVCache"]
