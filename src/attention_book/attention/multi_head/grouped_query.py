"""Grouped-query attention: many heads ask, few heads of keys and values answer."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.masks import check_mask
from attention_book.attention.multi_head.kv_cache import KeysValues
from attention_book.attention.multi_head.multi_head import check_divisible, merge_heads, split_heads
from attention_book.attention.positions.scheme import NoPositions, Positions
from attention_book.attention.soft import dot_product_attention, dot_product_weights
from attention_book.foundations.checks import check_probability, check_sequence, check_weights
from attention_book.foundations.shapes import HeadsMask, HeadWeights, Keys, Queries, Values


class GroupedQueryAttention(nn.Module):
    """Multi-head attention whose query heads share keys and values, group by group.

    .. math::
        \\text{head}_i = \\operatorname{softmax}\\Bigl(
        \\frac{Q W_q^{(i)} (K W_k^{(g)})^\\top}{\\sqrt{d_k}}\\Bigr) V W_v^{(g)}, \\qquad
        g = \\lfloor i \\, h_{kv} / h \\rfloor

    Ainslie et al. (2023), section 2.2. One head of keys and values for all is multi-query
    attention (Shazeer 2019, section 3); as many as heads is multi-head attention, with the
    same names of parameters as ``MultiHeadAttention(fused=False)``. The cache has
    :math:`2 \\, h_{kv} \\, d_k` numbers for each token, :math:`h / h_{kv}` times fewer.

    Args:
        d_model: Size of the inputs and of the output.
        num_heads: Number of query heads; it divides ``d_model``.
        num_key_value_heads: Number of heads of keys and values; it divides ``num_heads``.
        dropout: Probability of dropping a weight while training.
        bias: Whether the four projections add a bias.
        positions: How positions enter; None leaves them out.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.

    Raises:
        ValueError: if a number of heads does not divide, or a number is out of range.

    >>> import torch
    >>> attention = GroupedQueryAttention(d_model=32, num_heads=8, num_key_value_heads=2)
    >>> x = torch.rand(1, 5, 32)
    >>> attention(x, x).shape, attention.weights(x, x).shape
    (torch.Size([1, 5, 32]), torch.Size([1, 8, 5, 5]))
    >>> attention.project(x).keys.shape, attention.cache_bytes(num_tokens=5)
    (torch.Size([1, 2, 5, 4]), 320)
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        positions: Positions | None = None,
        scale: float | None = None,
    ) -> None:
        """Create the projections."""
        super().__init__()
        check_divisible(d_model, num_heads)
        check_probability("dropout", dropout)
        _check_groups(num_heads, num_key_value_heads)
        self.d_model, self.num_heads = d_model, num_heads
        self.num_key_value_heads = num_key_value_heads
        self.dropout, self.scale = dropout, scale
        narrow = num_key_value_heads * (d_model // num_heads)
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, narrow, bias=bias)
        self.W_v = nn.Linear(d_model, narrow, bias=bias)
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
    ) -> Float[Tensor, "batch query d_model"]:
        """Return what the heads found; arguments as those of ``MultiHeadAttention``."""
        asked = self._ask(queries, offset)
        if isinstance(keys, KeysValues) and values is not None:
            raise ValueError("values: expected None, for the keys bring their values, got a tensor")
        start = offset if isinstance(keys, KeysValues) else 0
        found = keys if isinstance(keys, KeysValues) else self.project(keys, values, offset=offset)
        dropout = self.dropout if self.training else 0.0
        if self.positions.biases_values:  # no fused kernel can do that
            weights = self._weights(asked, found.keys, mask, start)
            return self._combine(F.dropout(weights, dropout), found.values, start)
        grouped = dot_product_attention(
            self._group(asked),
            found.keys,
            found.values,
            self._group_mask(mask, asked, found.keys),
            scale=self.scale,
            bias=self._bias(asked, found.num_keys, start),
            dropout=dropout,
        )
        output: Tensor = self.W_o(merge_heads(self._ungroup(grouped)))
        return output

    def project(self, keys: Keys, values: Values | None = None, *, offset: int = 0) -> KeysValues:
        """Return the keys and values to be kept: ``num_key_value_heads`` of them.

        Args:
            keys: (batch, key, d_model).
            values: (batch, key, d_model); the keys themselves when None.
            offset: Position of the first key.

        Raises:
            ValueError: if the shapes do not fit.
        """
        values = keys if values is None else values
        check_sequence("keys", keys, self.d_model)
        check_sequence("values", values, self.d_model)
        k = split_heads(self.W_k(keys), self.num_key_value_heads)
        v = split_heads(self.W_v(values), self.num_key_value_heads)
        return KeysValues(self.positions.rotate(k, offset=offset), v)

    def weights(
        self,
        queries: Queries,
        keys: Keys | KeysValues,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
    ) -> HeadWeights:
        """Return the weights of each query head, without dropout; arguments as in a call."""
        asked = self._ask(queries, offset)
        if isinstance(keys, KeysValues):
            return self._weights(asked, keys.keys, mask, offset)
        return self._weights(asked, self.project(keys, offset=offset).keys, mask, 0)

    def combine(
        self, weights: HeadWeights, values: Values | KeysValues, *, offset: int = 0
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_model), or what :meth:`project` made.
            offset: As in a call; it matters to positions that reach the values.

        Raises:
            ValueError: if the shapes do not fit.
        """
        if isinstance(values, KeysValues):
            return self._combine(weights, values.values, offset)
        return self._combine(weights, self.project(values).values, 0)

    def cache_bytes(self, num_tokens: int = 1) -> int:
        """Return how many bytes the keys and values of so many tokens take.

        .. math:: 2 \\, n \\, h_{kv} \\, d_k \\times \\text{bytes of a number}
        """
        return 2 * num_tokens * self.W_k.out_features * self.W_k.weight.element_size()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        heads = f"num_heads={self.num_heads}, num_key_value_heads={self.num_key_value_heads}"
        scale = "" if self.scale is None else f", scale={self.scale}"
        return f"{heads}, dropout={self.dropout}{scale}"

    def _ask(self, queries: Tensor, offset: int) -> Tensor:
        check_sequence("queries", queries, self.d_model)
        heads = split_heads(self.W_q(queries), self.num_heads)
        return self.positions.rotate(heads, offset=offset)

    def _weights(self, asked: Tensor, keys: Tensor, mask: Tensor | None, start: int) -> Tensor:
        seen = self._group_mask(mask, asked, keys)
        bias = self._bias(asked, keys.shape[-2], start)
        grouped = dot_product_weights(self._group(asked), keys, seen, scale=self.scale, bias=bias)
        return self._ungroup(grouped)

    def _combine(self, weights: Tensor, values: Tensor, start: int) -> Tensor:
        if values.shape[1] != self.num_key_value_heads:
            raise ValueError(
                f"values: expected {self.num_key_value_heads} heads, got {values.shape[1]}"
            )
        check_weights(weights, values[:, :1].expand(-1, self.num_heads, -1, -1))
        heads = self._ungroup(self._group(weights) @ values)
        extra = self.positions.value_bias(weights, offset=start)
        output: Tensor = self.W_o(merge_heads(heads if extra is None else heads + extra))
        return output

    def _bias(self, asked: Tensor, num_keys: int, start: int) -> Tensor | None:
        bias = self.positions.bias(asked, num_keys, offset=start, scale=self.scale)
        return bias if bias is None else self._group(bias)

    @property
    def _per_group(self) -> int:
        return self.num_heads // self.num_key_value_heads

    def _group(self, heads: Tensor) -> Tensor:
        """Line up the queries of all heads that share keys: the keys need no copies.

        From (batch, head, query, ...) to (batch, key-value head, head in group * query, ...).
        """
        grouped: Tensor = heads.unflatten(1, (self.num_key_value_heads, -1))
        return grouped.flatten(2, 3)

    def _ungroup(self, grouped: Tensor) -> Tensor:
        """Give each head its own queries back: the inverse."""
        heads: Tensor = grouped.unflatten(2, (self._per_group, -1))
        return heads.flatten(1, 2)

    def _group_mask(self, mask: Tensor | None, asked: Tensor, keys: Tensor) -> Tensor | None:
        """Give the mask the axes of grouped queries; one for all heads is repeated per group."""
        if mask is None:
            return None
        num_queries, num_keys = asked.shape[-2], keys.shape[-2]
        if isinstance(mask, Tensor) and mask.ndim == 3:
            mask = mask.unsqueeze(1)
        check_mask(mask, num_queries, num_keys, batch=asked.shape[:-2], device=asked.device)
        mask = mask[(None,) * (4 - mask.ndim)]
        if mask.shape[1] == 1:
            rows = mask.expand(-1, self._per_group, num_queries, -1)
            return rows.flatten(1, 2).unsqueeze(1)
        return self._group(mask.expand(-1, -1, num_queries, -1))


def _check_groups(num_heads: int, num_key_value_heads: int) -> None:
    if num_key_value_heads < 1 or num_heads % num_key_value_heads != 0:
        raise ValueError(
            "num_key_value_heads: expected a divisor of num_heads, "
            f"got num_key_value_heads={num_key_value_heads} for num_heads={num_heads}"
        )


__all__ = ["GroupedQueryAttention"]
