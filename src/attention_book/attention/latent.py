"""Multi-head latent attention (MLA): all heads' keys and values from one small cached vector.

DeepSeek-AI (2024), "DeepSeek-V2". What is cached for a token is a latent vector, and one key of
its position that all heads share; each head expands both, or its query is taken to the latent.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.cache import KVCache
from attention_book.attention.fixed_cache import FixedKVCache
from attention_book.attention.multi_head import (
    KV,
    Look,
    cache_offset,
    heads_mask,
    look_of,
    merge_heads,
    places_of,
    split_heads,
    without_unweighted,
)
from attention_book.attention.positions.rotary import RotaryPositions
from attention_book.attention.positions.scheme import Positions, check_within_attention
from attention_book.attention.soft import attend, attention_weights
from attention_book.attention.visibility import Visibility
from attention_book.foundations.checks import (
    check_positive,
    check_sequence,
    check_sizes,
    check_weights,
)
from attention_book.foundations.shapes import HeadsMask, HeadWeights, Keys, Offset, Queries


class LatentAttention(nn.Module):
    """Attend with several heads that share one latent vector for each token (MLA).

    .. math::
        c_j = \\operatorname{norm}(W^{DKV} x_j), \\qquad r_j = \\operatorname{RoPE}_j(W^{KR} x_j)

    are cached, and head i looks with

    .. math::
        k_j^{(i)} = [W_i^{UK} c_j; r_j], \\qquad v_j^{(i)} = W_i^{UV} c_j, \\qquad
        q_t^{(i)} = [W_i^{UQ} c_t^Q; \\operatorname{RoPE}_t(W_i^{QR} c_t^Q)],

    where :math:`c^Q = \\operatorname{norm}(W^{DQ} x)`, or x itself without ``q_rank``. Scores are
    divided by :math:`\\sqrt{d_k + d_\\text{rope}}`. DeepSeek-AI (2024), section 2.1, with the
    norms of the released models. The cache has ``kv_rank + d_rope`` numbers for each token,
    whatever the number of heads.

    The expansion need not be made. Since :math:`q^\\top W^{UK} c = (W^{UK\\top} q)^\\top c`, the
    query can be taken to the latent instead, and the average of latents is expanded once:
    *absorbed*, all heads share one key :math:`[c_j; r_j]` and one value :math:`c_j`, as in
    multi-query attention. That takes more operations for each key and reads far less.

    The law ``module(x, x, x, mask) == module.combine(module.weights(x, x, mask), x)`` holds up
    to rounding, absorbed or not.

    Args:
        d_model: Size of the queries, the keys and the output.
        num_heads: Number of heads.
        kv_rank: Size of the latent vector.
        d_k: Size of the part of a head's key that has no position.
        d_rope: Size of the part that has one, even.
        d_v: Size of a head's value; ``d_k`` when None.
        q_rank: Size of the queries' latent vector; None makes queries of x at once.
        positions: How the parts with a position are turned; None: rotary, with base 10000.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k + d_\\text{rope}}` when None.
        eps: Added to the mean square in the norms of the latent vectors.

    Raises:
        ValueError: if a size is out of range.

    >>> attention = LatentAttention(d_model=32, num_heads=4, kv_rank=8, d_k=8, d_rope=4)
    >>> x = torch.rand(1, 5, 32)
    >>> attention(x, x).shape, attention.cache_bytes(num_tokens=5)
    (torch.Size([1, 5, 32]), 240)
    >>> kv = attention.project(x)
    >>> absorbed, expanded = (attention(x, kv, absorbed=each) for each in (True, False))
    >>> torch.allclose(absorbed, expanded, atol=1e-6)
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        kv_rank: int,
        d_k: int,
        d_rope: int,
        d_v: int | None = None,
        q_rank: int | None = None,
        positions: Positions | None = None,
        scale: float | None = None,
        eps: float = 1e-6,
    ) -> None:
        """Create the projections and the norms."""
        super().__init__()
        d_v = d_k if d_v is None else d_v
        d_q = d_model if q_rank is None else q_rank
        check_sizes(d_model=d_model, num_heads=num_heads, kv_rank=kv_rank, d_k=d_k)
        check_sizes(d_rope=d_rope, d_v=d_v, q_rank=d_q)
        check_positive("eps", eps)
        self.d_model, self.num_heads, self.kv_rank = d_model, num_heads, kv_rank
        self.d_k, self.d_rope, self.d_v = d_k, d_rope, d_v
        self.scale = (d_k + d_rope) ** -0.5 if scale is None else scale
        self.W_dq = nn.Identity() if q_rank is None else _down(d_model, q_rank, eps)
        self.W_uq = nn.Linear(d_q, num_heads * d_k, bias=False)
        self.W_qr = nn.Linear(d_q, num_heads * d_rope, bias=False)
        self.W_dkv = _down(d_model, kv_rank, eps)
        self.W_kr = nn.Linear(d_model, d_rope, bias=False)
        self.W_uk = nn.Linear(kv_rank, num_heads * d_k, bias=False)
        self.W_uv = nn.Linear(kv_rank, num_heads * d_v, bias=False)
        self.W_o = nn.Linear(num_heads * d_v, d_model, bias=False)
        self.positions = RotaryPositions(d_k=d_rope) if positions is None else positions
        check_within_attention(self.positions, turned_only=True)

    def forward(
        self,
        queries: Queries,
        keys: Keys | KV | None = None,
        values: Keys | None = None,
        mask: HeadsMask | Visibility | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        cache: KVCache | None = None,
        absorbed: bool | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the mixed outputs of the heads, one vector for each query.

        Arguments as of :class:`~attention_book.attention.MultiHeadAttention`, but these:

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_model), or what :meth:`project` made of them; None: the queries.
            values: The keys themselves, or None: both come from one latent vector.
            mask: True where a query may see a key.
            offset: Position of the first query and, unless projected, of the first key.
            is_causal: A query sees only the keys up to its own position.
            cache: What was read before; it goes on by these keys.
            absorbed: Whether queries go to the latent vectors, or these are expanded; the
                result is the same. None: where the latents are there already, as they are in
                decoding, and :math:`W_{uk}` and :math:`W_{uv}` are matrices still: wrapped or
                hooked they are called.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, the values are not the keys, what is to be
                absorbed is no matrix, or the call leaves open where its queries stand among the
                keys.
        """
        absorbed = self._absorbs(absorbed, known=isinstance(keys, KV) or cache is not None)
        q, k, v, see, at = self._look(
            queries, keys, values, mask, offset, is_causal, cache, absorbed=absorbed
        )
        heads = attend(q, k, v, see, at, scale=self.scale)
        if absorbed:  # what came back are averaged latents
            heads = heads @ self._per_head(self.W_uv, self.d_v).mT
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
        """Return the weights of each head; arguments as in a call. The cache stays."""
        cache = None if cache is None else cache.fork()
        look = self.look(queries, keys, None, mask, offset=offset, is_causal=is_causal, cache=cache)
        return self.weights_of(look)

    def look(
        self,
        queries: Queries,
        keys: Keys | KV | None = None,
        values: Keys | None = None,
        mask: HeadsMask | Visibility | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Look:
        """Return each head's queries, keys and values, expanded; arguments as in a call."""
        return self._look(queries, keys, values, mask, offset, is_causal, cache, absorbed=False)

    def weights_of(self, look: Look) -> HeadWeights:
        """Return the weights of a look."""
        return attention_weights(look.q, look.k, look.see, look.at, scale=self.scale)

    def combine(
        self, weights: HeadWeights, values: Keys | KV | Look
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the expanded values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_model), or what :meth:`project` or :meth:`look` made of them.

        Raises:
            ValueError: if the shapes do not fit.
        """
        if isinstance(values, Look):
            v = values.v
        else:  # positions enter the keys alone
            latents = values if isinstance(values, KV) else self.project(values)
            v = self._expanded(latents)[1]
        check_weights(weights, v)
        output: Tensor = self.W_o(merge_heads(weights @ without_unweighted(weights, v)))
        return output

    def project(self, keys: Keys, *, offset: Offset = 0) -> KV:
        """Return what is cached: as keys the latent vectors, as values the turned shared keys.

        Both have one head: (batch, 1, key, kv_rank) and (batch, 1, key, d_rope).

        Args:
            keys: (batch, key, d_model).
            offset: Position of the first key.

        Raises:
            ValueError: if the shape does not fit.
        """
        check_sequence("keys", keys, self.d_model)
        latent: Tensor = self.W_dkv(keys)
        turned = self.positions.rotate(self.W_kr(keys).unsqueeze(1), offset=offset)
        return KV(latent.unsqueeze(1), turned)

    def new_cache(self, *, max_tokens: int | None = None) -> KVCache:
        """Return a cache with nothing in it; with ``max_tokens``, of that size for good."""
        return KVCache() if max_tokens is None else FixedKVCache(max_tokens=max_tokens)

    def cache_bytes(self, num_tokens: int = 1) -> int:
        """Return how many bytes the cache of ``num_tokens`` tokens takes.

        .. math:: n \\, (\\text{kv\\_rank} + d_\\text{rope}) \\times \\text{bytes of a number}
        """
        return num_tokens * (self.kv_rank + self.d_rope) * self.W_o.weight.element_size()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"num_heads={self.num_heads}, kv_rank={self.kv_rank}, d_rope={self.d_rope}"

    def _look(
        self,
        queries: Queries,
        keys: Keys | KV | None,
        values: Keys | None,
        mask: HeadsMask | Visibility | None,
        offset: Offset,
        is_causal: bool,
        cache: KVCache | None,
        *,
        absorbed: bool,
    ) -> Look:
        """Return the look of a call: the latents expanded, or the queries taken to them."""
        if values is not None and values is not keys:
            raise ValueError("values: expected None, or the tensor of the keys, got another")
        content, turned, latents = self._read(queries, keys, offset, cache, mask)
        if absorbed:
            content = content @ self._per_head(self.W_uk, self.d_k)
            k, v = torch.cat(latents, dim=-1), latents.keys
        else:
            k, v = self._expanded(latents)
        q = torch.cat([content, turned], dim=-1)
        start = offset if cache is None else cache.position - queries.shape[1]
        raw = not isinstance(keys, KV)
        at = places_of(q, k, start, raw=raw, plain=is_causal, cache=cache)
        return look_of(q, k, v, mask, at, is_causal=is_causal or cache is not None)

    def _read(
        self,
        queries: Queries,
        keys: Keys | KV | None,
        offset: Offset,
        cache: KVCache | None,
        mask: HeadsMask | Visibility | None,
    ) -> tuple[Tensor, Tensor, KV]:
        """Return two parts of each head's queries, of content and of position, and the latents."""
        check_sequence("queries", queries, self.d_model)
        if cache is not None:
            if isinstance(keys, KV):
                raise ValueError("cache: expected None, for the keys are all that is read, got one")
            offset = cache_offset(cache, offset, window=None, num_first=0)
        asked = self.W_dq(queries)
        content = split_heads(self.W_uq(asked), self.num_heads)
        turned = split_heads(self.W_qr(asked), self.num_heads)
        turned = self.positions.rotate(turned, offset=offset)
        if isinstance(keys, KV):
            return content, turned, keys
        latents = self.project(queries if keys is None else keys, offset=offset)
        if cache is None:
            return content, turned, latents
        if isinstance(mask, Tensor):  # refused before the cache has gone on
            heads_mask(mask, content, int(offset) + latents.num_keys)
        return content, turned, KV(*cache.extend(*latents))

    def _expanded(self, latents: KV) -> KV:
        """Return each head's keys, a part of its own and the shared part, and its values."""
        content = split_heads(self.W_uk(latents.keys[:, 0]), self.num_heads)
        shared = latents.values.expand(-1, self.num_heads, -1, -1)
        values = split_heads(self.W_uv(latents.keys[:, 0]), self.num_heads)
        return KV(torch.cat([content, shared], dim=-1), values)

    def _per_head(self, linear: nn.Module, size: int) -> Tensor:
        """Return each head's rows of a matrix, (head, size, kv_rank)."""
        rows: Tensor = linear.get_parameter("weight").unflatten(0, (self.num_heads, size))
        return rows

    def _absorbs(self, absorbed: bool | None, *, known: bool) -> bool:
        """Return whether queries shall go to the latent vectors: these need matrices for it."""
        expanding = {"W_uk": self.W_uk, "W_uv": self.W_uv}
        if absorbed is None:  # the product with a matrix needs one that says all
            return known and all(_told_by_its_matrix(linear) for linear in expanding.values())
        for name, linear in expanding.items() if absorbed else ():
            if not isinstance(linear, nn.Linear):
                raise ValueError(
                    f"absorbed: expected None or False where {name} is no nn.Linear any more, "
                    f"but a {type(linear).__name__}, got True"
                )
        return absorbed


def _down(d_in: int, rank: int, eps: float) -> nn.Sequential:
    """Return a projection to a latent vector, and its norm."""
    return nn.Sequential(nn.Linear(d_in, rank, bias=False), nn.RMSNorm(rank, eps=eps))


__all__ = ["LatentAttention"]


def _told_by_its_matrix(linear: nn.Module) -> bool:
    """Whether ``weight`` and ``bias`` say all that a call of this module does.

    So it is for an ``nn.Linear`` and for a class that makes its ``weight`` itself, unless
    somebody looks on by a hook, gave the object another ``forward``, or put a tensor of a kind
    of its own where the matrix was. Hooks of all modules at once, by which operations are
    counted, change nothing here: what is counted must be what is computed without them.

    >>> linear = nn.Linear(4, 6)
    >>> before = _told_by_its_matrix(linear)
    >>> _ = linear.register_forward_pre_hook(lambda linear, given: None)
    >>> before, _told_by_its_matrix(linear)
    (True, False)
    """
    if not isinstance(linear, nn.Linear):
        return False
    watched = (
        linear._forward_hooks
        or linear._forward_pre_hooks
        or linear._backward_hooks
        or linear._backward_pre_hooks
        or "forward" in linear.__dict__
    )
    own = type(linear) is nn.Linear or "weight" in vars(type(linear))
    return own and not watched and type(linear.weight) in (Tensor, nn.Parameter)
