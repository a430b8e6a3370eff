"""ALiBi (Press et al. 2022): scores fall linearly with distance, in each head at its own rate."""

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.positions.scheme import GrowingTable, Positions
from attention_book.attention.positions.t5_buckets import check_heads
from attention_book.attention.visibility import Places
from attention_book.foundations.checks import check_floating, check_sizes
from attention_book.foundations.shapes import HeadBias, HeadQueries


def alibi_slopes(num_heads: int, *, dtype: torch.dtype = torch.float32) -> Float[Tensor, " head"]:
    """Return how fast each head's scores fall with distance.

    .. math:: m_h = 2^{-8h/H}, \\qquad h = 1, \\dots, H

    Press, Smith and Lewis (2022), section 3. If H is no power of two, the authors' code
    takes the slopes of the power of two below it, and fills up with every other one of
    the power above.

    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    check_sizes(num_heads=num_heads)
    return _exact(num_heads).to(dtype).to(torch.get_default_device())


class AlibiPositions(Positions):
    """Lower every score in proportion to the distance: nothing to learn.

    .. math:: e_{ij} = \\frac{q_i^\\top k_j}{\\sqrt{d_k}} - m_h \\, |i - j|

    Press, Smith and Lewis (2022), section 3, "attention with linear biases". The paper
    looks back only; here keys ahead of the query count alike.

    Args:
        num_heads: Number of heads; the slopes are those of :func:`alibi_slopes`.

    >>> AlibiPositions(num_heads=8).bias(torch.rand(1, 8, 2, 4), Places(2, 3))[0, 0]
    tensor([[ 0.0000, -0.5000, -1.0000],
            [-0.5000,  0.0000, -0.5000]])
    """

    def __init__(self, *, num_heads: int) -> None:
        """Keep the number of heads; nothing is learned."""
        super().__init__()
        check_sizes(num_heads=num_heads)
        self.num_heads = num_heads
        self._slopes = GrowingTable(partial(_column, num_heads=num_heads))  # a row is a head

    def bias(self, queries: HeadQueries, at: Places, *, scale: float | None = None) -> HeadBias:
        """Return the falling biases of all pairs of positions, the same for every example.

        Raises:
            ValueError: if the queries do not have num_heads heads.
        """
        check_floating("queries", queries)
        check_heads(queries, self.num_heads)
        far = at.distances(queries.device).abs()
        # Half precision is too coarse for large distances: computed in single, then rounded.
        like = queries.new_empty(0, dtype=torch.promote_types(queries.dtype, torch.float32))
        if torch.compiler.is_compiling():  # a graph keeps no table between calls
            slopes = torch.exp2(_exponents(self.num_heads, like))
        else:
            slopes = self._slopes.rows(self.num_heads, offset=0, like=like)[:, 0]
        falling = slopes[:, None, None] * -far
        return falling.to(queries.dtype)[None]

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"num_heads={self.num_heads}"


def _exact(num_heads: int) -> Float[Tensor, " head"]:
    """Return the slopes in double precision; on the CPU, for not every device has it."""
    below = 2 ** math.floor(math.log2(num_heads))
    slopes = _geometric(below)
    if below < num_heads:
        slopes = torch.cat((slopes, _geometric(2 * below)[0::2][: num_heads - below]))
    return slopes


def _geometric(num_heads: int) -> Float[Tensor, " head"]:
    head = torch.arange(1, num_heads + 1, dtype=torch.float64, device="cpu")
    slopes: Tensor = 2 ** (-8 / num_heads * head)
    return slopes


def _column(_: int, *, num_heads: int) -> Float[Tensor, "head 1"]:
    return _exact(num_heads)[:, None]


def _exponents(num_heads: int, like: Tensor) -> Float[Tensor, " head"]:
    """Return to which power of 2 each slope is, in the type and on the device of ``like``.

    Those that fill up lie halfway between the others.
    """
    below = 2 ** math.floor(math.log2(num_heads))
    head = torch.arange(1, num_heads + 1, dtype=like.dtype, device=like.device)
    steps: Tensor = torch.where(head > below, head - below - 0.5, head) * (-8 / below)
    return steps
