"""Gated feed-forward networks (Shazeer 2020): SwiGLU, GEGLU."""

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.foundations.checks import check_features, check_sizes
from attention_book.foundations.shapes import Features

#: The gate's nonlinearity: SiLU, also called swish, GELU as computed with a tanh, or GELU itself.
Gate = Literal["silu", "gelu_tanh", "gelu"]
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "gelu": F.gelu,
}


class GatedFeedForward(nn.Module):
    """Let a gate decide, feature by feature and position by position, what passes.

    .. math::

        \\operatorname{SwiGLU}(x) = \\bigl(
        \\operatorname{SiLU}(x W_\\text{gate}) \\odot x W_\\text{up}
        \\bigr)\\, W_\\text{down}, \\qquad \\operatorname{SiLU}(z) = \\frac{z}{1 + e^{-z}}

    Shazeer (2020), equation 6. Three matrices where the network of 2017 has two: with
    :math:`d_\\text{ff} = \\frac{8}{3} d_\\text{model}` instead of :math:`4 d_\\text{model}` they
    have as many numbers. With GELU as the gate's nonlinearity it is GEGLU.

    Args:
        d_model: Size of a position's vector.
        d_ff: Size of the hidden layer.
        gate: "silu" (SwiGLU: Llama, Mistral, Qwen), "gelu_tanh" (GEGLU: Gemma) or "gelu"
            (GEGLU as in the paper).
        bias: Whether the three linear maps have biases.

    Raises:
        ValueError: if a size is below 1, or the gate unknown.

    >>> import torch
    >>> GatedFeedForward(d_model=6, d_ff=16)(torch.zeros(2, 3, 6)).abs().max().item()
    0.0
    """

    def __init__(self, *, d_model: int, d_ff: int, gate: Gate = "silu", bias: bool = False) -> None:
        """Create the three linear maps."""
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        if gate not in GATES:
            raise ValueError(f"gate: expected {' or '.join(get_args(Gate))}, got {gate!r}")
        self.d_model, self.gate = d_model, gate
        self.W_gate = nn.Linear(d_model, d_ff, bias=bias)
        self.W_up = nn.Linear(d_model, d_ff, bias=bias)
        self.W_down = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Features) -> Features:
        """Return one new vector for each position.

        Raises:
            ValueError: if the vectors are not ``d_model`` long.
        """
        check_features("x", x, self.d_model)
        output: Features = self.W_down(GATES[self.gate](self.W_gate(x)) * self.W_up(x))
        return output

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"gate={self.gate!r}"
