"""Multi-head latent attention (MLA): all heads' keys and values from one small cached vector.

DeepSeek-AI (2024), "DeepSeek-V2". What is cached for a token is a latent vector, and one key of
its position that all heads share; each head expands both, or its query is taken to the latent.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.multi_head.heads import (
    first_query,
    group_heads,
    group_mask,
    heads_mask,
    is_told_by_its_matrix,
    merge_heads,
    past_only,
    split_heads,
    ungroup_heads,
    without_unweighted,
)
from attention_book.attention.multi_head.kv_cache import KVCache
from attention_book.attention.positions.rotary import RotaryPositions
from attention_book.attention.positions.scheme import Positions, check_within_attention
from attention_book.attention.soft import dot_product_attention, dot_product_weights
from attention_book.foundations.checks import (
    check_positive,
    check_sequence,
    check_sizes,
    check_weights,
)
from attention_book.foundations.shapes import HeadsMask, HeadWeights, Keys, Queries


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
    >>> cache = attention.project(x)
    >>> absorbed, expanded = (attention(x, cache, absorbed=each) for each in (True, False))
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
        keys: Keys | KVCache,
        values: Keys | None = None,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
        absorbed: bool | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the mixed outputs of the heads, one vector for each query.

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_model), or what :meth:`project` made of them.
            values: The keys themselves, or None: both come from one latent vector.
            mask: True where a query may see a key. Two axes are (query, key), three (batch,
                query, key) for all heads, four (batch, head, query, key); each may be of length
                1. A mask of the keys alone is (batch, 1, key).
            offset: Position of the first query and, unless projected, of the first key.
            is_causal: A query sees only the keys up to its own position, besides what ``mask``
                says. There are as many keys as queries, or a cache and ``offset``.
            absorbed: Whether queries go to the latent vectors, or these are expanded; the
                result is the same. None: where a cache is given, as it is in decoding, and
                :math:`W_{uk}` and :math:`W_{uv}` are matrices still: wrapped or hooked they are
                called.

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, the values are not the keys, what is to be
                absorbed is no matrix, or a causal call leaves open where its queries stand among
                the keys.
        """
        if values is not None and values is not keys:
            raise ValueError("values: expected None, or the tensor of the keys, got another")
        content, turned = self._ask(queries, offset)
        found = self._found(keys, offset)
        start = first_query(turned.shape[-2], keys, offset, is_causal=is_causal)
        mask = heads_mask(mask, turned, found.num_keys)
        if is_causal:
            mask = past_only(mask, turned, found.keys, start)
        expanding = {"W_uk": self.W_uk, "W_uv": self.W_uv}
        if absorbed is None:  # the product with a matrix needs one that says all
            matrices = all(is_told_by_its_matrix(linear) for linear in expanding.values())
            absorbed = isinstance(keys, KVCache) and matrices
        for name, linear in expanding.items() if absorbed else ():
            if not isinstance(linear, nn.Linear):
                raise ValueError(
                    f"absorbed: expected None or False where {name} is no nn.Linear any more, "
                    f"but a {type(linear).__name__}, got True"
                )
        if absorbed:
            heads = self._absorbed(content, turned, found, mask)
        else:
            heads = dot_product_attention(
                torch.cat([content, turned], dim=-1),
                self._expanded_keys(found),
                split_heads(self.W_uv(found.keys[:, 0]), self.num_heads),
                mask,
                scale=self.scale,
            )
        output: Tensor = self.W_o(merge_heads(heads))
        return output

    def project(self, keys: Keys, *, offset: int = 0) -> KVCache:
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
        return KVCache(latent.unsqueeze(1), turned)

    def weights(
        self,
        queries: Queries,
        keys: Keys | KVCache,
        mask: HeadsMask | None = None,
        *,
        offset: int = 0,
        is_causal: bool = False,
    ) -> HeadWeights:
        """Return the weights of each head; arguments as in a call."""
        content, turned = self._ask(queries, offset)
        found = self._found(keys, offset)
        start = first_query(turned.shape[-2], keys, offset, is_causal=is_causal)
        mask = heads_mask(mask, turned, found.num_keys)
        if is_causal:
            mask = past_only(mask, turned, found.keys, start)
        asked = torch.cat([content, turned], dim=-1)
        expanded = self._expanded_keys(found)
        return dot_product_weights(asked, expanded, mask, scale=self.scale)

    def combine(
        self, weights: HeadWeights, values: Keys | KVCache
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the expanded values with given weights, head by head, and mix.

        Args:
            weights: (batch, head, query, key), this module's own or any others.
            values: (batch, key, d_model), or what :meth:`project` made of them.

        Raises:
            ValueError: if the shapes do not fit.
        """
        found = self._found(values, 0)  # positions enter the keys alone
        expanded = split_heads(self.W_uv(found.keys[:, 0]), self.num_heads)
        check_weights(weights, expanded)
        seen = without_unweighted(weights, expanded)
        output: Tensor = self.W_o(merge_heads(weights @ seen))
        return output

    def cache_bytes(self, num_tokens: int = 1) -> int:
        """Return how many bytes the cache of ``num_tokens`` tokens takes.

        .. math:: n \\, (\\text{kv\\_rank} + d_\\text{rope}) \\times \\text{bytes of a number}
        """
        return num_tokens * (self.kv_rank + self.d_rope) * self.W_o.weight.element_size()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"num_heads={self.num_heads}, kv_rank={self.kv_rank}, d_rope={self.d_rope}"

    def _ask(self, queries: Queries, offset: int) -> tuple[Tensor, Tensor]:
        """Return the two parts of each head's queries: of the content, and of the position."""
        check_sequence("queries", queries, self.d_model)
        latent = self.W_dq(queries)
        content = split_heads(self.W_uq(latent), self.num_heads)
        turned = split_heads(self.W_qr(latent), self.num_heads)
        return content, self.positions.rotate(turned, offset=offset)

    def _found(self, keys: Keys | KVCache, offset: int) -> KVCache:
        return keys if isinstance(keys, KVCache) else self.project(keys, offset=offset)

    def _expanded_keys(self, found: KVCache) -> Tensor:
        """Return each head's keys: expanded from the latent vectors, and the shared part."""
        content = split_heads(self.W_uk(found.keys[:, 0]), self.num_heads)
        shared = found.values.expand(-1, self.num_heads, -1, -1)
        return torch.cat([content, shared], dim=-1)

    def _absorbed(
        self, content: Tensor, turned: Tensor, found: KVCache, mask: Tensor | None
    ) -> Tensor:
        """Attend to the latent vectors themselves: one head of keys and values for all."""
        W_uk = self.W_uk.weight.unflatten(0, (self.num_heads, self.d_k))
        W_uv = self.W_uv.weight.unflatten(0, (self.num_heads, self.d_v))
        asked = torch.cat([content @ W_uk, turned], dim=-1)
        latents = dot_product_attention(
            group_heads(asked, 1),
            torch.cat([found.keys, found.values], dim=-1),
            found.keys,
            group_mask(mask, asked, 1),
            scale=self.scale,
        )
        heads: Tensor = ungroup_heads(latents, self.num_heads) @ W_uv.mT
        return heads


def _down(d_in: int, rank: int, eps: float) -> nn.Sequential:
    """Return a projection to a latent vector, and its norm."""
    return nn.Sequential(nn.Linear(d_in, rank, bias=False), nn.RMSNorm(rank, eps=eps))


__all__ = ["LatentAttention"]
