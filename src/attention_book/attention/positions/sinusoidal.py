"""Sinusoidal positions (Vaswani et al. 2017): waves of many lengths, added to the input."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.positions.scheme import GrowingTable, check_offset
from attention_book.attention.positions.waves import WavePositions
from attention_book.foundations.checks import (
    check_features,
    check_floating,
    check_positive,
    check_sizes,
)
from attention_book.foundations.shapes import Features, Offset


def sinusoids(
    num_positions: int,
    d_model: int,
    *,
    offset: int = 0,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "position d_model"]:
    """Return the sinusoidal encoding of the positions offset, offset + 1, …

    .. math::

        P_{i,2j} = \\sin\\frac{i}{10000^{2j/d}}, \\qquad P_{i,2j+1} = \\cos\\frac{i}{10000^{2j/d}}

    Vaswani et al. (2017), section 3.5. Column 0 turns fastest. If d_model is odd, the
    last sine has no cosine.

    Args:
        num_positions: How many positions.
        d_model: How many columns.
        offset: The first position.
        base: 10000 in the formula.
        dtype: Type of the result; computed in double precision.

    >>> sinusoids(3, 4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    check_sizes(d_model=d_model)
    check_positive("base", base)
    check_offset(offset)
    with torch.device("cpu"):  # not every device has double precision
        positions = torch.arange(offset, offset + num_positions, dtype=torch.float64)
        frequencies = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        angles = positions[:, None] * frequencies
        encoding = torch.empty(num_positions, d_model, dtype=torch.float64)
        encoding[:, 0::2] = angles.sin()
        encoding[:, 1::2] = angles[:, : d_model // 2].cos()
    return encoding.to(dtype).to(torch.get_default_device())


class SinusoidalPositions(WavePositions):
    """Add the sinusoidal encoding to the input: nothing to learn, no longest sequence.

    .. math:: x_i + P_i

    Vaswani et al. (2017), section 3.5; the formula is that of :func:`sinusoids`.

    Args:
        d_model: Feature size of the input.
        base: 10000 in the formula. The slowest wave is almost :math:`2\\pi` times as long.

    >>> positions = SinusoidalPositions(d_model=4)
    >>> positions(torch.zeros(1, 2, 4), offset=1)[0]
    tensor([[ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """

    def __init__(self, *, d_model: int, base: float = 10000.0) -> None:
        """Keep the sizes; the table of encodings grows when it is used."""
        check_sizes(d_model=d_model)
        check_positive("base", base)
        super().__init__(_frequencies(d_model, base))
        self.d_model, self.base = d_model, base
        self._encoding = GrowingTable(
            partial(sinusoids, d_model=d_model, base=base, dtype=torch.float64)
        )

    def forward(self, x: Features, *, offset: Offset = 0) -> Features:
        """Return the input plus the encoding of its positions.

        Raises:
            ValueError: if the last axis is not d_model long, or the offset is negative.
        """
        check_floating("x", x)
        check_features("x", x, self.d_model)
        if torch.compiler.is_compiling() or isinstance(offset, Tensor):  # a graph keeps no table
            precise = x.new_empty(0, dtype=torch.promote_types(x.dtype, torch.float32))
            angles = self.phases.angles(x.shape[-2], offset=offset, like=precise)
            waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
            return x + waves[:, : self.d_model].to(x.dtype)
        return x + self._encoding.rows(x.shape[-2], offset=offset, like=x)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"d_model={self.d_model}, base={self.base:g}"


def _frequencies(d_model: int, base: float) -> Float[Tensor, " pair"]:
    """Return how far each wave turns from one position to the next, in double precision."""
    halves = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
    frequencies: Tensor = base ** (-halves / d_model)
    return frequencies
