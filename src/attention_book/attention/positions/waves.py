"""Positions as angles: in a table while computing, by whole numbers where torch draws a graph."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.attention.positions.scheme import Positions, check_offset, is_ordinary
from attention_book.foundations.shapes import Offset

_TURN = Fraction("6.28318530717958647692528676655900576839")  # 2 pi
_HIGH, _LOW = 24, 31  # bits: those of single precision, and as many as a product leaves room for


class Phases:
    """The angles of any positions, without double precision and without a table.

    .. math:: i \\, \\theta_j \\bmod 2 \\pi

    An angle of many turns has few digits left for the last one in single precision. So the part
    of a turn by which a pair turns is kept in whole numbers, :math:`\\theta_j / 2 \\pi = h \\,
    2^{-24} + l \\, 2^{-55}`, and full turns drop out of the product :math:`i \\, h` exactly.

    Args:
        frequencies: How far each pair turns from one position to the next, in radians.

    >>> phases = Phases(torch.tensor([1.0, 0.01], dtype=torch.float64))
    >>> phases.angles(2, offset=100_000, like=torch.zeros(1)).sin()
    tensor([[ 0.0357,  0.8269],
            [-0.8216,  0.8325]])
    """

    def __init__(self, frequencies: Float[Tensor, " pair"]) -> None:
        """Cut each frequency, taken as exact, into its two whole numbers."""
        parts = [Fraction(each) / _TURN % 1 for each in frequencies.tolist()]
        wholes = [round(part * 2 ** (_HIGH + _LOW)) for part in parts]
        self.wholes = [[each >> _LOW for each in wholes], [each % 2**_LOW for each in wholes]]
        self.parts: Int[Tensor, "2 pair"] = torch.tensor(self.wholes)

    def angles(
        self, num_positions: int, *, offset: Offset, like: Tensor
    ) -> Float[Tensor, "position pair"]:
        """Return the angles of the positions offset … offset + num_positions - 1, near 0.

        Raises:
            ValueError: if the offset is negative.
        """
        check_offset(offset)
        if not torch.compiler.is_compiling() and is_ordinary(like):
            self.move(like.device)  # a model that was built elsewhere and given weights here
        here = self.parts.device == like.device
        high, low = self.parts if here else torch.tensor(self.wholes, device=like.device)
        place = (torch.arange(num_positions, device=like.device) + offset)[:, None]
        half = 2 ** (_HIGH - 1)
        near = ((place * high + half) & (2**_HIGH - 1)) - half
        turns = near.to(like.dtype) * 2.0**-_HIGH
        turns = turns + (place * low).to(like.dtype) * 2.0 ** -(_HIGH + _LOW)
        angles: Tensor = turns * (2 * math.pi)
        return angles

    def move(self, device: torch.device) -> None:
        """Keep the numbers on this device."""
        if device != self.parts.device:
            self.parts = torch.tensor(self.wholes, device=device)


class WavePositions(Positions):
    """A scheme made of sines and cosines, whose numbers follow its module to other devices.

    They are no buffers: those are rounded by a cast, and hold anything after ``to_empty``.

    Args:
        frequencies: As for :class:`Phases`.

    >>> WavePositions(torch.tensor([1.0])).half().phases.wholes
    [[2670176], [1841940611]]
    """

    def __init__(self, frequencies: Float[Tensor, " pair"]) -> None:
        """Keep the phases."""
        super().__init__()
        self.phases = Phases(frequencies)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        moved = super()._apply(fn, recurse)
        # Where the module goes is seen on a tensor; one without numbers could not be copied.
        here = self.phases.parts.device
        place = torch.device("cpu") if here.type == "meta" else here
        self.phases.move(fn(torch.empty(0, device=place)).device)
        return moved
