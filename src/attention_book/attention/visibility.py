"""Visibility: who may see whom, through windows (SWA) too, rendered as each kernel wants it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, no_type_check

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_book.foundations.checks import check_boolean, check_sizes, check_whole
from attention_book.foundations.shapes import Mask, TokenMask

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

Device = torch.device | str | None


@no_type_check  # made within graphs, where no checker of types can follow
class Places(NamedTuple):
    """Where in the text queries and keys stand.

    The queries stand at offset, offset + 1, …; the keys at 0, 1, …, but ``dropped`` are missing
    behind the first ``num_first``, where a cache has forgotten them.

    Attributes:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        offset: The position of the first query; a tensor where one program does every step.
        num_first: How many of the text's first keys a cache never drops.
        dropped: How many keys are gone.

    >>> Places(2, 5, offset=8, num_first=1, dropped=5).distances()
    tensor([[-8, -2, -1,  0,  1],
            [-9, -3, -2, -1,  0]])
    """

    num_queries: int
    num_keys: int
    offset: int = 0
    num_first: int = 0
    dropped: int = 0

    def queries(self, device: Device = None) -> Int[Tensor, " query"]:
        """Return the queries' positions.

        Raises:
            ValueError: if the offset is negative.
        """
        if self.is_on_device:
            queries: Tensor = self.offset + torch.arange(self.num_queries, device=device)
            return queries
        if self.offset < 0:
            raise ValueError(f"offset: expected 0 or more, got {self.offset}")
        return torch.arange(self.offset, self.offset + self.num_queries, device=device)

    @property
    def is_on_device(self) -> bool:
        """Whether the offset is a tensor. It is not read then, so any query may be meant."""
        return isinstance(self.offset, Tensor)

    def keys(self, device: Device = None) -> Int[Tensor, " key"]:
        """Return the keys' positions."""
        key = torch.arange(self.num_keys, device=device)
        return self.moved(key) if self.dropped else key

    def moved(self, key: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
        """Return where in the text the keys of these numbers stand."""
        return torch.where(key < self.num_first, key, key + self.dropped)

    def distances(self, device: Device = None) -> Int[Tensor, "query key"]:
        """Return :math:`j - i` for every pair, a key's position minus a query's."""
        return self.keys(device) - self.queries(device)[:, None]


@no_type_check
class Visibility:
    """Which keys a query sees: those that everything said here allows.

    .. math:: j \\le i \\text{ (causal)}, \\qquad
        |i - j| < w \\text{ or } j < f \\text{ (window)}, \\qquad m_{ij} \\text{ (mask)}

    A model says it once, for all its layers; :class:`Places` says where queries and keys stand.
    What it hides must hold finite numbers, as all that a model computes does. Who cannot vouch for
    that gives the bare mask to a call, which clears what it hides.

    Args:
        causal: A query sees nothing that comes after it.
        window: w, how many positions it sees to a side, its own included; None: all (Beltagy et
            al. 2020).
        num_first: f, how many of the text's first positions it sees besides (attention sinks,
            Xiao et al. 2023).
        mask: True = may be seen, broadcastable to (\\*batch, query, key). Its keys are those of
            the text, those that a cache has dropped included.

    >>> Visibility(causal=True, window=3, num_first=1).dense(Places(5, 5)).int()
    tensor([[1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [1, 0, 1, 1, 1]], dtype=torch.int32)
    """

    def __init__(
        self,
        *,
        causal: bool = False,
        window: int | None = None,
        num_first: int = 0,
        mask: Mask | None = None,
    ) -> None:
        """Check once, where the rule is made: whoever renders it need not."""
        if mask is not None:
            check_boolean("mask", mask, "may attend")
        if window is not None:
            check_sizes(window=window)
        check_whole(num_first=num_first)
        if num_first < 0:
            raise ValueError(f"num_first: expected 0 or more, got {num_first}")
        self.causal, self.window, self.num_first, self.mask = causal, window, num_first, mask

    @classmethod
    def real(cls, real: TokenMask | None, *, causal: bool = False) -> "Visibility":
        """Hide padding: True in ``real``, (batch, key), is a real token, for all heads alike.

        >>> Visibility.real(torch.tensor([[True, False]])).mask.shape
        torch.Size([1, 1, 1, 2])
        """
        return cls(causal=causal, mask=None if real is None else real[:, None, None, :])

    def within(self, window: int, num_first: int = 0) -> "Visibility":
        """Return the same, seen through a window."""
        return Visibility(causal=self.causal, window=window, num_first=num_first, mask=self.mask)

    def looking_back(self) -> "Visibility":
        """Return the same, without what comes after a query."""
        if self.causal:
            return self
        return Visibility(causal=True, window=self.window, num_first=self.num_first, mask=self.mask)

    def dense(self, at: Places, device: Device = None) -> Mask | None:
        """Return one boolean for every pair, (\\*batch, query, key); None: nothing is hidden."""
        mask = self.mask
        if mask is not None and at.dropped and mask.shape[-1] > 1:
            mask = mask[..., at.keys(mask.device)]
        if not (self._hides_ahead(at) or self._hides_behind(at)):
            return mask
        near = self._near(at.queries(device)[:, None], at.keys(device))
        return near if mask is None else near & mask

    def for_kernel(self, at: Places, device: Device = None) -> tuple[Mask | None, bool]:
        """Return ``attn_mask`` and ``is_causal`` as torch's fused attention takes them.

        The past alone needs no mask, whose memory grows with the square of the length: the
        kernel knows it by name.
        """
        whole = not at.is_on_device and at.offset == 0 and at.num_queries == at.num_keys
        if self.causal and whole and self.mask is None and not self._hides_behind(at):
            return None, True
        return self.dense(at, device), False

    def blocks(
        self, at: Places, *, batch: int = 1, heads: int = 1, device: str = "cpu"
    ) -> "BlockMask":
        """Return the same for ``flex_attention``, which skips the blocks that nobody sees.

        >>> Visibility(causal=True, window=128).blocks(Places(1024, 1024)).sparsity()
        76.5625
        """
        from torch.nn.attention.flex_attention import create_block_mask

        size = (batch, heads, at.num_queries, at.num_keys)
        return create_block_mask(self._pairwise(at), *size, device=device)

    def _pairwise(self, at: Places) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
        """Return the rule as flex_attention asks it, pair by pair."""
        mask = None if self.mask is None else self.mask[(None,) * (4 - self.mask.ndim)]

        def shown(*pair: Tensor) -> Tensor:
            _, _, query, key = pair = (*pair[:3], at.moved(pair[3]))
            seen = self._near(query + at.offset, key)
            if mask is None:
                return seen
            index = zip(pair, mask.shape, strict=True)
            return seen & mask[tuple(torch.zeros_like(i) if n == 1 else i for i, n in index)]

        return lambda batch, head, query, key: shown(batch, head, query, key)  # it counts them

    def _near(self, query: Int[Tensor, "*#any"], key: Int[Tensor, "*#any"]) -> Bool[Tensor, "*any"]:
        """Say whether the rule, without the mask, lets these positions see those."""
        seen = key <= query if self.causal else key == key
        if self.window is not None:  # compared, not subtracted: booleans alone are as many as pairs
            close = (key > query - self.window) & (key < query + self.window)
            seen = seen & (close | (key < self.num_first))
        return seen

    # What hides nothing makes no mask. Known from the numbers of places, without a look at data.

    def _hides_ahead(self, at: Places) -> bool:
        """Whether the first query may not see the last key."""
        if at.is_on_device:
            return self.causal
        return self.causal and at.num_keys + at.dropped - 1 > at.offset

    def _hides_behind(self, at: Places) -> bool:
        """Whether some pair is too far apart for the window."""
        if self.window is None or at.is_on_device or torch.compiler.is_compiling():
            return self.window is not None  # a program for every length cannot ask
        behind = at.offset + at.num_queries - 1 - min(self.num_first, at.num_keys) - at.dropped
        ahead = 0 if self.causal else at.num_keys + at.dropped - 1 - at.offset
        return max(behind, ahead) >= self.window


__all__ = ["Places", "Visibility"]
