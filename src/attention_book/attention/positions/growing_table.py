"""A table with one row for each position, recomputed only when it is too short."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.positions.scheme import check_offset

Rows = Float[Tensor, "position feature"]


class GrowingTable:
    """Keep the rows of positions 0, 1, 2, … and compute more when more are asked for.

    It is no buffer on purpose: a module that was cast to half precision and back
    would keep rounded rows. The rows follow the type and the device asked for.

    Args:
        compute: Returns the first rows, in double precision.

    >>> squares = GrowingTable(lambda n: torch.arange(n).double()[:, None] ** 2)
    >>> squares.rows(3, offset=4, like=torch.zeros(1))
    tensor([[16.],
            [25.],
            [36.]])
    """

    def __init__(self, compute: Callable[[int], Rows]) -> None:
        """Start with an empty table."""
        self.compute = compute
        self.table = torch.empty(0, 0)

    def rows(self, num_positions: int, *, offset: int, like: Tensor) -> Rows:
        """Return the rows of the positions offset … offset + num_positions - 1.

        Raises:
            ValueError: if the offset is negative.
        """
        check_offset(offset)
        if torch.compiler.is_compiling():  # a graph keeps no table between calls
            return self.compute(offset + num_positions).to(like.dtype).to(like.device)[offset:]
        # Kept here too: another thread may put another table in its place at any moment.
        table = self.table
        end, length = offset + num_positions, len(table)
        too_short = length < end
        if too_short or (table.dtype, table.device) != (like.dtype, like.device):
            # A table made while only inferring could not be used for training later.
            with torch.inference_mode(False):
                exact = self.compute(max(end, 2 * length) if too_short else length)
                self.table = table = exact.to(like.dtype).to(like.device)
        return table[offset:end]
