"""A paged cache (PagedAttention): keys and values in blocks of one size, from one pool.

Kwon et al. (2023). A contiguous KV cache reserves room for the longest text that might come; here a
text takes a block when it needs one, texts with the same beginning share its blocks, and a shared
block is copied only when a text writes into it (copy on write).
"""

from copy import copy

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_book.attention.cache import KVCache
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.devices import sent


class Block:
    """A block of a pool: as long as anyone holds it, it is in use; then the pool has it back.

    Attributes:
        place: Which block of the pool's memory it is.
        used: How many rows have been written; a row is written only once.

    >>> pool = BlockPool(2, block_size=4, num_heads=1, d_k=1)
    >>> block = pool.take()
    >>> block.place, block.used, pool.num_free
    (0, 0, 1)
    >>> del block
    >>> pool.num_free
    2
    """

    def __init__(self, place: int, free: list[int]) -> None:
        """Hold one place of the pool."""
        self.place, self.used, self._free = place, 0, free

    def __del__(self) -> None:
        """Give the place back."""
        self._free.append(self.place)


class BlockPool:
    """The memory of a paged cache: blocks of keys and values, lent out as needed.

    Args:
        num_blocks: How many blocks there are.
        block_size: How many tokens' keys and values a block holds.
        num_heads: How many heads keys and values have.
        d_k: Size of a key.
        d_v: Size of a value; ``d_k`` when None.
        dtype: Type of the numbers.
        device: Where the memory lies.

    Raises:
        ValueError: if a size is below 1.

    >>> pool = BlockPool(100, block_size=16, num_heads=2, d_k=8)
    >>> pool.num_free, pool.num_used
    (100, 0)
    """

    def __init__(
        self,
        num_blocks: int,
        *,
        block_size: int,
        num_heads: int,
        d_k: int,
        d_v: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        """Allocate the memory; every block is free."""
        d_v = d_k if d_v is None else d_v
        check_sizes(num_blocks=num_blocks, block_size=block_size, num_heads=num_heads)
        check_sizes(d_k=d_k, d_v=d_v)
        self.num_blocks, self.block_size = num_blocks, block_size
        with torch.inference_mode(False):  # what is made while inferring could not be written to
            self.keys, self.values = (
                torch.zeros(num_blocks, num_heads, block_size, size, dtype=dtype, device=device)
                for size in (d_k, d_v)
            )
        self._free = list(range(num_blocks))[::-1]

    @property
    def num_free(self) -> int:
        """How many blocks nobody holds."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """How many blocks somebody holds; a shared one counts once."""
        return self.num_blocks - self.num_free

    def take(self) -> Block:
        """Return a free block.

        Raises:
            ValueError: if there is none.
        """
        if not self._free:
            raise ValueError(f"pool: expected a free block, got none of {self.num_blocks}")
        return Block(self._free.pop(), self._free)

    def copy(self, block: Block, *, used: int) -> Block:
        """Return a free block with the first ``used`` rows of another."""
        new = self.take()
        for memory in (self.keys, self.values):
            memory[new.place, :, :used] = memory[block.place, :, :used]
        new.used = used
        return new

    def write(self, block: Block, keys: Tensor, values: Tensor) -> None:
        """Write rows, (head, row, feature), behind those that the block has."""
        rows = slice(block.used, block.used + keys.shape[1])
        self.keys[block.place, :, rows] = keys
        self.values[block.place, :, rows] = values
        block.used = rows.stop


class PagedCache(KVCache):
    """The keys and values of a batch of texts, each of its own length, in blocks of one pool.

    A text is a table of blocks and a length. It is a handle as any
    :class:`~attention_book.attention.KVCache`: :meth:`extend` goes on, and what a
    :meth:`~attention_book.attention.KVCache.fork` holds stays; the law is that the same numbers
    come back. For decoding only: gradients do not pass.

    Args:
        pool: The memory.
        batch_size: How many texts begin.

    >>> pool = BlockPool(8, block_size=4, num_heads=2, d_k=3)
    >>> prompt = PagedCache(pool, 1)
    >>> _ = prompt.extend(*torch.rand(2, 1, 2, 5, 3))  # one text of 5 tokens
    >>> beams = prompt.select(torch.tensor([0, 0, 0]))
    >>> pool.num_used  # three beams share the two blocks of the prompt
    2
    >>> _ = beams.extend(*torch.rand(2, 3, 2, 1, 3))
    >>> pool.num_used  # while the prompt is held, the first writes behind it, the others copy
    4
    """

    def __init__(self, pool: BlockPool, batch_size: int) -> None:
        """Begin with texts that have no tokens."""
        super().__init__()
        check_sizes(batch_size=batch_size)
        self.pool = pool
        #: Each text's blocks, and how many tokens it has.
        self.tables: tuple[tuple[Block, ...], ...] = ((),) * batch_size
        self.lengths: tuple[int, ...] = (0,) * batch_size

    @property
    def batch_size(self) -> int:
        """How many texts there are."""
        return len(self.tables)

    @property
    def mask(self) -> Bool[Tensor, "batch 1 key"]:
        """True = a token, False = behind the end of a text that is shorter than the longest."""
        lengths = sent(torch.tensor(self.lengths, device="cpu"), self.pool.keys.device)
        places = torch.arange(max(self.lengths), device=lengths.device)
        return (places < lengths[:, None])[:, None]

    @property
    def num_keys(self) -> int:
        """How many keys the longest text has."""
        return max(self.lengths)

    def extend(self, *new: Tensor, num_new: tuple[int, ...] | None = None) -> tuple[Tensor, ...]:
        """Append keys and values to the texts, and return all, the shorter texts filled up.

        Args:
            new: What comes, keys and values, (batch, head, key, feature) each.
            num_new: How many of each text's are real; the others are padding. None: all.

        Raises:
            ValueError: if the shapes do not fit, or the pool has too few free blocks.
        """
        keys, values = (each.detach() for each in new)
        num_new = (keys.shape[2],) * len(keys) if num_new is None else num_new
        self._check_new(keys, values, num_new)
        self.tables = tuple(
            self._grown(table, length, keys[row, :, :count], values[row, :, :count])
            for row, (table, length, count) in enumerate(
                zip(self.tables, self.lengths, num_new, strict=True)
            )
        )
        self.lengths = tuple(map(sum, zip(self.lengths, num_new, strict=True)))
        self.position = self.num_keys
        return self.gather()

    def select(self, rows: Int[Tensor, " row"]) -> "PagedCache":
        """Return the texts with these numbers; one may come twice, and shares its blocks."""
        chosen, numbers = copy(self), rows.tolist()
        chosen.tables = tuple(self.tables[row] for row in numbers)
        chosen.lengths = tuple(self.lengths[row] for row in numbers)
        chosen.position = max(chosen.lengths)
        return chosen

    def back_to(self, position: int) -> "PagedCache":
        """Return a handle on the texts as they were after their first ``position`` tokens.

        Raises:
            ValueError: if one has fewer.
        """
        if not 0 <= position <= min(self.lengths):
            raise ValueError(
                f"position: expected one that all texts have reached, up to {min(self.lengths)}, "
                f"got {position}"
            )
        earlier = copy(self)
        num_blocks = -(-position // self.pool.block_size)
        earlier.tables = tuple(table[:num_blocks] for table in self.tables)
        earlier.lengths, earlier.position = (position,) * len(self.lengths), position
        return earlier

    def gather(self) -> tuple[Tensor, Tensor]:
        """Return the keys and values as attention takes them, the shorter texts filled up.

        What is filled up is zero, and :attr:`mask` hides it.
        """
        most = max(map(len, self.tables))
        places = [[b.place for b in table] + [0] * (most - len(table)) for table in self.tables]
        table = sent(torch.tensor(places, dtype=torch.long, device="cpu"), self.pool.keys.device)
        hidden = None if min(self.lengths) == self.num_keys else ~self.mask.mT[:, None]
        keys, values = (self._rows(m, table, hidden) for m in (self.pool.keys, self.pool.values))
        return keys, values

    def _rows(self, memory: Tensor, table: Tensor, hidden: Tensor | None) -> Tensor:
        """Return all texts' rows of a memory, (batch, head, key, feature), in one step."""
        blocks = memory[table]  # (batch, block, head, place in block, feature)
        rows = blocks.transpose(1, 2).flatten(2, 3)[:, :, : self.num_keys]
        return rows if hidden is None else rows.masked_fill(hidden, 0.0)

    def _grown(
        self, table: tuple[Block, ...], length: int, keys: Tensor, values: Tensor
    ) -> tuple[Block, ...]:
        """Return a text's table with rows appended, in its last block and in new ones."""
        blocks, start, size = list(table), 0, self.pool.block_size
        while start < keys.shape[1]:
            used = (length + start) % size
            if used == 0:  # all blocks are full
                blocks.append(self.pool.take())
            elif blocks[-1].used != used:  # someone else has written behind our last row
                blocks[-1] = self.pool.copy(blocks[-1], used=used)
            end = min(start + size - used, keys.shape[1])
            self.pool.write(blocks[-1], keys[:, start:end], values[:, start:end])
            start = end
        return tuple(blocks)

    def _check_new(self, keys: Tensor, values: Tensor, num_new: tuple[int, ...]) -> None:
        memory = (self.pool.keys, self.pool.values)
        sizes = [(each.shape[1], each.shape[3]) for each in memory]
        got = [(each.shape[1], each.shape[3]) for each in (keys, values)]
        if len(keys) != self.batch_size or sizes != got:
            raise ValueError(
                f"new: expected {self.batch_size} texts with (heads, features) of keys and values "
                f"{sizes}, got {len(keys)} with {got}"
            )
        num_keys = keys.shape[2]
        if len(num_new) != self.batch_size or not all(0 <= n <= num_keys for n in num_new):
            raise ValueError(
                f"num_new: expected {self.batch_size} numbers from 0 to {num_keys}, got {num_new}"
            )


__all__ = ["BlockPool", "PagedCache"]
