"""Residual connection and layer norm around every sublayer: post-norm or pre-norm."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from torch import nn
from torch.nn import functional as F

from attention_book.foundations.checks import check_features, check_probability, check_sizes
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features

#: Where the norm stands: after the sum, or before the sublayer.
NormOrder = Literal["post", "pre"]


class AddNorm(ResettableLayer):
    """Add a sublayer's output to its input, and normalize each position's vector.

    .. math::

        \\text{post: } & \\operatorname{LayerNorm}(x + \\operatorname{Sublayer}(x)) \\\\
        \\text{pre: } & x + \\operatorname{Sublayer}(\\operatorname{LayerNorm}(x))

    Vaswani et al. (2017), section 3.1, and Xiong et al. (2020), figure 1. Dropout acts on
    the sublayer's output, before the sum (section 5.4 of the former).

    Args:
        d_model: Size of a position's vector. The norm is over this axis alone.
        dropout: Probability of dropping a feature of the sublayer's output while training.
        order: "post" or "pre".
        eps: What the norm adds to the variance.
        bias: Whether the norm has a bias.

    >>> import torch
    >>> x = torch.tensor([[1.0, 2.0, 3.0, 6.0]])
    >>> AddNorm(d_model=4, order="pre")(x, torch.zeros_like)
    tensor([[1., 2., 3., 6.]])
    >>> AddNorm(d_model=4, order="post")(x, torch.zeros_like).mean().abs().item() < 1e-6
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        dropout: float = 0.0,
        order: NormOrder = "post",
        eps: float = 1e-5,
        bias: bool = True,
    ) -> None:
        """Create the norm."""
        super().__init__()
        check_sizes(d_model=d_model)
        check_probability("dropout", dropout)
        if order not in get_args(NormOrder):
            raise ValueError(f"order: expected post or pre, got {order!r}")
        self.d_model = d_model
        self.dropout = dropout
        self.order = order
        self.norm = nn.LayerNorm(d_model, eps=eps, bias=bias)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"dropout={self.dropout}, order={self.order!r}"

    def forward(self, x: Features, sublayer: Callable[..., Features], **how: Any) -> Features:
        """Return the sum of ``x`` and what the sublayer makes of it, normalized.

        Args:
            x: One vector for each position.
            sublayer: Attention or feed-forward network; returns the shape that it got.
            how: What else the sublayer is given, such as a mask.

        Raises:
            ValueError: if the vectors are not ``d_model`` long, or the sublayer returns
                another shape.
        """
        check_features("x", x, self.d_model)
        update = sublayer(self.norm(x) if self.order == "pre" else x, **how)
        if update.shape != x.shape:  # broadcasting would hide the mistake
            raise ValueError(
                f"sublayer: expected an output of the shape {tuple(x.shape)}, "
                f"got {tuple(update.shape)}"
            )
        if self.dropout and self.training:
            update = F.dropout(update, self.dropout)
        output: Features = x + update if self.order == "pre" else self.norm(x + update)
        return output
