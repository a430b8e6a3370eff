"""The T5 bias (Raffel et al. 2020): a learned number for each head and range of distances."""

import math

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attention_book.attention.positions.scheme import Positions
from attention_book.attention.visibility import Places
from attention_book.foundations.checks import check_floating, check_sizes
from attention_book.foundations.shapes import HeadBias, HeadQueries

Distances = Int[Tensor, "*any"]


def relative_bucket(
    distance: Distances,
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> Distances:
    """Return the bucket of each distance :math:`j - i` (key minus query).

    .. math::

        b(n) = \\begin{cases} n & n < e \\\\
        \\min\\Bigl(B - 1,\\; e + \\Bigl\\lfloor (B - e)
        \\frac{\\ln(n / e)}{\\ln(m / e)} \\Bigr\\rfloor\\Bigr) & n \\ge e \\end{cases},
        \\qquad e = B / 2

    Near distances have buckets of their own, far ones share ever wider buckets. Of all
    buckets, keys behind the query get the first half and keys ahead of it the second;
    B is that half. If the scheme is not bidirectional, all buckets look back, and keys
    ahead share bucket 0 with the query itself. Raffel et al. (2020), section 2.1.

    Args:
        distance: Key position minus query position.
        num_buckets: Number of buckets, even (bidirectional: a multiple of 4).
        max_distance: m; from here on all distances share the last bucket.
        bidirectional: Whether keys ahead of the query have buckets of their own.

    Raises:
        ValueError: if the buckets can't be halved, or don't reach max_distance.

    >>> relative_bucket(torch.tensor([0, -1, -7, -8, -16, -127, -5000, 1, 5000]))
    tensor([ 0,  1,  7,  8, 10, 15, 15, 17, 31])
    """
    _check_buckets(num_buckets, max_distance, bidirectional)
    if bidirectional:
        side = num_buckets // 2
        first, far = side * (distance > 0), distance.abs()
    else:
        side = num_buckets
        first, far = torch.zeros_like(distance), (-distance).clamp(min=0)
    exact = side // 2
    bucket = far.clamp(max=exact).long()
    for begins in _first_distances(exact, side, max_distance):
        bucket = bucket + (far >= begins)
    return first + bucket


class T5Buckets(Positions):
    """Add a learned number to the scores, chosen by the head and the distance's bucket.

    .. math:: e_{ij} = \\frac{q_i^\\top k_j}{\\sqrt{d_k}} + r_{h,\\, b(j - i)}

    Raffel et al. (2020), section 2.1 (T5, which does not divide by :math:`\\sqrt{d_k}`);
    the buckets are those of :func:`relative_bucket`.

    Args:
        num_heads: Number of heads, each with its own numbers.
        num_buckets: Number of buckets.
        max_distance: From here on all distances share a bucket.
        bidirectional: True in an encoder; False where no key is ahead of its query.

    >>> positions = T5Buckets(num_heads=2, bidirectional=False)
    >>> positions.bias(torch.rand(1, 2, 3, 4), Places(3, 5, offset=2)).shape
    torch.Size([1, 2, 3, 5])
    """

    def __init__(
        self,
        *,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool,
    ) -> None:
        """Start with zeros: at first every distance is alike."""
        super().__init__()
        check_sizes(num_heads=num_heads)
        _check_buckets(num_buckets, max_distance, bidirectional)
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.bidirectional = bidirectional
        self.table = nn.Parameter(torch.empty(num_heads, num_buckets))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with zeros."""
        nn.init.zeros_(self.table)

    def bias(self, queries: HeadQueries, at: Places, *, scale: float | None = None) -> HeadBias:
        """Return the numbers of all pairs of positions, the same for every example.

        Raises:
            ValueError: if the queries do not have num_heads heads.
        """
        check_floating("queries", queries)
        check_heads(queries, len(self.table))
        # One bucket for each distance, and every pair picks its own.
        below = at.offset + at.num_queries
        of_distances = relative_bucket(
            torch.arange(at.num_queries + at.num_keys + at.dropped, device=queries.device) - below,
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        buckets = of_distances[at.distances(queries.device) + below]
        return self.table[:, buckets].to(queries.dtype)[None]

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return (
            f"num_heads={len(self.table)}, num_buckets={self.num_buckets}, "
            f"max_distance={self.max_distance}, bidirectional={self.bidirectional}"
        )


def _first_distances(exact: int, side: int, max_distance: int) -> list[int]:
    """Return the first distance of each bucket that several share, but for the first of them.

    Distance n has come t buckets further when :math:`(n / e)^r \\ge (m / e)^t`, r the number of
    shared buckets; in whole numbers, so that nothing is rounded on a boundary.
    """
    shared = side - exact
    begins = []
    for t in range(1, shared):
        distance = math.floor(exact * (max_distance / exact) ** (t / shared)) - 1
        while distance**shared * exact**t < max_distance**t * exact**shared:
            distance += 1
        begins.append(distance)
    return begins


def check_heads(queries: Tensor, num_heads: int) -> None:
    """Check that there is one head for each of the learned or fixed slopes.

    Raises:
        ValueError: if the axis of the heads has another size.
    """
    if queries.ndim < 3 or queries.shape[-3] != num_heads:
        raise ValueError(
            f"queries: expected the axes (batch, head, query, d_k) with num_heads={num_heads}, "
            f"got the shape {tuple(queries.shape)}"
        )


def _check_buckets(num_buckets: int, max_distance: int, bidirectional: bool) -> None:
    parts = 4 if bidirectional else 2
    if num_buckets < parts or num_buckets % parts:
        raise ValueError(
            f"num_buckets: expected a multiple of {parts} with bidirectional={bidirectional}, "
            f"got {num_buckets}"
        )
    if max_distance <= num_buckets // parts:
        raise ValueError(
            f"max_distance: expected more than the {num_buckets // parts} distances that have "
            f"a bucket of their own, got {max_distance}"
        )
