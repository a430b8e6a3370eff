"""Memory traffic: the bytes that attention moves between a small fast memory and a large slow one.

Counted exactly, use by use, as a cache with the rule "least recently used" (LRU) would move them.
Dao et al. (2022), "FlashAttention", count the same by formulas (IO complexity).
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from attention_book.foundations.checks import check_sizes

#: What a program does with a line: it reads it, which must be fetched unless it is at hand; it
#: changes a part, so that it must be brought back, too; or it makes the whole line anew, which
#: need not be fetched.
Use = Literal["read", "change", "make"]


@dataclass(frozen=True)
class Traffic:
    """What was moved.

    Attributes:
        bytes_read: From the large memory to the small one.
        bytes_written: Back.

    >>> Traffic(bytes_read=300, bytes_written=100).bytes_moved
    400
    """

    bytes_read: int
    bytes_written: int

    @property
    def bytes_moved(self) -> int:
        """Both together."""
        return self.bytes_read + self.bytes_written


def traffic(
    uses: Iterable[tuple[Hashable, Use]], *, num_lines: int, line_bytes: int = 64
) -> Traffic:
    """Count what a program moves that uses these lines in this order.

    The fast memory holds ``num_lines`` lines. When it is full, the line that has gone unused the
    longest makes way; if it was changed, it is written back first. What is still there at the end
    is written back, too.

    Args:
        uses: Which line is used, by any name, and how.
        num_lines: The lines that the fast memory has room for.
        line_bytes: Bytes of a line.

    Raises:
        ValueError: if a size is below 1.

    >>> twice = [("a", "read"), ("b", "read"), ("a", "read")]
    >>> [traffic(twice, num_lines=room).bytes_read for room in (1, 2)]
    [192, 128]
    >>> traffic([("a", "make"), ("a", "change")], num_lines=1)
    Traffic(bytes_read=0, bytes_written=64)
    """
    check_sizes(num_lines=num_lines, line_bytes=line_bytes)
    near: OrderedDict[Hashable, bool] = OrderedDict()  # the oldest first; whether it was changed
    read = written = 0
    for line, use in uses:
        changed = use != "read"
        if line in near:
            near.move_to_end(line)
            near[line] |= changed
            continue
        read += use != "make"
        if len(near) == num_lines:
            written += near.popitem(last=False)[1]
        near[line] = changed
    written += sum(near.values())
    return Traffic(read * line_bytes, written * line_bytes)


def attention_traffic(
    *,
    num_tokens: int,
    d_k: int,
    fast_bytes: int,
    tile: int = 1,
    scores_written: bool = False,
    bytes_per_number: int = 4,
) -> Traffic:
    """Count what self-attention of one head moves, ``tile`` queries at a time.

    A line is a query, a key, a value, an output, or as many scores of one query. With the online
    softmax a tile goes through the keys once, and meets each key and value in turn. With
    ``scores_written`` it does not: a first pass writes the scores out, a second turns them into
    weights, and a third reads these and the values.

    As long as a tile's queries and outputs and two keys with their values fit, and all the keys do
    not (:math:`2r + 4 \\le M < n`, the fast memory's size M counted in lines), the bytes are
    exactly

    .. math::
        b\\,d\\,\\Bigl(2n + 2n \\lceil n / r \\rceil
        \\;\\bigl[{} + 4n \\lceil n / d \\rceil\\bigr]\\Bigr)

    for r queries at a time and b bytes per number; the bracket is for scores and weights written
    out. With the largest r that fits, the middle term is :math:`\\Theta(n^2 d^2)` over the size of
    the fast memory: Dao et al. (2022), theorem 2. A query's m and s are not counted.

    Args:
        num_tokens: Queries, and keys.
        d_k: Size of a query, a key and a value.
        fast_bytes: Bytes of the fast memory; what is no whole line stays unused.
        tile: How many queries meet a key before the next key comes.
        scores_written: Whether the scores are written out.
        bytes_per_number: 4 in single precision.

    Raises:
        ValueError: if a size is below 1, or the fast memory holds no line.

    >>> sizes = {"num_tokens": 128, "d_k": 16, "fast_bytes": 4096}
    >>> least = 4 * 128 * 16 * 4  # queries, keys, values and outputs once
    >>> [attention_traffic(**sizes, tile=tile).bytes_moved / least for tile in (1, 16)]
    [64.5, 4.5]
    >>> attention_traffic(**sizes, tile=16, scores_written=True).bytes_moved / least
    12.5
    """
    check_sizes(num_tokens=num_tokens, d_k=d_k, fast_bytes=fast_bytes, tile=tile)
    check_sizes(bytes_per_number=bytes_per_number)
    line_bytes = d_k * bytes_per_number
    if fast_bytes < line_bytes:
        raise ValueError(
            f"fast_bytes: expected room for a line of {line_bytes} bytes, got {fast_bytes}"
        )
    way = _scores_written if scores_written else _online
    uses = way(num_tokens, d_k, tile)
    return traffic(uses, num_lines=fast_bytes // line_bytes, line_bytes=line_bytes)


def largest_tile(*, num_tokens: int, d_k: int, fast_bytes: int, bytes_per_number: int = 4) -> int:
    """Return how many queries at a time fit: a power of two, or all of them.

    Their queries and outputs must fit, and two keys with their values. Among the powers of two it
    is the tile that moves the least.

    Raises:
        ValueError: if a size is below 1.

    >>> [largest_tile(num_tokens=128, d_k=16, fast_bytes=1024 * kib) for kib in (1, 4, 64)]
    [4, 16, 128]
    """
    check_sizes(num_tokens=num_tokens, d_k=d_k, fast_bytes=fast_bytes)
    check_sizes(bytes_per_number=bytes_per_number)
    fits = (fast_bytes // (d_k * bytes_per_number) - 4) // 2
    return min(num_tokens, 1 << max(fits, 1).bit_length() - 1)


def _in_tiles(num_tokens: int, tile: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the query and the key of each score, and whether it is the query's first key."""
    for start in range(0, num_tokens, tile):
        for key in range(num_tokens):
            for query in range(start, min(start + tile, num_tokens)):
                yield query, key, key == 0


def _online(num_tokens: int, d_k: int, tile: int) -> Iterator[tuple[Hashable, Use]]:
    for i, j, is_first in _in_tiles(num_tokens, tile):
        yield ("query", i), "read"
        yield ("key", j), "read"
        yield ("value", j), "read"
        yield ("output", i), "make" if is_first else "change"


def _scores_written(num_tokens: int, d_k: int, tile: int) -> Iterator[tuple[Hashable, Use]]:
    for i, j, _ in _in_tiles(num_tokens, tile):
        yield ("query", i), "read"
        yield ("key", j), "read"
        yield ("score", i, j // d_k), "change" if j % d_k else "make"
    for i in range(num_tokens):
        for part in range(-(-num_tokens // d_k)):
            yield ("score", i, part), "read"
            yield ("weight", i, part), "make"
    for i, j, is_first in _in_tiles(num_tokens, tile):
        yield ("weight", i, j // d_k), "read"
        yield ("value", j), "read"
        yield ("output", i), "make" if is_first else "change"


__all__ = ["Traffic", "attention_traffic", "largest_tile", "traffic"]
