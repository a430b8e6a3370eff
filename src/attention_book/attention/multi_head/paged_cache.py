"""A paged cache (PagedAttention): keys and values in blocks of one size, from one pool.

Kwon et al. (2023). A contiguous KV cache reserves room for the longest text that might come; here a
text takes a block when it needs one, texts with the same beginning share its blocks, and a shared
block is copied only when a text writes into it (copy on write).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_book.attention.multi_head.kv_cache import KVCache
from attention_book.foundations.checks import check_sizes


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
    """The memory of a paged cache: blocks of keys and values, each lent to who needs it.

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


@dataclass(frozen=True, eq=False)
class PagedCache:
    """The keys and values of a batch of texts, each of its own length, in blocks of one pool.

    A text is a table of blocks and a length. :meth:`append` and :meth:`select` return a new
    cache, and the old one stays as it was, as with
    :class:`~attention_book.attention.KVCache`; the law is that :meth:`gather` gives the same
    numbers. For decoding only: gradients do not pass.

    Attributes:
        pool: The memory.
        tables: Each text's blocks.
        lengths: How many tokens each text has.

    >>> pool = BlockPool(8, block_size=4, num_heads=2, d_k=3)
    >>> prompt = KVCache(*torch.rand(2, 1, 2, 5, 3))  # one text of 5 tokens
    >>> beams = PagedCache.start(pool, 1).append(prompt).select(torch.tensor([0, 0, 0]))
    >>> pool.num_used  # three beams share the two blocks of the prompt
    2
    >>> grown = beams.append(KVCache(*torch.rand(2, 3, 2, 1, 3)))
    >>> pool.num_used  # the first writes into the half-full block, the others copy it
    4
    """

    pool: BlockPool
    tables: tuple[tuple[Block, ...], ...]
    lengths: tuple[int, ...]

    @classmethod
    def start(cls, pool: BlockPool, batch_size: int) -> "PagedCache":
        """Return the cache of texts that have no tokens yet.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        check_sizes(batch_size=batch_size)
        return cls(pool, ((),) * batch_size, (0,) * batch_size)

    @property
    def batch_size(self) -> int:
        """How many texts there are."""
        return len(self.tables)

    @property
    def mask(self) -> Bool[Tensor, "batch 1 key"]:
        """True = a token, False = behind the end of a text that is shorter than the longest."""
        lengths = torch.tensor(self.lengths, device=self.pool.keys.device)
        places = torch.arange(max(self.lengths), device=lengths.device)
        return (places < lengths[:, None])[:, None]

    def append(self, new: KVCache, num_new: tuple[int, ...] | None = None) -> "PagedCache":
        """Return the texts with more keys and values behind those they have.

        Args:
            new: What comes, (batch, head, key, feature).
            num_new: How many of each text's are real; the others are padding. None: all.

        Raises:
            ValueError: if the shapes do not fit, or the pool has too few free blocks.
        """
        num_new = (new.num_keys,) * new.batch_size if num_new is None else num_new
        self._check(new, num_new)
        keys, values = new.keys.detach(), new.values.detach()
        tables = tuple(
            self._grown(table, length, keys[row, :, :count], values[row, :, :count])
            for row, (table, length, count) in enumerate(
                zip(self.tables, self.lengths, num_new, strict=True)
            )
        )
        lengths = tuple(map(sum, zip(self.lengths, num_new, strict=True)))
        return PagedCache(self.pool, tables, lengths)

    def select(self, rows: Int[Tensor, " row"]) -> "PagedCache":
        """Return the texts with these numbers; one may come twice, and shares its blocks."""
        chosen = rows.tolist()
        tables = tuple(self.tables[row] for row in chosen)
        return PagedCache(self.pool, tables, tuple(self.lengths[row] for row in chosen))

    def gather(self) -> KVCache:
        """Return the keys and values as attention takes them, the shorter texts filled up.

        What is filled up is zero, and :attr:`mask` hides it.
        """
        longest = max(self.lengths)
        keys, values = (
            torch.stack([self._rows(memory, row, longest) for row in range(self.batch_size)])
            for memory in (self.pool.keys, self.pool.values)
        )
        return KVCache(keys, values)

    def _rows(self, memory: Tensor, row: int, longest: int) -> Tensor:
        """Return one text's rows of a memory, (head, key, feature), and zeros behind them."""
        _, heads, _, size = memory.shape
        rows, length = memory.new_zeros(heads, longest, size), self.lengths[row]
        if length:
            blocks = memory[[block.place for block in self.tables[row]]]
            rows[:, :length] = blocks.transpose(0, 1).flatten(1, 2)[:, :length]
        return rows

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

    def _check(self, new: KVCache, num_new: tuple[int, ...]) -> None:
        memory = (self.pool.keys, self.pool.values)
        sizes = [(each.shape[1], each.shape[3]) for each in memory]
        got = [(each.shape[1], each.shape[3]) for each in (new.keys, new.values)]
        if new.batch_size != self.batch_size or sizes != got:
            raise ValueError(
                f"new: expected {self.batch_size} texts with (heads, features) of keys and values "
                f"{sizes}, got {new.batch_size} with {got}"
            )
        if len(num_new) != self.batch_size or not all(0 <= n <= new.num_keys for n in num_new):
            raise ValueError(
                f"num_new: expected {self.batch_size} numbers from 0 to {new.num_keys}, "
                f"got {num_new}"
            )


__all__ = ["BlockPool", "PagedCache"]
