"""Quantized keys and values, as in KIVI: few bits a number, with a scale for every group.

Liu et al. (2024): keys are rounded per channel, values per token, and the latest tokens
wait in full precision until their group is complete.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from attention_book.attention.cache import KVCache
from attention_book.attention.positions.rotary import RotaryPositions
from attention_book.foundations.checks import check_floating, check_sizes

#: What has scales of its own: a feature, over some tokens, or a token, over some features.
Per = Literal["channel", "token"]
#: How many bits a code may have, so that bytes hold a whole number of codes.
BITS = (1, 2, 4, 8)


@dataclass(frozen=True, eq=False)
class Quantized:
    """Numbers as whole codes: :math:`x \\approx \\text{low} + \\text{code} \\cdot \\text{step}`.

    Attributes:
        codes: Several codes in each byte.
        low: The smallest number of each group.
        step: What one code more makes, in each group.
        bits: Bits of a code.
        per: What has groups of its own, a "channel" or a "token".

    >>> quantize(torch.tensor([[0.0], [1.0], [2.0], [3.3]]), bits=2, per="channel").restored.T
    tensor([[0.0000, 1.1000, 2.2000, 3.3000]])
    """

    codes: Shaped[Tensor, "*batch place row column"]
    low: Float[Tensor, "*batch place #row #column"]
    step: Float[Tensor, "*batch place #row #column"]
    bits: int
    per: Per

    @property
    def restored(self) -> Float[Tensor, "*batch token feature"]:
        """The numbers again, each at most half a step from what it was."""
        axis, highest = _axis(self.per), 2**self.bits - 1
        parts = [self.codes >> shift & highest for shift in range(0, 8, self.bits)]
        codes = torch.cat(parts, dim=axis).to(self.low.dtype)
        return (self.low + self.step * codes).flatten(axis - 1, axis)

    @property
    def num_bytes(self) -> int:
        """The bytes of codes, lows and steps."""
        return sum(each.nbytes for each in (self.codes, self.low, self.step))

    def changed(self, change: Callable[..., Tensor], *others: "Quantized") -> "Quantized":
        """Return the same with ``change`` done to codes, lows and steps, with those of others."""
        parts = zip(*((q.codes, q.low, q.step) for q in (self, *others)), strict=True)
        codes, low, step = (change(*each) for each in parts)
        return replace(self, codes=codes, low=low, step=step)


def quantize(
    x: Float[Tensor, "*batch token feature"],
    *,
    bits: int,
    per: Per,
    group_size: int | None = None,
) -> Quantized:
    """Round each number to one of :math:`2^\\text{bits}` levels of its group.

    .. math::
        \\text{step} = \\frac{\\max x - \\min x}{2^\\text{bits} - 1}, \\qquad
        \\text{code} = \\operatorname{round} \\frac{x - \\min x}{\\text{step}}

    A group is ``group_size`` numbers, of a channel (a feature at so many tokens in a row) or of a
    token; the levels go from its smallest number to its largest, which both stay what they are.
    Beside the codes a group keeps two numbers of the type of x. Liu et al. (2024), "KIVI".

    Args:
        x: (\\*batch, token, feature).
        bits: 1, 2, 4 or 8.
        per: "channel" or "token".
        group_size: How many numbers share their levels; None: all of a channel, or of a token.

    Raises:
        TypeError: if x is not floating point.
        ValueError: if there are other bits or groups, the groups do not divide their axis, or
            their codes do not fill bytes.

    >>> x = torch.randn(32, 6)
    >>> rounded = quantize(x, bits=4, per="channel", group_size=16)
    >>> bool(((rounded.restored - x).abs() <= rounded.step.max()).all()), rounded.num_bytes
    (True, 192)
    """
    check_floating("x", x)
    axis = _axis(per)
    if bits not in BITS:
        raise ValueError(f"bits: expected one of {', '.join(map(str, BITS))}, got {bits}")
    group_size = x.shape[axis] if group_size is None else group_size
    check_sizes(group_size=group_size)
    if x.shape[axis] % group_size or group_size * bits % 8:
        raise ValueError(
            f"group_size: expected one that divides {x.shape[axis]} and fills bytes with codes of "
            f"{bits} bits, got {group_size}"
        )
    groups = x.unflatten(axis, (-1, group_size))
    low, high = groups.amin(axis, keepdim=True), groups.amax(axis, keepdim=True)
    step = (high - low) / (2**bits - 1)
    step = step.masked_fill(step == 0, 1.0)
    codes = ((groups - low) / step).round().clamp(0, 2**bits - 1).to(torch.uint8)
    in_a_byte = codes.unflatten(axis, (8 // bits, -1)).unbind(axis - 1)
    packed = torch.zeros_like(in_a_byte[0])
    for place, part in enumerate(in_a_byte):
        packed |= part << bits * place
    return Quantized(packed, low, step, bits, per)


def _axis(per: Per) -> int:
    """Return along which axis the numbers of a group lie."""
    if per not in get_args(Per):
        raise ValueError(f"per: expected channel or token, got {per!r}")
    return -2 if per == "channel" else -1


class QuantizedKVCache(KVCache):
    """A :class:`~attention_book.attention.KVCache` that keeps keys and values in few bits.

    A call sees its own tokens, and those whose group is not complete, in full precision. Behind
    it the complete groups are rounded: their scales know no token that comes later. What is
    returned are numbers again, restored at every call. For decoding alone: gradients do not pass.

    Rounding before the rotation: give the layer's rotary positions as ``turned_by``. Keys arrive
    turned; they are turned back to be rounded, and turned again whenever they are read.

    Args:
        bits: 1, 2, 4 or 8 for each number.
        group_size: How many tokens are rounded together, and how many numbers share a scale.
        keys_per: What has scales of its own among the keys, "channel" or "token".
        values_per: Likewise among the values.
        turned_by: What turns the keys; None: they are rounded as they come.

    Raises:
        ValueError: as :func:`quantize`, or if the rotation depends on the length of the text.

    >>> cache, text = QuantizedKVCache(bits=2, group_size=16), torch.randn(2, 1, 4, 40, 16)
    >>> keys, values = cache.extend(*text)
    >>> cache, len(cache.rows[0][0, 0])
    (QuantizedKVCache(position=40, num_keys=40), 8)
    >>> torch.equal(keys, text[0]), torch.equal(cache.fork().extend(*text)[0][:, :, :40], text[0])
    (True, False)
    """

    def __init__(
        self,
        *,
        bits: int = 4,
        group_size: int = 32,
        keys_per: Per = "channel",
        values_per: Per = "token",
        turned_by: RotaryPositions | None = None,
    ) -> None:
        """Begin with nothing read; ``rows`` are those that wait in full precision."""
        super().__init__()
        for per in (keys_per, values_per):
            quantize(torch.zeros(group_size, group_size), bits=bits, per=per)
        if turned_by is not None and turned_by.scaling.for_length(1) is not turned_by.scaling:
            raise ValueError(
                "turned_by: expected a rotation that is the same at every length, "
                f"got {turned_by.scaling}"
            )
        self.bits, self.group_size, self.turned_by = bits, group_size, turned_by
        self.per: tuple[Per, Per] = (keys_per, values_per)
        #: The keys and the values that are rounded.
        self.rounded: tuple[Quantized, ...] = ()

    @property
    def num_rounded(self) -> int:
        """How many tokens are rounded."""
        return self.num_keys - (self.rows[0].shape[2] if self.rows else 0)

    @property
    def num_keys(self) -> int:
        """How many keys are kept, as many as were read."""
        return int(self.position)

    @property
    def num_bytes(self) -> int:
        """The bytes of what is kept, rounded and in full precision."""
        return sum(each.num_bytes for each in self.rounded) + sum(row.nbytes for row in self.rows)

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Append what is new, return all that is kept, and then round the complete groups.

        Raises:
            ValueError: if the shapes do not fit, or the groups do not divide the features.
        """
        new = tuple(each.detach() for each in new)
        self._check(new)
        waiting = self.rows or tuple(each[:, :, :0] for each in new)
        rest = tuple(torch.cat(pair, dim=2) for pair in zip(waiting, new, strict=True))
        seen = rest
        if self.rounded:
            seen = tuple(torch.cat(each, 2) for each in zip(self._restored(), rest, strict=True))
        full = rest[0].shape[2] // self.group_size * self.group_size
        if full:
            self._round(*(each[:, :, :full] for each in rest))
        self.rows = tuple(each[:, :, full:] for each in rest)
        self.position += new[0].shape[2]
        return seen

    def select(self, rows: Int[Tensor, " row"]) -> "QuantizedKVCache":
        """Return the past of the examples with these numbers, in this order."""
        chosen = copy(self)
        chosen.rows = tuple(each[rows] for each in self.rows)
        chosen.rounded = tuple(each.changed(lambda x: x[rows]) for each in self.rounded)
        return chosen

    def back_to(self, position: int) -> "QuantizedKVCache":
        """Return a handle on the past as it was after the first ``position`` tokens.

        The tokens of a group that is cut are as they were rounded, in full precision.

        Raises:
            ValueError: if these were never read.
        """
        if not 0 <= position <= self.num_keys:
            raise ValueError(f"position: expected one up to {self.position}, got {position}")
        earlier, kept = copy(self), self.num_rounded
        earlier.position = position
        if position >= kept:
            earlier.rows = tuple(each[:, :, : position - kept] for each in self.rows)
            return earlier
        whole = position // self.group_size * self.group_size
        earlier.rows = tuple(each[:, :, whole:position] for each in self._restored())
        earlier.rounded = tuple(self._first(each, whole) for each in self.rounded)
        return earlier

    def _round(self, keys: Tensor, values: Tensor) -> None:
        """Append complete groups."""
        keys = self._turned(keys, self.num_rounded, back=True)
        size = {"bits": self.bits, "group_size": self.group_size}
        new = (
            quantize(each, per=per, **size)
            for each, per in zip((keys, values), self.per, strict=True)
        )
        if not self.rounded:
            self.rounded = tuple(new)
            return
        self.rounded = tuple(
            old.changed(lambda *both: torch.cat(both, dim=-3), more)
            for old, more in zip(self.rounded, new, strict=True)
        )

    def _restored(self) -> tuple[Tensor, ...]:
        keys, values = (each.restored for each in self.rounded)
        return self._turned(keys, 0), values

    def _turned(self, keys: Tensor, offset: int, *, back: bool = False) -> Tensor:
        """Turn keys by their positions, or back: with one of each pair flipped before and after."""
        if self.turned_by is None:
            return keys
        if not back:
            return self.turned_by.rotate(keys, offset=offset)
        flip = keys.new_ones(keys.shape[-1])
        flip[self._second_of_pairs] = -1
        shrink = self.turned_by.scaling.magnitude**-2
        return self.turned_by.rotate(keys * flip, offset=offset) * flip * shrink

    @property
    def _second_of_pairs(self) -> slice:
        assert self.turned_by is not None
        return (
            slice(1, None, 2)
            if self.turned_by.pairing == "neighbors"
            else slice(self.turned_by.d_k // 2, None)
        )

    def _first(self, rounded: Quantized, num_tokens: int) -> Quantized:
        """Return the first tokens, whole groups of them."""
        places = num_tokens // (self.group_size if rounded.per == "channel" else 1)
        return rounded.changed(lambda x: x.narrow(-3, 0, places))


__all__ = ["Quantized", "QuantizedKVCache", "quantize"]
