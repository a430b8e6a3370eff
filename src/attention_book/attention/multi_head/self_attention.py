"""Self-attention with one head: queries, keys and values come from the same sequence."""

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.soft import dot_product_attention, dot_product_weights
from attention_book.foundations.checks import check_features, check_probability, check_sizes
from attention_book.foundations.shapes import Features, Mask, Weights


class SelfAttention(nn.Module):
    """Let each position of a sequence attend to all positions of the same sequence.

    .. math::
        Q = X W_q, \\quad K = X W_k, \\quad V = X W_v, \\qquad
        Z = \\operatorname{softmax}\\Bigl(\\frac{Q K^\\top}{\\sqrt{d_k}}\\Bigr) V

    One source X, three different projections of it. Vaswani et al. (2017), section 3.2.

    Args:
        d_model: Size of each position's vector.
        d_k: Size of its query and of its key; ``d_model`` when None.
        d_v: Size of its value; ``d_model`` when None.
        dropout: Probability of dropping a weight while training.
        bias: Whether the projections add a bias.

    >>> import torch
    >>> attention = SelfAttention(d_model=8, d_k=4, d_v=6)
    >>> x = torch.rand(2, 5, 8)
    >>> attention(x).shape, attention.weights(x).shape
    (torch.Size([2, 5, 6]), torch.Size([2, 5, 5]))
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        """Create the three projections."""
        super().__init__()
        d_k = d_model if d_k is None else d_k
        d_v = d_model if d_v is None else d_v
        check_sizes(d_model=d_model, d_k=d_k, d_v=d_v)
        check_probability("dropout", dropout)
        self.W_q = nn.Linear(d_model, d_k, bias=bias)
        self.W_k = nn.Linear(d_model, d_k, bias=bias)
        self.W_v = nn.Linear(d_model, d_v, bias=bias)
        self.dropout = dropout

    def forward(
        self, x: Features, mask: Mask | None = None
    ) -> Float[Tensor, "*batch position d_v"]:
        """Return one new vector for each position.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a visible score is NaN.
        """
        check_features("x", x, self.W_q.in_features)
        queries, keys, values = self.W_q(x), self.W_k(x), self.W_v(x)
        dropout = self.dropout if self.training else 0.0
        return dot_product_attention(queries, keys, values, mask, dropout=dropout)

    def weights(self, x: Features, mask: Mask | None = None) -> Weights:
        """Return how much each position takes of each, without dropout."""
        check_features("x", x, self.W_q.in_features)
        return dot_product_weights(self.W_q(x), self.W_k(x), mask)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"dropout={self.dropout}"
