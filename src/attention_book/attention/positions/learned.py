"""Learned absolute positions (GPT, BERT): one trained vector each, up to a maximum length."""

import torch
from torch import Tensor, nn

from attention_book.attention.positions.scheme import Positions, check_offset
from attention_book.foundations.checks import check_features, check_floating, check_sizes
from attention_book.foundations.shapes import Features, Offset


class LearnedPositions(Positions):
    """Add a learned vector to the input at each position.

    .. math:: x_i + p_i

    Gehring et al. (2017), section 3.1; Devlin et al. (2019). The table ends: there is
    no vector for position max_positions, and one that training never reached is noise.

    Args:
        d_model: Feature size of the input.
        max_positions: Number of vectors.

    >>> positions = LearnedPositions(d_model=4, max_positions=8)
    >>> positions(torch.rand(1, 3, 4), offset=5).shape
    torch.Size([1, 3, 4])
    >>> positions(torch.rand(1, 3, 4), offset=6)
    Traceback (most recent call last):
    ValueError: positions: expected at most max_positions=8, got the positions 6 to 8
    """

    def __init__(self, *, d_model: int, max_positions: int) -> None:
        """Draw vectors as large as the sinusoids, whose mean square is one half."""
        super().__init__()
        check_sizes(d_model=d_model, max_positions=max_positions)
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors."""
        with torch.no_grad():
            self.table.copy_(torch.randn(self.table.shape) * 0.5**0.5)

    def forward(self, x: Features, *, offset: Offset = 0) -> Features:
        """Return the input plus the vectors of its positions.

        Raises:
            ValueError: if a position is past the table's end, the offset is negative,
                or the last axis is not d_model long.
        """
        max_positions, d_model = self.table.shape
        check_floating("x", x)
        check_features("x", x, d_model)
        check_offset(offset)
        if isinstance(offset, Tensor):
            places = offset + torch.arange(x.shape[-2], device=x.device)
            return x + self.table[places].to(x.dtype)
        end = offset + x.shape[-2]
        if end > max_positions:
            raise ValueError(
                f"positions: expected at most max_positions={max_positions}, "
                f"got the positions {offset} to {end - 1}"
            )
        return x + self.table[offset:end].to(x.dtype)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        max_positions, d_model = self.table.shape
        return f"d_model={d_model}, max_positions={max_positions}"
