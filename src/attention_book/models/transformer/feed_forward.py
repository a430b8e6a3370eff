"""The position-wise feed-forward network (FFN, MLP)."""

from collections.abc import Callable
from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.foundations.checks import check_features, check_probability, check_sizes
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features

#: The nonlinearity between the two linear maps.
Activation = Literal["relu", "gelu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(ResettableLayer):
    """Apply the same small network to each position separately.

    .. math:: \\operatorname{FFN}(x) = \\max(0,\\; x W_1 + b_1)\\, W_2 + b_2

    Vaswani et al. (2017), equation 2.

    Args:
        d_model: Size of a position's vector.
        d_ff: Size of the hidden layer; the paper takes 4 d_model.
        d_out: Size of a position's new vector; None means d_model, as a residual
            connection needs it.
        dropout: Probability of dropping a hidden feature while training.
        activation: "relu" as in the paper, or "gelu" as in BERT and GPT-2.
        bias: Whether the two maps have biases.

    >>> import torch
    >>> feed_forward = FeedForward(d_model=4, d_ff=8)
    >>> output = feed_forward(torch.ones(2, 3, 4))
    >>> output.shape
    torch.Size([2, 3, 4])
    >>> torch.allclose(output[0, 0], output[1, 2])
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_ff: int,
        d_out: int | None = None,
        dropout: float = 0.0,
        activation: Activation = "relu",
        bias: bool = True,
    ) -> None:
        """Create the two linear maps."""
        super().__init__()
        d_out = d_model if d_out is None else d_out
        check_sizes(d_model=d_model, d_ff=d_ff, d_out=d_out)
        check_probability("dropout", dropout)
        if activation not in ACTIVATIONS:
            expected = " or ".join(get_args(Activation))
            raise ValueError(f"activation: expected {expected}, got {activation!r}")
        self.d_model = d_model
        self.dropout = dropout
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_out, bias=bias)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"dropout={self.dropout}, activation={self.activation!r}"

    def forward(self, x: Features) -> Float[Tensor, "*batch position d_out"]:
        """Return one new vector for each position.

        Raises:
            ValueError: if the vectors are not ``d_model`` long.
        """
        check_features("x", x, self.d_model)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))
        if self.dropout and self.training:
            hidden = F.dropout(hidden, self.dropout)
        output: Tensor = self.W_2(hidden)
        return output
