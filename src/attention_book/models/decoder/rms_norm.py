"""RMSNorm (Zhang and Sennrich 2019): a vector is scaled to length, and not centered."""

import torch
from torch import Tensor, nn

from attention_book.foundations.checks import (
    check_features,
    check_floating,
    check_positive,
    check_sizes,
)
from attention_book.foundations.shapes import Features


class RMSNorm(nn.Module):
    """Divide each vector by the root of the mean of its squares, and weigh the features.

    .. math::

        \\operatorname{RMSNorm}(x) = \\frac{x}{\\sqrt{\\frac{1}{d} \\sum_j x_j^2 + \\epsilon}}
        \\odot g

    Zhang and Sennrich (2019), equation 4. Layer norm without the mean and without the bias:
    half the parameters. What is multiplied by a positive number comes out the same, but for
    :math:`\\epsilon`. Half precision is computed in single.

    Args:
        d_model: Size of a vector; the norm is over this axis alone.
        eps: :math:`\\epsilon`, for a vector of zeros.
        around_one: Keep :math:`g - 1`, drawn towards 0 by weight decay, as Gemma does.

    Raises:
        ValueError: if a size is below 1, or ``eps`` not above 0.

    >>> norm = RMSNorm(d_model=2).requires_grad_(False)
    >>> norm(torch.tensor([[3.0, 4.0], [300.0, 400.0]]))  # divided by √12.5
    tensor([[0.8485, 1.1314],
            [0.8485, 1.1314]])
    """

    def __init__(self, *, d_model: int, eps: float = 1e-6, around_one: bool = False) -> None:
        """Begin with g = 1."""
        super().__init__()
        check_sizes(d_model=d_model)
        check_positive("eps", eps)
        self.eps, self.around_one = eps, around_one
        self.weight = nn.Parameter(torch.zeros(d_model) if around_one else torch.ones(d_model))

    def forward(self, x: Features) -> Features:
        """Return the vectors, scaled.

        Raises:
            ValueError: if they are not ``d_model`` long.
        """
        check_floating("x", x)
        check_features("x", x, len(self.weight))
        precise = x.to(torch.promote_types(x.dtype, torch.float32))
        scaled = precise * torch.rsqrt(precise.square().mean(dim=-1, keepdim=True) + self.eps)
        if self.around_one:
            return (scaled * (1 + self.weight.to(scaled.dtype))).to(x.dtype)
        weighed: Tensor = self.weight * scaled.to(x.dtype)
        return weighed

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        around_one = ", around_one=True" if self.around_one else ""
        return f"{len(self.weight)}, eps={self.eps:g}{around_one}"
