"""Multi-head attention (MHA), grouped-query attention (GQA), multi-query attention (MQA).

Several attentions side by side, each with projections of its own, or groups of them sharing the
keys and the values.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.masks import without_hidden
from attention_book.attention.multi_head.heads import (
    check_divisible,
    check_given,
    checked_groups,
    first_query,
    group_heads,
    group_mask,
    heads_mask,
    linear_rows,
    merge_heads,
    past_only,
    split_heads,
    ungroup_heads,
    without_unweighted,
)
from attention_book.attention.multi_head.kv_cache import KVCache
from attention_book.attention.positions.scheme import (
    NoPositions,
    Positions,
    check_within_attention,
    entrances,
)
from attention_book.attention.soft import dot_product_attention, dot_product_weights
from attention_book.foundations.checks import (
    check_probability,
    check_sequence,
    check_sizes,
    is_strict,
)
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import (
    HeadsMask,
    HeadWeights,
    Keys,
    Queries,
    Values,
)

_LONG = 512  # queries, from where on a mask for all pairs takes more than a kernel's own work


class MultiHeadAttention(ResettableLayer):
    """Attend with several heads in parallel, and mix their outputs.

    .. math::
        \\text{head}_i = \\operatorname{softmax}\\Bigl(
        \\frac{Q W_q^{(i)} (K W_k^{(i)})^\\top}{\\sqrt{d_k}}\\Bigr) V W_v^{(i)}, \\qquad
        O = [\\text{head}_1; \\ldots; \\text{head}_h] \\, W_o

    Vaswani et al. (2017), section 3.2.2, with :math:`d_k = d_v = d_\\text{model} / h`. The
    projections of all heads are stacked in one matrix, and the heads are an axis like the
    batch, so that their number changes neither the parameters nor the matrix products. Today's
    models often choose :math:`d_k` apart from :math:`d_\\text{model} / h`.

    With ``query_norm`` and ``key_norm``, each head's queries and keys are normalized before they
    are turned by their positions and compared (QK-norm, Henry et al. 2020): then no score is
    larger than the norms' weights allow, whatever the projections are.

    With fewer heads of keys and values than of queries, head i looks into those of its group,
    :math:`\\lfloor i \\, h_{kv} / h \\rfloor`: grouped-query attention (GQA, Ainslie et al. 2023,
    section 2.2). One for all is multi-query attention (MQA, Shazeer 2019, section 3). The cache
    has :math:`2 \\, h_{kv} \\, d_k` numbers for each token, :math:`h / h_{kv}` times fewer.

    The law ``module(q, k, v, mask) == module.combine(module.weights(q, k, mask), v)`` holds
    (up to rounding) whenever dropout is off. A query that may see nothing gets 0 from every
    head; what it returns is the bias of :math:`W_o`, or 0 without one.

    Args:
        d_model: Size of the queries and of the output.
        num_heads: Number of heads; it divides ``d_model`` unless ``d_k`` is given.
        num_kv_heads: Number of heads of keys and values; it divides ``num_heads``, and is as
            many when None.
        d_key: Size of the keys before projection; ``d_model`` when None.
        d_value: Size of the values before projection; ``d_model`` when None.
        d_k: Size of one head's queries, keys and values; ``d_model / num_heads`` when None.
        dropout: Probability of dropping a weight while training.
        bias: Whether the four projections add a bias.
        fused: Keep :math:`W_q, W_k, W_v` as the rows of one matrix, so that self-attention
            is one product; other sizes of keys or values need three. Where a call needs some
            of the rows, a ``W_qkv`` that is no plain ``nn.Linear`` any more (an adapter, say, or
            one with a hook) is called as a whole, and its output is cut.
        positions: How positions enter, inside attention; None leaves them out.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        query_norm: Applied to each head's queries, (\\*batch, head, query, d_k); None leaves them.
        key_norm: The same for the keys, before they are cached.

    Raises:
        ValueError: if a number of heads does not divide, a number is out of range, or the
            positions are added to the input, where this module can't add them.

    >>> import torch
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> x = torch.rand(1, 5, 8)
    >>> attention(x, x, x).shape, attention.weights(x, x).shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    >>> memory = attention.project(x, x)
    >>> torch.allclose(attention(x, memory), attention(x, x, x), atol=1e-6)
    True
    >>> grouped = MultiHeadAttention(d_model=32, num_heads=8, num_kv_heads=2)
    >>> grouped.project(torch.rand(1, 5, 32)).keys.shape, grouped.cache_bytes(num_tokens=5)
    (torch.Size([1, 2, 5, 4]), 320)
    """

    needs_weights: bool = False  # True where no fused kernel makes the weights

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        d_k: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
        fused: bool = True,
        positions: Positions | None = None,
        scale: float | None = None,
        query_norm: nn.Module | None = None,
        key_norm: nn.Module | None = None,
    ) -> None:
        """Create the projections."""
        super().__init__()
        d_key = d_model if d_key is None else d_key
        d_value = d_model if d_value is None else d_value
        if d_k is None:
            check_divisible(d_model, num_heads)
            d_k = d_model // num_heads
        sizes = {"d_model": d_model, "num_heads": num_heads, "d_k": d_k}
        check_sizes(**sizes, d_key=d_key, d_value=d_value)
        num_kv_heads = checked_groups(num_heads, num_kv_heads)
        check_probability("dropout", dropout)
        self.d_model, self.d_key, self.d_value = d_model, d_key, d_value
        self.num_heads, self.num_kv_heads, self.d_k = num_heads, num_kv_heads, d_k
        self.dropout, self.scale = dropout, scale
        d_q, d_kv = num_heads * d_k, num_kv_heads * d_k
        self._sizes = {"q": d_q, "k": d_kv, "v": d_kv}
        self.fused = fused and d_key == d_value == d_model
        if self.fused:
            self.W_qkv = nn.Linear(d_model, d_q + 2 * d_kv, bias=bias)
        else:
            self.W_q = nn.Linear(d_model, d_q, bias=bias)
            self.W_k = nn.Linear(d_key, d_kv, bias=bias)
            self.W_v = nn.Linear(d_value, d_kv, bias=bias)
        self.W_o = nn.Linear(d_q, d_model, bias=bias)
        self.query_norm, self.key_norm = query_norm, key_norm
        self.positions = NoPositions() if positions is None else positions
        check_within_attention(self.positions)

    def forward(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        values: Values | None = None,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch query d_model"]:
        """Return the mixed outputs of the heads, one vector for each query.

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_key), or what :meth:`project` made of keys and values.
            values: (batch, key, d_value); the keys themselves when None.
            mask: True where a query may see a key. Two axes are (query, key), three (batch,
                query, key) for all heads, four (batch, head, query, key); each may be of length
                1. A mask of the keys alone is (batch, 1, key).
            offset: Position of the first query and, unless projected, of the first key.
            is_causal: A query sees only the keys up to its own position, besides what ``mask``
                says; alone it reaches the fused kernel, and no mask is built. There are as many
                keys as queries, or a cache and ``offset``.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a causal call leaves open where its queries
                stand among the keys; in strict mode if a visible score is NaN.
        """
        asked, found = self._ask(queries, keys, values, offset)
        start = first_query(asked.shape[-2], keys, offset, is_causal=is_causal)
        dropout = self.dropout if self.training else 0.0
        mask = heads_mask(mask, asked, found.num_keys)
        if self.needs_weights or self.positions.biases_values:
            weights = self._weights(asked, found.keys, mask, start, is_causal)
            (seen,) = without_hidden(group_mask(mask, asked, self.num_kv_heads), found.values)
            return self._combine(F.dropout(weights, dropout), seen, start)
        alone = is_causal and not start and mask is None
        if alone and self._shares_kernel(asked):
            heads = F.scaled_dot_product_attention(
                asked,
                found.keys,
                found.values,
                dropout_p=dropout,
                is_causal=True,
                scale=self.scale,
                enable_gqa=True,
            )
            shared: Tensor = self.W_o(merge_heads(heads))
            return shared
        if is_causal and (start or mask is not None or self.num_kv_heads < self.num_heads):
            mask, is_causal = past_only(mask, asked, found.keys, start), False
        heads = dot_product_attention(
            group_heads(asked, self.num_kv_heads),
            found.keys,
            found.values,
            group_mask(mask, asked, self.num_kv_heads),
            scale=self.scale,
            bias=self._bias(asked, found.num_keys, start),
            is_causal=is_causal,
            dropout=dropout,
        )
        output: Tensor = self.W_o(merge_heads(ungroup_heads(heads, self.num_heads)))
        return output

    def project(self, keys: Keys, values: Values | None = None, *, offset: int = 0) -> KVCache:
        """Return each head's keys and values: the work that needs no query.

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
        return KVCache(self._placed(k, self.key_norm, offset), v)

    def weights(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
    ) -> HeadWeights:
        """Return the weights of each head, without dropout; arguments as in a call."""
        check_sequence("queries", queries, self.d_model)
        asked = self._placed(self._heads(queries, "q")[0], self.query_norm, offset)
        if not isinstance(keys, KVCache):
            check_sequence("keys", keys, self.d_key)
        start = first_query(asked.shape[-2], keys, offset, is_causal=is_causal)
        if isinstance(keys, KVCache):
            return self._weights(asked, keys.keys, mask, start, is_causal)
        (compared,) = self._heads(keys, "k")
        turned = self._placed(compared, self.key_norm, offset)
        return self._weights(asked, turned, mask, start, is_causal)

    def combine(
        self, weights: HeadWeights, values: Values | KVCache, *, offset: int = 0
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_value), or what :meth:`project` made.
            offset: As in a call; it matters to positions that reach the values.

        Raises:
            ValueError: if the shapes do not fit.
        """
        if isinstance(values, KVCache):
            heads, start = values.values, offset
        else:
            check_sequence("values", values, self.d_value)
            (heads,), start = self._heads(values, "v"), 0  # raw values begin where the queries do
        check_given(weights, heads, self.num_heads, self.num_kv_heads)
        seen = without_unweighted(group_heads(weights, self.num_kv_heads), heads)
        return self._combine(weights, seen, start)

    def cache_bytes(self, num_tokens: int = 1) -> int:
        """Return how many bytes the keys and values of ``num_tokens`` tokens take.

        .. math:: 2 \\, n \\, h_{kv} \\, d_k \\times \\text{bytes of a number}
        """
        return 2 * num_tokens * self._sizes["k"] * self.W_o.weight.element_size()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        shared = self.num_kv_heads < self.num_heads
        kv_heads = f", num_kv_heads={self.num_kv_heads}" if shared else ""
        scale = "" if self.scale is None else f", scale={self.scale}"
        own = self.num_heads * self.d_k != self.d_model
        d_k = f", d_k={self.d_k}" if own else ""
        return f"num_heads={self.num_heads}{kv_heads}{d_k}, dropout={self.dropout}{scale}"

    def _ask(
        self, queries: Queries, keys: Keys | KVCache, values: Values | None, offset: int
    ) -> tuple[Tensor, KVCache]:
        """Return the heads' queries, and their keys and values."""
        check_sequence("queries", queries, self.d_model)
        if isinstance(keys, KVCache) and values is not None:
            raise ValueError("values: expected None, for the keys bring their values, got a tensor")
        if self.fused and queries is keys and (values is None or values is keys):
            q, k, v = self._heads(queries, "qkv")
            found = KVCache(self._placed(k, self.key_norm, offset), v)
        elif isinstance(keys, KVCache):
            (q,), found = self._heads(queries, "q"), keys
        else:
            (q,), found = self._heads(queries, "q"), self.project(keys, values, offset=offset)
        return self._placed(q, self.query_norm, offset), found

    def _placed(self, heads: Tensor, norm: nn.Module | None, offset: int) -> Tensor:
        """Return queries or keys as they are compared: normalized, then turned by position."""
        return self.positions.rotate(heads if norm is None else norm(heads), offset=offset)

    def _heads(self, x: Tensor, which: str) -> list[Tensor]:
        """Return the heads' queries, keys or values: those of "qkv" that stand in ``which``."""
        if self.fused:
            before = "qkv"[: "qkv".index(which)]
            first = sum(self._sizes[letter] for letter in before)
            sizes = [self._sizes[letter] for letter in which]
            rows = slice(first, first + sum(sizes))
            num_rows = sum(self._sizes.values())
            projected = linear_rows(self.W_qkv, x, rows, num_rows).split(sizes, dim=-1)
        else:
            projected = tuple(getattr(self, f"W_{letter}")(x) for letter in which)
        counts = [self.num_heads if letter == "q" else self.num_kv_heads for letter in which]
        return [split_heads(each, count) for each, count in zip(projected, counts, strict=True)]

    def _weights(
        self, asked: Tensor, keys: Tensor, mask: Tensor | None, start: int, is_causal: bool
    ) -> Tensor:
        mask = heads_mask(mask, asked, keys.shape[-2])
        if is_causal:
            mask = past_only(mask, asked, keys, start)
        weights = dot_product_weights(
            group_heads(asked, self.num_kv_heads),
            keys,
            group_mask(mask, asked, self.num_kv_heads),
            scale=self.scale,
            bias=self._bias(asked, keys.shape[-2], start),
        )
        return ungroup_heads(weights, self.num_heads)

    def _combine(self, weights: Tensor, values: Tensor, start: int) -> Tensor:
        check_given(weights, values, self.num_heads, self.num_kv_heads)
        found = group_heads(weights, self.num_kv_heads) @ values
        heads = ungroup_heads(found, self.num_heads)
        extra = self.positions.value_bias(weights, offset=start)
        output: Tensor = self.W_o(merge_heads(heads if extra is None else heads + extra))
        return output

    def _shares_kernel(self, asked: Tensor) -> bool:
        """Whether torch's kernel shall hide the future from grouped heads by itself.

        It needs no mask, whose memory grows with the square of the length. Where that is little,
        a group's queries side by side are faster; where checks of the data are asked for, the
        kernel could not say what is wrong.
        """
        from_here_on = torch.compiler.is_compiling() or asked.shape[-2] >= _LONG
        biased = "bias" in entrances(self.positions)
        groups = self.num_kv_heads < self.num_heads
        return groups and from_here_on and not biased and not is_strict()

    def _bias(self, asked: Tensor, num_keys: int, start: int) -> Tensor | None:
        bias = self.positions.bias(asked, num_keys, offset=start, scale=self.scale)
        return bias if bias is None else group_heads(bias, self.num_kv_heads)
