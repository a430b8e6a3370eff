"""Memory with room behind the last row: one more is written there, and the others stay."""

import torch
from torch import Tensor


class Room:
    """Rows of keys and of values, with room for more behind the last.

    To put one row after n others, ``torch.cat`` copies all n: for n rows, one by one, about
    :math:`n^2 / 2` copies. Here a new row is written behind the last and nothing is copied,
    until the room is full and all rows move to a larger one. Each is twice as large as it
    must be, so that the copies for n rows stay below 2n. A Python list grows in this way.

    What was written is never written again, so the rows that :meth:`write` returned stay as
    they are. Who has fewer rows than are written must not go on here, since the place behind
    its last row is taken: :meth:`has_place` tells. One thread at a time may write.

    Args:
        size: How many rows there is room for.
        like: One tensor (batch, head, row, feature) for each kind of row: it says everything
            about the memory but the number of rows.

    >>> room = Room(3, like=(torch.zeros(1, 1, 0, 2),))
    >>> (one,) = room.write(torch.ones(1, 1, 1, 2))
    >>> (two,) = room.write(2 * torch.ones(1, 1, 1, 2))
    >>> one, two
    (tensor([[[[1., 1.]]]]), tensor([[[[1., 1.],
              [2., 2.]]]]))
    >>> room.has_place(1, after=2), room.has_place(2, after=2), room.has_place(1, after=1)
    (True, False, False)
    """

    def __init__(self, size: int, *, like: tuple[Tensor, ...]) -> None:
        """Take the memory; nothing is written yet."""
        self.size, self.used = size, 0
        # What is made while only inferring could not be written to afterwards.
        with torch.inference_mode(mode=False):
            self.memory = tuple(
                torch.empty(
                    *each.shape[:2], size, each.shape[3], dtype=each.dtype, device=each.device
                )
                for each in like
            )

    def has_place(self, num_rows: int, *, after: int) -> bool:
        """Whether so many rows can be written behind the first ``after`` ones."""
        return after == self.used and after + num_rows <= self.size

    def write(self, *rows: Tensor) -> tuple[Tensor, ...]:
        """Write behind the last row, one tensor for each kind, and return all rows.

        Raises:
            ValueError: if the room is too small.
        """
        start, end = self.used, self.used + rows[0].shape[2]
        if end > self.size:
            raise ValueError(f"rows: expected at most {self.size - start}, got {end - start}")
        self.used = end
        for memory, new in zip(self.memory, rows, strict=True):
            # A backward pass may still need the rows before. They don't change, but autograd
            # sees one memory and would refuse: ``data`` doesn't tell it.
            memory.data[:, :, start:end] = new
        return tuple(memory.data[:, :, :end] for memory in self.memory)
