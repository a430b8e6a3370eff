"""Multi-head attention (MHA), grouped-query attention (GQA), multi-query attention (MQA).

Several attentions side by side, each with projections of its own, or groups of them sharing the
keys and the values; perhaps through a window, perhaps with sinks. Before them self-attention with
one head.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.cache import KVCache
from attention_book.attention.fixed_cache import FixedKVCache
from attention_book.attention.masks import check_mask, without_hidden
from attention_book.attention.positions.scheme import (
    NoPositions,
    Positions,
    check_offset,
    check_within_attention,
)
from attention_book.attention.soft import (
    attend,
    attention_weights,
    dot_product_attention,
    dot_product_weights,
    shared_heads,
)
from attention_book.attention.visibility import Places, Visibility
from attention_book.foundations.checks import (
    check_features,
    check_probability,
    check_same_features,
    check_sequence,
    check_sizes,
    check_values,
    check_weights,
    check_whole,
)
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import (
    Features,
    HeadKeys,
    HeadQueries,
    Heads,
    HeadsMask,
    HeadValues,
    HeadWeights,
    Keys,
    Mask,
    Offset,
    Queries,
    Values,
    Weights,
)


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


class KV(NamedTuple):
    """Each head's keys and values, projected once for all queries to come.

    Attributes:
        keys: (batch, head, key, d_k), turned by their positions.
        values: (batch, head, key, d_v).

    >>> kv = KV(torch.rand(2, 4, 5, 8), torch.rand(2, 4, 5, 8))
    >>> kv.num_keys, kv.select(torch.tensor([1, 1, 0])).keys.shape
    (5, torch.Size([3, 4, 5, 8]))
    """

    keys: Tensor
    values: Tensor

    @property
    def num_keys(self) -> int:
        """How many keys each example and each head has."""
        return self.keys.shape[2]

    def select(self, rows: Int[Tensor, " row"]) -> "KV":
        """Return those of the examples with these numbers; one may come twice."""
        return KV(self.keys[rows], self.values[rows])

    def contiguous(self) -> "KV":
        """Return the same with each head's keys side by side in memory, and its values.

        They come as views of one projection, a head's between those of the others. To copy them
        once pays where they are read often.
        """
        return KV(self.keys.contiguous(), self.values.contiguous())

    # Compared as an object: a tuple would ask tensors for a single truth.

    def __eq__(self, other: object) -> bool:
        """Whether it is this one."""
        return self is other

    def __ne__(self, other: object) -> bool:
        """Whether it is another."""
        return self is not other

    def __hash__(self) -> int:
        """Return a number of its own."""
        return id(self)


class Look(NamedTuple):
    """All that a call compares and averages, head by head.

    Attributes:
        q: The queries, (batch, head, query, d_k), turned by their positions.
        k: The keys, (batch, kv_head, key, d_k), those of the cache first.
        v: The values, (batch, kv_head, key, d_v).
        see: Which keys a query sees.
        at: Where queries and keys stand.

    >>> attention, x = MultiHeadAttention(d_model=8, num_heads=2), torch.rand(1, 5, 8)
    >>> look = attention.look(x, is_causal=True)
    >>> look.q.shape, look.see.causal, look.at.num_keys
    (torch.Size([1, 2, 5, 4]), True, 5)
    """

    q: Tensor
    k: Tensor
    v: Tensor
    see: Visibility
    at: Places


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
        positions: How positions enter, inside attention; None leaves them out.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        query_norm: Applied to each head's queries, (\\*batch, head, query, d_k); None leaves them.
        key_norm: The same for the keys, before they are cached.
        window: w, how many positions a query sees to a side, its own included (sliding-window
            attention, Beltagy et al. 2020; w = 4096 in Mistral 7B, Jiang et al. 2023). L layers
            reach :math:`L (w - 1)` positions. None: all.
        num_first: How many of the text's first positions it sees besides (attention sinks that
            are kept, Xiao et al. 2023, section 3.2).
        sinks: Whether each head learns a score that no key has, as
            :func:`~attention_book.attention.attention_weights` says (gpt-oss, 2025).

    >>> import torch
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> x = torch.rand(1, 5, 8)
    >>> attention(x).shape, attention.weights(x).shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    >>> cache, at_once = attention.new_cache(), attention(x, is_causal=True)
    >>> pieces = [attention(piece, cache=cache) for piece in x.split([2, 2, 1], dim=1)]
    >>> torch.allclose(torch.cat(pieces, dim=1), at_once, atol=1e-6)
    True
    >>> grouped = MultiHeadAttention(d_model=32, num_heads=8, num_kv_heads=2)
    >>> grouped.project(torch.rand(1, 5, 32)).keys.shape, grouped.cache_bytes(num_tokens=5)
    (torch.Size([1, 2, 5, 4]), 320)
    """

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
        positions: Positions | None = None,
        scale: float | None = None,
        query_norm: nn.Module | None = None,
        key_norm: nn.Module | None = None,
        window: int | None = None,
        num_first: int = 0,
        sinks: bool = False,
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
        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.W_k = nn.Linear(d_key, num_kv_heads * d_k, bias=bias)
        self.W_v = nn.Linear(d_value, num_kv_heads * d_k, bias=bias)
        self.W_o = nn.Linear(num_heads * d_k, d_model, bias=bias)
        self.query_norm, self.key_norm = query_norm, key_norm
        self.positions = NoPositions() if positions is None else positions
        check_within_attention(self.positions)
        Visibility(window=window, num_first=num_first)  # refuses what can't be
        self.window, self.num_first = window, num_first
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None

    def forward(
        self,
        queries: Queries,
        keys: Keys | KV | None = None,
        values: Values | None = None,
        mask: HeadsMask | Visibility | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the mixed outputs of the heads, one vector for each query.

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_key), or what :meth:`project` made of keys and values; None:
                the queries.
            values: (batch, key, d_value); None: the keys.
            mask: True where a query may see a key. Two axes are (query, key), three (batch,
                query, key) for all heads, four (batch, head, query, key); each may be of length
                1. A mask of the keys alone is (batch, 1, key). With a cache its keys are those
                of the whole text. Or all that is to be said, as a
                :class:`~attention_book.attention.Visibility`.
            offset: Position of the first query and, unless projected, of the first key.
            is_causal: A query sees only the keys up to its own position, besides what ``mask``
                says; alone it reaches the fused kernel, and no mask is built. There are as many
                keys as queries, or projected ones and an ``offset``.
            cache: What was read before; it goes on by these keys and values, and knows the
                offset. A query then sees itself and what comes before it.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or the call leaves open where its queries
                stand among the keys; in strict mode if a visible score is NaN.
        """
        q, k, v, see, at = look = self.look(
            queries, keys, values, mask, offset=offset, is_causal=is_causal, cache=cache
        )
        dropout = self.dropout if self.training else 0.0
        # No kernel adds a sink, or something to the values.
        if self.sinks is not None or self.positions.biases_values:
            return self._mixed(F.dropout(self.weights_of(look), dropout), v, at)
        bias = self.positions.bias(q, at, scale=self.scale)
        # In every head softmax(q kᵀ / √d_k + bias) v, over the keys seen.
        heads = attend(q, k, v, see, at, scale=self.scale, bias=bias, dropout=dropout)
        output: Tensor = self.W_o(merge_heads(heads))
        return output

    def weights(
        self,
        queries: Queries,
        keys: Keys | KV | None = None,
        mask: HeadsMask | Visibility | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch head query kept"]:
        """Return the weights of each head, without dropout; arguments as in a call.

        The cache stays where it is.
        """
        if cache is not None:
            cache = cache.fork()
        elif isinstance(keys, Tensor):  # the values are not asked for, and may have other sizes
            check_sequence("queries", queries, self.d_model)
            k = self._keys(keys, offset)
            return self.weights_of(self._look(queries, KV(k, k), mask, offset, is_causal, raw=True))
        look = self.look(queries, keys, None, mask, offset=offset, is_causal=is_causal, cache=cache)
        return self.weights_of(look)

    def look(
        self,
        queries: Queries,
        keys: Keys | KV | None = None,
        values: Values | None = None,
        mask: HeadsMask | Visibility | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Look:
        """Return each head's queries, keys and values, who sees whom, and where all stand.

        Arguments as in a call; a cache goes on.
        """
        check_sequence("queries", queries, self.d_model)
        keys = queries if keys is None else keys
        if cache is not None:
            window, num_first = self.window, self.num_first
            place = cache_offset(cache, offset, window=window, num_first=num_first)
        else:
            place = offset
        if isinstance(keys, KV):
            if values is not None:
                raise ValueError(
                    "values: expected None, for the keys bring their values, got a tensor"
                )
            if cache is not None:
                raise ValueError("cache: expected None, for the keys are all that is read, got one")
            return self._look(queries, keys, mask, place, is_causal)
        kv = self.project(keys, values, offset=place)
        return self._look(queries, kv, mask, place, is_causal, raw=True, cache=cache)

    def weights_of(self, look: Look) -> HeadWeights:
        """Return the weights of a look, without dropout."""
        q, k, _, see, at = look
        bias = self.positions.bias(q, at, scale=self.scale)
        return attention_weights(q, k, see, at, scale=self.scale, bias=bias, sinks=self.sinks)

    def combine(
        self, weights: HeadWeights, values: Values | KV | Look, *, offset: int = 0
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_value), or what :meth:`project` or :meth:`look` made.
            offset: As in a call; it matters to positions that reach the values.

        Raises:
            ValueError: if the shapes do not fit.
        """
        if isinstance(values, Look):
            heads, at = values.v, values.at
        else:
            projected = isinstance(values, KV)
            heads = values.values if isinstance(values, KV) else self._values(values)
            # Raw values begin where the queries do.
            at = Places(weights.shape[-2], weights.shape[-1], offset if projected else 0)
        if heads.shape[1] != self.num_kv_heads:
            raise ValueError(f"values: expected {self.num_kv_heads} heads, got {heads.shape[1]}")
        check_weights(weights, heads[:, :1].expand(-1, self.num_heads, -1, -1))
        return self._mixed(weights, without_unweighted(weights, heads), at)

    def project(self, keys: Keys, values: Values | None = None, *, offset: Offset = 0) -> KV:
        """Return each head's keys and values: the work that needs no query.

        Args:
            keys: (batch, key, d_key).
            values: (batch, key, d_value); the keys themselves when None.
            offset: Position of the first key.

        Raises:
            ValueError: if the shapes do not fit.
        """
        check_offset(offset)
        return KV(self._keys(keys, offset), self._values(keys if values is None else values))

    def new_cache(self, *, max_tokens: int | None = None) -> KVCache:
        """Return a cache that keeps of the past what this attention will see.

        With ``max_tokens`` it has memory for so many, once for all: a
        :class:`~attention_book.attention.FixedKVCache`.
        """
        kept: dict[str, Any] = {"window": self.window, "num_first": self.num_first}
        return (
            KVCache(**kept) if max_tokens is None else FixedKVCache(max_tokens=max_tokens, **kept)
        )

    def cache_bytes(self, num_tokens: int = 1) -> int:
        """Return how many bytes the keys and values of ``num_tokens`` tokens take.

        .. math:: 2 \\, n \\, h_{kv} \\, d_k \\times \\text{bytes of a number}
        """
        return 2 * num_tokens * self.num_kv_heads * self.d_k * self.W_o.weight.element_size()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        own = self.num_heads * self.d_k != self.d_model
        settings = {
            "num_heads": self.num_heads,
            "num_kv_heads": self.num_kv_heads if self.num_kv_heads < self.num_heads else None,
            "d_k": self.d_k if own else None,
            "dropout": self.dropout,
            "scale": self.scale,
            "window": self.window,
            "num_first": self.num_first or None,
            "sinks": self.sinks is not None or None,
        }
        shown = {name: value for name, value in settings.items() if value is not None}
        return ", ".join(f"{name}={value}" for name, value in shown.items())

    def _look(
        self,
        queries: Queries,
        kv: KV,
        mask: HeadsMask | Visibility | None,
        offset: Offset,
        is_causal: bool,
        *,
        raw: bool = False,
        cache: KVCache | None = None,
    ) -> Look:
        """Return the look of projected keys and values; raw ones begin where the queries do."""
        check_offset(offset)
        q = split_heads(self.W_q(queries), self.num_heads)
        q = self._placed(q, self.query_norm, offset)
        if kv.keys.shape[1] != self.num_kv_heads:  # one for each query head fits, too
            check_same_features(q, kv.keys)
        if cache is not None:
            if isinstance(mask, Tensor):  # refused before the cache has gone on
                heads_mask(mask, q, int(offset) + kv.num_keys)
            kv = KV(*cache.extend(*kv))
        plain = is_causal or self.window is not None
        at = places_of(q, kv.keys, offset, raw=raw, plain=plain, cache=cache)
        look = look_of(q, *kv, mask, at, is_causal=is_causal or cache is not None)
        if self.window is None:
            return look
        return look._replace(see=look.see.within(self.window, self.num_first))

    def _keys(self, keys: Keys, offset: Offset) -> Tensor:
        check_sequence("keys", keys, self.d_key)
        heads = split_heads(self.W_k(keys), self.num_kv_heads)
        return self._placed(heads, self.key_norm, offset)

    def _values(self, values: Values) -> Tensor:
        check_sequence("values", values, self.d_value)
        return split_heads(self.W_v(values), self.num_kv_heads)

    def _placed(self, heads: Tensor, norm: nn.Module | None, offset: Offset) -> Tensor:
        """Return queries or keys as they are compared: normalized, then turned by position."""
        return self.positions.rotate(heads if norm is None else norm(heads), offset=offset)

    def _mixed(self, weights: Tensor, v: Tensor, at: Places) -> Tensor:
        """Average, add what the positions add to averages, and mix the heads."""
        heads = weights @ shared_heads(v, self.num_heads)
        extra = self.positions.value_bias(weights, at)
        output: Tensor = self.W_o(merge_heads(heads if extra is None else heads + extra))
        return output


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
    if x.ndim < 2 or num_heads < 1 or x.shape[-1] % num_heads:
        _check_parts(x, num_heads)  # says what is wrong
    by_head: Tensor = x.unflatten(-1, (num_heads, -1))
    return by_head.transpose(-3, -2)


def merge_heads(heads: Heads) -> Features:
    """Join the parts of each position's vector again: the inverse of ``split_heads``.

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
    if heads.ndim < 3:
        raise ValueError(
            "heads: expected the axes (*batch, head, position, d_k), "
            f"got the shape {tuple(heads.shape)}"
        )
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


def _check_parts(x: Tensor, num_heads: int) -> None:
    if x.ndim < 2:
        raise ValueError(
            f"x: expected the axes (*batch, position, d_model), got the shape {tuple(x.shape)}"
        )
    check_divisible(x.shape[-1], num_heads)


def checked_groups(num_heads: int, num_kv_heads: int | None) -> int:
    """Return the number of heads of keys and values; None means as many as of queries.

    Raises:
        ValueError: if it does not divide the number of heads.
    """
    if num_kv_heads is None:
        return num_heads
    check_whole(num_kv_heads=num_kv_heads)
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError(
            "num_kv_heads: expected a divisor of num_heads, "
            f"got num_kv_heads={num_kv_heads} for num_heads={num_heads}"
        )
    return num_kv_heads


def heads_mask(mask: Tensor, asked: Heads, num_keys: int) -> Tensor:
    """Check the mask of a call with several heads, and give it an axis for them.

    Args:
        mask: (query, key); (batch, query, key) for all heads; or (batch, head, query, key).
        asked: The heads' queries.
        num_keys: How many keys there are.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if its shape does not fit, or it is on another device.

    >>> import torch
    >>> heads_mask(torch.ones(3, 1, 5, dtype=torch.bool), torch.rand(3, 2, 7, 4), 5).shape
    torch.Size([3, 1, 1, 5])
    """
    num_examples, num_heads, num_queries, _ = asked.shape
    if isinstance(mask, Tensor) and mask.ndim == 3:
        if mask.shape[0] not in (1, num_examples):
            ways = {
                num_heads: "; one for each head is mask[None]",
                num_examples * num_heads: "; torch's, examples times heads, is "
                f"mask.unflatten(0, ({num_examples}, {num_heads}))",
            }
            raise ValueError(
                "mask: expected a shape (batch, query, key) for all heads, or (batch, head, "
                f"query, key), with {num_examples} examples and {num_heads} heads, got "
                f"{tuple(mask.shape)}{ways.get(mask.shape[0], '')}"
            )
        mask = mask.unsqueeze(1)
    check_mask(mask, num_queries, num_keys, batch=asked.shape[:-2], device=asked.device)
    return mask


def places_of(
    q: HeadQueries,
    k: HeadKeys,
    offset: Any,
    *,
    raw: bool,
    plain: bool,
    cache: KVCache | None = None,
) -> Places:
    """Return where the queries and keys of a call stand, counted from the first key.

    Args:
        q: The heads' queries.
        k: Their keys, those of the cache included.
        offset: Position of the first query, an ``Offset``.
        raw: Whether the call's keys begin where its queries do, wherever that is: both count from
            0, for distances alone matter. Else the keys begin at 0, as projected ones.
        plain: Whether this may not stay open: the call is causal, or looks through a window.
        cache: What the keys are from, which went on already.

    Raises:
        ValueError: if it may not stay open, and does.

    >>> q, k = torch.rand(1, 1, 2, 4), torch.rand(1, 1, 9, 4)
    >>> places_of(q, k, 7, raw=False, plain=True)
    Places(num_queries=2, num_keys=9, offset=7, num_first=0, dropped=0)
    """
    num_queries, num_keys = q.shape[-2], k.shape[-2]
    if cache is not None:
        return Places(num_queries, num_keys, offset, cache.num_first, cache.dropped)
    counts, ahead = f"{num_queries}, {num_keys}", num_keys - num_queries
    if plain and raw and num_keys != num_queries:
        raise ValueError(
            f"is_causal: expected as many keys as queries, got {num_queries} queries and "
            f"{num_keys} keys; leave it out and give a mask: causal_mask({counts}, offset=0) "
            f"where the first query stands at the first key, causal_mask({counts}, offset={ahead}) "
            "where the last query stands at the last key (with positions or a window, give "
            f"project(keys) and offset={ahead} instead)"
        )
    if plain and offset == 0 and num_keys != num_queries:
        raise ValueError(
            f"offset: expected where the first of {num_queries} queries stands among "
            f"{num_keys} keys, got {offset}; offset={ahead} where "
            "the last query stands at the last key; where the first stands at the first key, "
            f"leave is_causal out and give the mask causal_mask({counts}, offset=0)"
        )
    return Places(num_queries, num_keys, 0 if raw else offset)


def look_of(
    q: HeadQueries,
    k: HeadKeys,
    v: HeadValues,
    mask: Tensor | Visibility | None,
    at: Places,
    *,
    is_causal: bool,
) -> Look:
    """Return the look of a call: what its mask hides is cleared, if it is the caller's own.

    >>> q, k, v = torch.rand(3, 1, 2, 1, 4)
    >>> look_of(q, k, v, torch.tensor([[False]]), Places(1, 1), is_causal=False).k.sum()
    tensor(0.)
    """
    fits = q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3] and k.shape[2] > 0
    if not fits or k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        check_same_features(q, k)  # says what is wrong
    if v.shape[:-1] != k.shape[:-1]:
        check_values(k, v)  # says what is wrong
    if isinstance(mask, Visibility):
        return Look(q, k, v, mask.looking_back() if is_causal else mask, at)
    if mask is None:
        return Look(q, k, v, Visibility(causal=is_causal), at)
    shown = heads_mask(mask, q, at.num_keys + at.dropped)
    see = Visibility(causal=is_causal, mask=shown)
    # A group keeps what one of its heads sees; a mask has the whole text's keys, a cache some.
    if shown.ndim == 4 and shown.shape[1] not in (1, k.shape[1]):
        shown = shown.unflatten(1, (k.shape[1], -1)).any(dim=2)
    if at.dropped and shown.shape[-1] > 1:
        shown = shown[..., at.keys(shown.device)]
    k, v = without_hidden(shown, k, v)
    return Look(q, k, v, see, at)


def cache_offset(cache: KVCache, offset: Offset, *, window: int | None, num_first: int) -> Offset:
    """Return where the first query of a call with a cache stands.

    Raises:
        ValueError: if the call says so itself, or the cache forgets what the call sees.

    >>> cache_offset(KVCache(), 0, window=None, num_first=0)
    0
    """
    if offset:
        raise ValueError(f"offset: expected 0, for the cache knows the place, got {offset}")
    # A cache without a window keeps everything.
    sees_more = window is None or window > (cache.window or window) or num_first > cache.num_first
    if cache.window is not None and sees_more:
        raise ValueError(
            f"cache: expected one that keeps what is seen, as new_cache() returns, with "
            f"window={window} and num_first={num_first}, got one with "
            f"window={cache.window} and num_first={cache.num_first}"
        )
    return cache.position


def without_unweighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return values with zeros for infinity and NaN where no query of a group has a weight.

    Of those, 0 times infinity would be NaN in the average.
    """
    unweighted = (weights == 0).all(dim=-2, keepdim=True).mT
    if unweighted.shape[1] != values.shape[1]:
        unweighted = unweighted.unflatten(1, (values.shape[1], -1)).all(dim=2)
    return values.masked_fill(unweighted & ~values.isfinite(), 0.0)
