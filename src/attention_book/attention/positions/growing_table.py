"""A table with one row for each position, recomputed only when it is too short."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.positions.scheme import check_offset

Rows = Float[Tensor, "position feature"]


class GrowingTable:
    """Keep the rows of positions 0, 1, 2, … and compute more when more are asked for.

    It is no buffer on purpose: a module that was cast to half precision and back would keep
    rounded rows, and one that was built without memory would keep what happened to lie there.
    There is a table for each type and device that was asked for, so that two in turn, such as
    a model and its average in another type, cost no more than one.

    Only ordinary tensors are kept. While torch pretends to compute (fake tensors, a functional
    transform) the rows are made anew, for they mean nothing to a later call.

    Args:
        compute: Returns the first rows, in double precision.

    >>> squares = GrowingTable(lambda n: torch.arange(n).double()[:, None] ** 2)
    >>> squares.rows(3, offset=4, like=torch.zeros(1))
    tensor([[16.],
            [25.],
            [36.]])
    """

    def __init__(self, compute: Callable[[int], Rows]) -> None:
        """Start without a table."""
        self.compute = compute
        self.tables: dict[tuple[torch.dtype, torch.device], Rows] = {}

    def rows(self, num_positions: int, *, offset: int, like: Tensor) -> Rows:
        """Return the rows of the positions offset … offset + num_positions - 1.

        Raises:
            ValueError: if the offset is negative.
        """
        check_offset(offset)
        end = offset + num_positions
        if torch.compiler.is_compiling() or not _is_ordinary(torch.empty(0, device="cpu")):
            return self._computed(end, like)[offset:]
        kind = like.dtype, like.device
        # Kept here too: another thread may put another table in its place at any moment.
        table = self.tables.get(kind)
        if table is None or len(table) < end:
            # A table made while only inferring could not be used for training later.
            with torch.inference_mode(False):
                table = self._computed(end if table is None else max(end, 2 * len(table)), like)
            if _is_ordinary(table):
                self.tables[kind] = table
        return table[offset:end]

    def _computed(self, length: int, like: Tensor) -> Rows:
        with torch.device("cpu"):  # not every device has double precision
            exact = self.compute(length)
        return exact.to(like.dtype).to(like.device)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables out of copies and files: they are computed again where needed."""
        return {**vars(self), "tables": {}}


def _is_ordinary(tensor: Tensor) -> bool:
    """Whether it is a tensor with numbers of its own, and no stand-in for one."""
    return type(tensor) is Tensor and not torch._is_functional_tensor(tensor)
