"""Rotary position embeddings (RoPE, Su et al. 2021): queries and keys, rotated by position."""

from functools import partial
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.positions.rope_scaling import RopeScaling, rotary_frequencies
from attention_book.attention.positions.scheme import GrowingTable, check_offset
from attention_book.attention.positions.waves import WavePositions
from attention_book.foundations.checks import check_features, check_floating
from attention_book.foundations.shapes import Keys, Offset

#: Which features turn together: 2j and 2j + 1, or j and j + d_k / 2.
Pairing = Literal["neighbors", "halves"]


class RotaryPositions(WavePositions):
    """Turn every pair of features of queries and keys by an angle that grows with position.

    .. math::

        \\begin{pmatrix} x'_{2j} \\\\ x'_{2j+1} \\end{pmatrix} =
        \\begin{pmatrix} \\cos i\\theta_j & -\\sin i\\theta_j \\\\
        \\sin i\\theta_j & \\cos i\\theta_j \\end{pmatrix}
        \\begin{pmatrix} x_{2j} \\\\ x_{2j+1} \\end{pmatrix}, \\qquad
        \\theta_j = 10000^{-2j / d_k}

    Su et al. (2021), equations 14 and 15. Turning both by the same angle changes no dot
    product, so the score depends on query, key and the distance between them alone. The
    pairs are neighbors, as in the paper; Llama's family pairs feature j with
    :math:`j + d_k / 2`, and weights trained for the one do not fit the other.

    Args:
        d_k: Feature size of the queries and keys in each head, even.
        base: 10000 in the formula.
        scaling: Other frequencies for texts longer than the trained ones, by a
            :class:`~attention_book.attention.RopeScaling`; None changes nothing.
        pairing: "neighbors" or "halves".

    Raises:
        ValueError: if ``d_k`` is odd, the base not positive, or the pairing unknown.

    >>> positions = RotaryPositions(d_k=2)
    >>> east = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> positions.rotate(east)  # by 0, 1 and 2 radians
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.4161,  0.9093]])
    """

    def __init__(
        self,
        *,
        d_k: int,
        base: float = 10000.0,
        scaling: RopeScaling | None = None,
        pairing: Pairing = "neighbors",
    ) -> None:
        """Keep the settings; the table of angles grows when it is used."""
        rotary_frequencies(d_k, base=base)  # refuses what has none
        if pairing not in get_args(Pairing):
            raise ValueError(f"pairing: expected neighbors or halves, got {pairing!r}")
        scaling = RopeScaling() if scaling is None else scaling
        super().__init__(scaling.frequencies(d_k, base=base))
        self.d_k, self.base, self.pairing, self.scaling = d_k, base, pairing, scaling
        self._table = GrowingTable(partial(_turns, d_k=d_k, base=base, scaling=scaling))

    def rotate(self, heads: Keys, *, offset: Offset = 0) -> Keys:
        """Return the queries or keys, turned; lengths grow by the scaling's magnitude alone.

        Raises:
            ValueError: if the last axis is not d_k long, or the offset is negative.
        """
        check_floating("heads", heads)
        check_features("heads", heads, self.d_k)
        # Half precision is too coarse for the products: single, then rounded.
        x = heads.to(torch.promote_types(heads.dtype, torch.float32))
        sin, cos = self._waves(x, offset)
        if self.pairing == "halves":
            first, second = x.chunk(2, dim=-1)
            turned = torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
        else:
            first, second = x[..., 0::2], x[..., 1::2]
            pairs = (first * cos - second * sin, first * sin + second * cos)
            turned = torch.stack(pairs, dim=-1).flatten(-2)
        return turned.to(heads.dtype)

    def _waves(self, x: Tensor, offset: Offset) -> tuple[Tensor, Tensor]:
        """Return sine and cosine for each place; where the length matters, for the text so far."""
        if isinstance(offset, Tensor):
            if self.scaling.for_length(1) is not self.scaling:
                raise ValueError(
                    "scaling: expected one for all lengths where the length lies on the device, "
                    f"got {self.scaling}"
                )
            return self._computed(x, offset)
        length = offset + x.shape[-2]
        scaling = self.scaling.for_length(length)
        if scaling is not self.scaling:
            check_offset(offset)
            whole = _turns(length, d_k=self.d_k, base=self.base, scaling=scaling)
            sin, cos = whole[offset:].to(x).chunk(2, dim=-1)
            return sin, cos
        if torch.compiler.is_compiling():  # a graph keeps no table between calls
            return self._computed(x, offset)
        sin, cos = self._table.rows(x.shape[-2], offset=offset, like=x).chunk(2, dim=-1)
        return sin, cos

    def _computed(self, x: Tensor, offset: Offset) -> tuple[Tensor, Tensor]:
        angles = self.phases.angles(x.shape[-2], offset=offset, like=x)
        return self.scaling.magnitude * angles.sin(), self.scaling.magnitude * angles.cos()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        pairing = "" if self.pairing == "neighbors" else f", pairing={self.pairing}"
        scaling = "" if self.scaling == RopeScaling() else f", scaling={self.scaling}"
        return f"d_k={self.d_k}, base={self.base:g}{scaling}{pairing}"


def _turns(
    num_positions: int, *, d_k: int, base: float, scaling: RopeScaling
) -> Float[Tensor, "position d_k"]:
    """Return sine, then cosine, of each position's angle for every pair."""
    positions = torch.arange(num_positions, dtype=torch.float64, device="cpu")
    angles = positions[:, None] * scaling.frequencies(d_k, base=base)
    return scaling.magnitude * torch.cat((angles.sin(), angles.cos()), dim=-1)
