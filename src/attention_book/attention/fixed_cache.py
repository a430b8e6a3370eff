"""A cache of fixed size: memory for the longest text is taken once, and stays where it is.

On a GPU a step of a small decoder is mostly the CPU's orders. They can be recorded once and
replayed (CUDA graphs), as long as every step does the same at the same addresses: so nothing may
grow, and how much was read has to lie on the device, where each replay reads it.
"""

from copy import copy

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.attention.cache import KVCache, Room
from attention_book.foundations.checks import check_sizes


class FixedKVCache(KVCache):
    """A :class:`~attention_book.attention.KVCache` in memory of one size, for decoding alone.

    Until it is told otherwise it knows its length as a number, and returns the very rows that a
    cache that grows returns. After :meth:`on_device` its length is a tensor, and it returns the
    whole memory, whose end no query sees: then the same program does every step.

    Gradients do not pass, and a branch (a fork that goes on from where another went on already)
    takes memory of its own.

    Args:
        max_tokens: The most tokens that it can hold.
        window: As of ``KVCache``.
        num_first: As of ``KVCache``.

    >>> cache, token = FixedKVCache(max_tokens=4), torch.rand(1, 2, 1, 8)
    >>> _ = cache.extend(token, token)
    >>> recorded = cache.on_device(torch.tensor(1))
    >>> keys, _ = recorded.extend(2 * token, token)
    >>> keys.shape, recorded.position, cache.position
    (torch.Size([1, 2, 4, 8]), tensor(2), 1)
    """

    def __init__(self, *, max_tokens: int, window: int | None = None, num_first: int = 0) -> None:
        """Begin with nothing read; the first tokens say how large the memory is."""
        super().__init__(window=window, num_first=num_first)
        check_sizes(max_tokens=max_tokens)
        self.max_tokens = max_tokens

    @property
    def dropped(self) -> int:
        """How many keys are gone; none where the whole memory is seen."""
        return 0 if isinstance(self.position, Tensor) else super().dropped

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Write what is new behind what was read, and return all that is kept, or the memory.

        Raises:
            ValueError: if the shapes do not fit, or there is no room for so many; where the length
                lies on the device the caller has to know.
        """
        new = tuple(each.detach() for each in new)
        self._check(new)
        num_new = new[0].shape[2]
        if isinstance(self.position, Tensor):
            return self._extended_there(new, num_new)
        if self.position + num_new > self.max_tokens:
            raise ValueError(
                f"max_tokens: expected at least {self.position + num_new}, for the prompt and all "
                f"that is written, got {self.max_tokens}"
            )
        if self._room is None:
            self._room = Room(self.max_tokens, [each[:, :, :0] for each in new], zeros=True)
        elif not self._room.is_free(num_new, after=self.position):
            self._room = Room(self.max_tokens, self._read(), zeros=True)
        whole, gone = self._room.write(new), 0
        if self.window is not None:
            gone = self.dropped + max(0, self.num_keys - self.num_first - self.window + 1)
        self.position += num_new
        self.rows = tuple(self._kept(each, gone) for each in whole)
        return self.rows

    def on_device(self, length: Int[Tensor, ""]) -> "FixedKVCache":
        """Return a handle on the same memory whose length is this tensor, equal to the number.

        Raises:
            ValueError: if nothing was read yet: there is no memory.
        """
        if self._room is None:
            raise ValueError("cache: expected one that has read a token, got an empty one")
        there = copy(self)
        there.position, there.rows = length, self._room.memory
        return there

    def back_to(self, position: int) -> "FixedKVCache":
        """Return a handle on the past as it was after the first ``position`` tokens.

        Raises:
            ValueError: as of ``KVCache``, or if the length lies on the device.
        """
        if isinstance(self.position, Tensor):
            raise ValueError("cache: expected one whose length is a number, got one on a device")
        return super().back_to(position)  # type: ignore[return-value]

    def select(self, rows: Int[Tensor, " row"]) -> "FixedKVCache":
        """Return the past of the examples with these numbers, in memory of its own."""
        chosen = copy(self)
        if self._room is None:
            return chosen
        if isinstance(self.position, Tensor):
            chosen._room = Room(self.max_tokens, self._room.memory, rows, zeros=True)
            chosen.rows = chosen._room.memory
            return chosen
        chosen._room = Room(self.max_tokens, self._read(), rows, zeros=True)
        chosen.rows = tuple(self._kept(each, self.dropped) for each in chosen._room.write(()))
        return chosen

    def _extended_there(self, new: tuple[Tensor, ...], num_new: int) -> tuple[Tensor, ...]:
        assert self._room is not None
        places = self.position + torch.arange(num_new, device=new[0].device)
        for memory, rows in zip(self._room.memory, new, strict=True):
            memory.data.index_copy_(2, places, rows)
        self.position = self.position + num_new
        return self._room.memory

    def _read(self) -> tuple[Tensor, ...]:
        """Return all rows that were read, those that the window has dropped too."""
        assert self._room is not None
        return tuple(each[:, :, : self.position] for each in self._room.memory)

    def _kept(self, whole: Tensor, gone: int) -> Tensor:
        """Return of all rows those that a window keeps, where a number of them is gone."""
        if not gone:
            return whole
        last = whole[:, :, self.num_first + gone :]
        return torch.cat((whole[:, :, : self.num_first], last), 2) if self.num_first else last


__all__ = ["FixedKVCache"]
