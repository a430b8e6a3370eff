"""The KV cache: each head's keys and values, projected once, growing token by token."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Room:
    """Preallocated memory for keys and values, with free rows after the last one written.

    To append one row to n others, ``torch.cat`` copies all n: appending n rows one by one
    makes about :math:`n^2 / 2` copies. Here a new row is written after the last one and
    nothing is copied, until the room is full and all rows move to a larger one. Each new room
    has twice the size needed, so n rows cost fewer than 2n copies, as in a Python list.

    A row is written only once, so the tensors that :meth:`write` returned never change. A
    cache with fewer rows than have been written cannot append here, because the row after its
    last one is taken; :meth:`has_place` tells. Only one thread at a time may write.

    Args:
        size: How many rows there is room for.
        like: One tensor (batch, head, row, feature) for each kind of row: it says everything
            about the memory but the number of rows.
        batch_size: How many examples; as many as ``like`` has when None.

    >>> room = Room(3, like=(torch.zeros(1, 1, 0, 2),))
    >>> (one,) = room.write(torch.ones(1, 1, 1, 2))
    >>> (two,) = room.write(2 * torch.ones(1, 1, 1, 2))
    >>> one, two
    (tensor([[[[1., 1.]]]]), tensor([[[[1., 1.],
              [2., 2.]]]]))
    >>> room.has_place(1, after=2), room.has_place(2, after=2), room.has_place(1, after=1)
    (True, False, False)
    """

    def __init__(
        self, size: int, *, like: tuple[Tensor, ...], batch_size: int | None = None
    ) -> None:
        """Allocate the memory; nothing is written yet."""
        self.size, self.used = size, 0
        # What is made while only inferring could not be written to afterwards.
        with torch.inference_mode(False):
            self.memory = tuple(
                torch.empty(
                    len(each) if batch_size is None else batch_size,
                    each.shape[1],
                    size,
                    each.shape[3],
                    dtype=each.dtype,
                    device=each.device,
                )
                for each in like
            )

    def has_place(self, num_rows: int, *, after: int) -> bool:
        """Whether ``num_rows`` rows can be written right after the first ``after`` ones."""
        return after == self.used and after + num_rows <= self.size

    def write(self, *rows: Tensor) -> tuple[Tensor, ...]:
        """Append rows, one tensor for each kind, and return all rows.

        Raises:
            ValueError: if the room is too small.
        """
        start, end = self.used, self.used + rows[0].shape[2]
        if end > self.size:
            raise ValueError(f"rows: expected at most {self.size - start}, got {end - start}")
        self.used = end
        for memory, new in zip(self.memory, rows, strict=True):
            # A backward pass may still need the rows before. They don't change, but autograd
            # sees one memory and would refuse: writing to ``data`` bypasses it.
            memory.data[:, :, start:end] = new
        return tuple(memory.data[:, :, :end] for memory in self.memory)

    def select(self, rows: Int[Tensor, " row"], *, used: int) -> "Room":
        """Return a room of the same size with the first ``used`` rows of these examples.

        Each is copied once, to the place where it stays, and the place behind is free again.
        """
        room = Room(self.size, like=self.memory, batch_size=len(rows))
        for mine, new in zip(self.memory, room.memory, strict=True):
            torch.index_select(mine.data[:, :, :used], 0, rows, out=new.data[:, :, :used])
        room.used = used
        return room


@dataclass(frozen=True, eq=False)
class KVCache:
    """The keys and values of each head, projected once and reused at every step.

    A decoder that writes one token at a time appends one key and one value per step;
    an encoder's output is projected once for all steps. :meth:`append` and :meth:`select`
    return a new one, and the old one stays as it was. What one grew from another they may
    share in memory, so don't write into the tensors.

    Attributes:
        keys: (batch, head, key, d_k).
        values: (batch, head, key, d_v).

    Raises:
        ValueError: if there is not exactly one value for each key.

    >>> past = KVCache(torch.rand(2, 4, 5, 8), torch.rand(2, 4, 5, 8))
    >>> new = KVCache(torch.rand(2, 4, 1, 8), torch.rand(2, 4, 1, 8))
    >>> past.append(new).num_keys
    6
    """

    keys: Float[Tensor, "batch head key d_k"]
    values: Float[Tensor, "batch head key d_v"]
    _room: Room | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the axes."""
        if self.keys.ndim != 4 or self.values.shape[:-1] != self.keys.shape[:-1]:
            raise ValueError(
                "keys and values: expected the axes (batch, head, key, d_k) and "
                "(batch, head, key, d_v), "
                f"got the shapes {tuple(self.keys.shape)} and {tuple(self.values.shape)}"
            )

    @property
    def batch_size(self) -> int:
        """How many examples there are."""
        return self.keys.shape[0]

    @property
    def num_heads(self) -> int:
        """How many heads there are."""
        return self.keys.shape[1]

    @property
    def num_keys(self) -> int:
        """How many keys each example and each head has."""
        return self.keys.shape[2]

    @property
    def position(self) -> int:
        """How many tokens were read, and so where the next one stands."""
        return self.num_keys

    def append(self, other: "KVCache") -> "KVCache":
        """Return these keys and values, and the other's after them.

        Without gradients only the other's are written, behind these, while there is room.

        Raises:
            ValueError: if the other's batch, heads or features are different.
        """
        check_same_axes(self, other)
        if torch.is_grad_enabled() or not _alike(self, other):
            return KVCache(
                torch.cat([self.keys, other.keys], dim=2),
                torch.cat([self.values, other.values], dim=2),
            )
        room = self._room
        if room is None or not room.has_place(other.num_keys, after=self.num_keys):
            room = Room(2 * (self.num_keys + other.num_keys), like=(self.keys, self.values))
            room.write(self.keys, self.values)
        room.write(other.keys, other.values)
        return KVCache._in(room)

    def select(self, rows: Int[Tensor, " row"]) -> "KVCache":
        """Return the examples with these numbers, in this order; one may come twice.

        Without gradients the room behind the last key is kept: what beam search picks at
        every step is copied once, and the next key is written behind it.

        >>> both = KVCache(torch.rand(2, 4, 5, 8), torch.rand(2, 4, 5, 8))
        >>> both.select(torch.tensor([1, 1, 0])).batch_size
        3
        """
        if self._room is None or torch.is_grad_enabled():
            return KVCache(self.keys[rows], self.values[rows])
        return KVCache._in(self._room.select(rows, used=self.num_keys))

    @classmethod
    def _in(cls, room: Room) -> "KVCache":
        """Return all that is written in a room, with the room to go on in."""
        written = cls(*(memory.data[:, :, : room.used] for memory in room.memory))
        object.__setattr__(written, "_room", room)  # safe: the object is new and not shared yet
        return written

    def contiguous(self) -> "KVCache":
        """Return the same with each head's keys side by side in memory, and its values.

        They come from :class:`~attention_book.attention.MultiHeadAttention` as views of one
        projection, a head's between those of the others. To copy them once pays where they
        are read often.

        >>> keys = torch.rand(2, 5, 4, 8).transpose(1, 2)
        >>> KVCache(keys, keys).contiguous().keys.stride()
        (160, 40, 8, 1)
        """
        return KVCache(self.keys.contiguous(), self.values.contiguous())


def check_same_axes(first: KVCache, second: KVCache) -> None:
    """Check that the second's keys and values can stand behind the first's.

    Raises:
        ValueError: if their batch, heads or features are different.

    >>> check_same_axes(*(KVCache(torch.rand(2, 4, n, 8), torch.rand(2, 4, n, 8)) for n in (5, 1)))
    """
    for name in ("keys", "values"):
        mine, others = getattr(first, name), getattr(second, name)
        expected = (*mine.shape[:2], others.shape[2], mine.shape[3])
        if tuple(others.shape) != expected:
            raise ValueError(
                f"other.{name}: expected the batch, heads and features of the first, "
                f"{expected}, got the shape {tuple(others.shape)}"
            )


def _alike(first: KVCache, second: KVCache) -> bool:
    """Whether one memory can hold both: types and devices are the same."""
    pairs = ((first.keys, second.keys), (first.values, second.values))
    return all((a.dtype, a.device) == (b.dtype, b.device) for a, b in pairs)
