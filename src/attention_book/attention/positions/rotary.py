"""Rotary position embeddings (RoPE, Su et al. 2021): queries and keys, rotated by position."""

from functools import partial

import torch

from attention_book.attention.positions.growing_table import GrowingTable
from attention_book.attention.positions.scheme import Positions
from attention_book.attention.positions.sinusoidal import sinusoids
from attention_book.foundations.checks import (
    check_features,
    check_floating,
    check_positive,
    check_sizes,
)
from attention_book.foundations.shapes import Keys


class RotaryPositions(Positions):
    """Turn every pair of features of queries and keys by an angle that grows with position.

    .. math::

        \\begin{pmatrix} x'_{2j} \\\\ x'_{2j+1} \\end{pmatrix} =
        \\begin{pmatrix} \\cos i\\theta_j & -\\sin i\\theta_j \\\\
        \\sin i\\theta_j & \\cos i\\theta_j \\end{pmatrix}
        \\begin{pmatrix} x_{2j} \\\\ x_{2j+1} \\end{pmatrix}, \\qquad
        \\theta_j = 10000^{-2j / d_k}

    Su et al. (2021), equations 14 and 15. Turning both by the same angle changes no dot
    product, so the score depends on query, key and the distance between them alone. The
    pairs are neighbors, as in the paper; some libraries pair feature j with
    :math:`j + d_k / 2`, and weights trained for the one do not fit the other.

    Args:
        d_k: Feature size of the queries and keys in each head, even.
        base: 10000 in the formula.

    >>> positions = RotaryPositions(d_k=2)
    >>> east = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> positions.rotate(east)  # by 0, 1 and 2 radians
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.4161,  0.9093]])
    """

    def __init__(self, *, d_k: int, base: float = 10000.0) -> None:
        """Keep the sizes; the table of angles grows when it is used."""
        super().__init__()
        check_sizes(d_k=d_k)
        check_positive("base", base)
        if d_k % 2:
            raise ValueError(f"d_k: expected an even number, features turn in pairs, got {d_k}")
        self.d_k, self.base = d_k, base
        self._table = GrowingTable(partial(sinusoids, d_model=d_k, base=base, dtype=torch.float64))

    def rotate(self, heads: Keys, *, offset: int = 0) -> Keys:
        """Return the queries or keys, turned; lengths do not change.

        Raises:
            ValueError: if the last axis is not d_k long, or the offset is negative.
        """
        check_floating("heads", heads)
        check_features("heads", heads, self.d_k)
        # Half precision is too coarse for the products: single, then rounded.
        x = heads.to(torch.promote_types(heads.dtype, torch.float32))
        table = self._table.rows(x.shape[-2], offset=offset, like=x)
        sin, cos = table[:, 0::2], table[:, 1::2]
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
        return turned.flatten(-2).to(heads.dtype)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"d_k={self.d_k}, base={self.base:g}"
