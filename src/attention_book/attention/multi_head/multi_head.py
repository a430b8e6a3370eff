"""Multi-head attention: several attentions side by side, each with its own projections."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.multi_head.kv_cache import KeysValues
from attention_book.attention.positions.scheme import NoPositions, Positions
from attention_book.attention.soft import dot_product_attention, dot_product_weights
from attention_book.foundations.checks import (
    check_probability,
    check_sequence,
    check_sizes,
    check_weights,
)
from attention_book.foundations.shapes import (
    Features,
    Heads,
    HeadsMask,
    HeadWeights,
    Keys,
    Queries,
    Values,
)


class MultiHeadAttention(nn.Module):
    """Attend with several heads at once, and mix what they found.

    .. math::
        \\text{head}_i = \\operatorname{softmax}\\Bigl(
        \\frac{Q W_q^{(i)} (K W_k^{(i)})^\\top}{\\sqrt{d_k}}\\Bigr) V W_v^{(i)}, \\qquad
        O = [\\text{head}_1; \\ldots; \\text{head}_h] \\, W_o

    Vaswani et al. (2017), section 3.2.2, with :math:`d_k = d_v = d_\\text{model} / h`. The
    projections of all heads are stacked in one matrix, and the heads are an axis like the
    batch, so that their number changes neither the parameters nor the matrix products.

    The law ``module(q, k, v, mask) == module.combine(module.weights(q, k, mask), v)`` holds
    (up to rounding) whenever dropout is off. A query that may see nothing gets 0 from every
    head; what it returns is the bias of :math:`W_o`, or 0 without one.

    Args:
        d_model: Size of the queries and of the output.
        num_heads: Number of heads; it divides ``d_model``.
        d_key: Size of the keys before projection; ``d_model`` when None.
        d_value: Size of the values before projection; ``d_model`` when None.
        dropout: Probability of dropping a weight while training.
        bias: Whether the four projections add a bias.
        fused: Keep :math:`W_q, W_k, W_v` as the rows of one matrix, so that self-attention
            is one product; other sizes of keys or values need three.
        positions: How positions enter; None leaves them out.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.

    Raises:
        ValueError: if ``num_heads`` does not divide ``d_model``, or a number is out of range.

    >>> import torch
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> x = torch.rand(1, 5, 8)
    >>> attention(x, x, x).shape, attention.weights(x, x).shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    >>> memory = attention.project(x, x)
    >>> torch.allclose(attention(x, memory), attention(x, x, x), atol=1e-6)
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_key: int | None = None,
        d_value: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
        fused: bool = True,
        positions: Positions | None = None,
        scale: float | None = None,
    ) -> None:
        """Create the projections."""
        super().__init__()
        d_key = d_model if d_key is None else d_key
        d_value = d_model if d_value is None else d_value
        check_sizes(d_key=d_key, d_value=d_value)
        check_divisible(d_model, num_heads)
        check_probability("dropout", dropout)
        self.d_model, self.d_key, self.d_value = d_model, d_key, d_value
        self.num_heads, self.dropout, self.scale = num_heads, dropout, scale
        self.fused = fused and d_key == d_value == d_model
        if self.fused:
            self.W_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        else:
            self.W_q = nn.Linear(d_model, d_model, bias=bias)
            self.W_k = nn.Linear(d_key, d_model, bias=bias)
            self.W_v = nn.Linear(d_value, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.positions = NoPositions() if positions is None else positions

    def forward(
        self,
        queries: Queries,
        keys: Keys | KeysValues,
        values: Values | None = None,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
    ) -> Float[Tensor, "*batch query d_model"]:
        """Return what the heads found for each query, mixed.

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_key), or what :meth:`project` made of keys and values.
            values: (batch, key, d_value); the keys themselves when None.
            mask: True where a query may see a key, broadcastable to (batch, query, key)
                for all heads, or to (batch, head, query, key).
            offset: Position of the first query and, unless projected, of the first key.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a visible score is NaN.
        """
        asked, found = self._ask(queries, keys, values, offset)
        start = _first_query(keys, offset)
        dropout = self.dropout if self.training else 0.0
        if self.positions.biases_values:  # no fused kernel can do that
            weights = self._weights(asked, found.keys, mask, start)
            return self._combine(F.dropout(weights, dropout), found.values, start)
        heads = dot_product_attention(
            asked,
            found.keys,
            found.values,
            _for_all_heads(mask),
            scale=self.scale,
            bias=self.positions.bias(asked, found.num_keys, offset=start, scale=self.scale),
            dropout=dropout,
        )
        output: Tensor = self.W_o(merge_heads(heads))
        return output

    def project(self, keys: Keys, values: Values | None = None, *, offset: int = 0) -> KeysValues:
        """Return each head's keys and values: the work that no query is needed for.

        Args:
            keys: (batch, key, d_key).
            values: (batch, key, d_value); the keys themselves when None.
            offset: Position of the first key.

        Raises:
            ValueError: if the shapes do not fit.
        """
        values = keys if values is None else values
        check_sequence("keys", keys, self.d_key)
        check_sequence("values", values, self.d_value)
        if values is keys:
            k, v = self._heads(keys, "kv")
        else:
            (k,), (v,) = self._heads(keys, "k"), self._heads(values, "v")
        return KeysValues(self.positions.rotate(k, offset=offset), v)

    def weights(
        self,
        queries: Queries,
        keys: Keys | KeysValues,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
    ) -> HeadWeights:
        """Return the weights of each head, without dropout; arguments as in a call."""
        check_sequence("queries", queries, self.d_model)
        asked = self.positions.rotate(self._heads(queries, "q")[0], offset=offset)
        if isinstance(keys, KeysValues):
            return self._weights(asked, keys.keys, mask, offset)
        check_sequence("keys", keys, self.d_key)
        (compared,) = self._heads(keys, "k")
        return self._weights(asked, self.positions.rotate(compared, offset=offset), mask, 0)

    def combine(
        self, weights: HeadWeights, values: Values | KeysValues, *, offset: int = 0
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_value), or what :meth:`project` made.
            offset: As in a call; it matters to positions that reach the values.

        Raises:
            ValueError: if the shapes do not fit.
        """
        start = _first_query(values, offset)
        if isinstance(values, KeysValues):
            return self._combine(weights, values.values, start)
        check_sequence("values", values, self.d_value)
        (heads,) = self._heads(values, "v")
        return self._combine(weights, heads, start)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        scale = "" if self.scale is None else f", scale={self.scale}"
        return f"num_heads={self.num_heads}, dropout={self.dropout}{scale}"

    def _ask(
        self, queries: Queries, keys: Keys | KeysValues, values: Values | None, offset: int
    ) -> tuple[Tensor, KeysValues]:
        """Return the heads' queries, and their keys and values."""
        check_sequence("queries", queries, self.d_model)
        if isinstance(keys, KeysValues) and values is not None:
            raise ValueError("values: expected None, for the keys bring their values, got a tensor")
        if self.fused and queries is keys and (values is None or values is keys):
            q, k, v = self._heads(queries, "qkv")
            found = KeysValues(self.positions.rotate(k, offset=offset), v)
        elif isinstance(keys, KeysValues):
            (q,), found = self._heads(queries, "q"), keys
        else:
            (q,), found = self._heads(queries, "q"), self.project(keys, values, offset=offset)
        return self.positions.rotate(q, offset=offset), found

    def _heads(self, x: Tensor, which: str) -> list[Tensor]:
        """Return the heads' queries, keys or values: those of "qkv" that stand in ``which``."""
        if self.fused:
            first = "qkv".index(which) * self.d_model
            rows = slice(first, first + len(which) * self.d_model)
            projected = _linear_rows(self.W_qkv, x, rows).chunk(len(which), dim=-1)
        else:
            projected = tuple(getattr(self, f"W_{letter}")(x) for letter in which)
        return [split_heads(each, self.num_heads) for each in projected]

    def _weights(self, asked: Tensor, keys: Tensor, mask: Tensor | None, start: int) -> Tensor:
        bias = self.positions.bias(asked, keys.shape[-2], offset=start, scale=self.scale)
        return dot_product_weights(asked, keys, _for_all_heads(mask), scale=self.scale, bias=bias)

    def _combine(self, weights: Tensor, values: Tensor, start: int) -> Tensor:
        check_weights(weights, values)
        heads = weights @ values
        extra = self.positions.value_bias(weights, offset=start)
        output: Tensor = self.W_o(merge_heads(heads if extra is None else heads + extra))
        return output


def _first_query(keys: Tensor | KeysValues, offset: int) -> int:
    """Return where the first query stands among the keys; raw keys begin where it stands."""
    return offset if isinstance(keys, KeysValues) else 0


def _for_all_heads(mask: Tensor | None) -> Tensor | None:
    """Give a mask of (batch, query, key) an axis for the heads."""
    return mask.unsqueeze(1) if isinstance(mask, Tensor) and mask.ndim == 3 else mask


def _linear_rows(linear: nn.Linear, x: Tensor, rows: slice) -> Tensor:
    """Apply some rows of a linear map; a slice that takes all would still cost the backward."""
    weight: Tensor = linear.weight
    bias: Tensor | None = linear.bias
    if rows != slice(0, linear.out_features):
        weight, bias = weight[rows], None if bias is None else bias[rows]
    return F.linear(x, weight, bias)


def split_heads(x: Features, num_heads: int) -> Heads:
    """Cut each position's vector into equal parts, one for each head.

    The features are cut first, then the new axis moves before the positions. To read
    (position, d_model) as (head, position, d_k) at once would fit in size, but it would
    hand whole positions to a head. Nothing is copied: the result is a view.

    Args:
        x: One vector for each position.
        num_heads: How many parts; ``d_model`` must be a multiple of it.

    Returns:
        Head h has the features :math:`h \\, d_k` to :math:`(h + 1) \\, d_k - 1` of every
        position, where :math:`d_k = d_\\text{model} / h`.

    Raises:
        ValueError: if there are too few axes or features, or the parts are not equal.

    >>> import torch
    >>> x = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]).float()
    >>> split_heads(x, num_heads=2)
    tensor([[[ 1.,  2.],
             [ 5.,  6.],
             [ 9., 10.]],
    <BLANKLINE>
            [[ 3.,  4.],
             [ 7.,  8.],
             [11., 12.]]])
    """
    _check_axes("x: expected the axes (*batch, position, d_model)", x, 2)
    check_divisible(x.shape[-1], num_heads)
    by_head: Tensor = x.unflatten(-1, (num_heads, -1))
    return by_head.transpose(-3, -2)


def merge_heads(heads: Heads) -> Features:
    """Put the parts of each position's vector together again: the inverse of ``split_heads``.

    Where the memory allows it the result is a view, and torch's fused attention leaves its
    output so that it does.

    Args:
        heads: One part for each head and position.

    Raises:
        ValueError: if there are too few axes.

    >>> import torch
    >>> x = torch.rand(5, 3, 8)
    >>> torch.equal(merge_heads(split_heads(x, num_heads=4)), x)
    True
    """
    _check_axes("heads: expected the axes (*batch, head, position, d_k)", heads, 3)
    return heads.transpose(-3, -2).flatten(-2)


def check_divisible(d_model: int, num_heads: int) -> None:
    """Check that a vector can be cut into equal parts.

    Raises:
        ValueError: if it can't.
    """
    if num_heads < 1 or d_model < 1 or d_model % num_heads != 0:
        raise ValueError(
            "num_heads: expected a divisor of d_model, "
            f"got num_heads={num_heads} for d_model={d_model}"
        )


def _check_axes(expected: str, tensor: Tensor, at_least: int) -> None:
    if tensor.ndim < at_least:
        raise ValueError(f"{expected}, got the shape {tuple(tensor.shape)}")
