"""Position schemes: the four places where positions can enter attention.

Attention itself treats its keys as a set. A scheme of positions tells it the order
in one of four places: at the input (:meth:`Positions.forward`), in the queries and
keys (:meth:`Positions.rotate`), in the scores (:meth:`Positions.bias`), or in what is
averaged (:meth:`Positions.value_bias`). Each scheme overrides what it needs. A module
that is given one says which places it serves, because anything else would be lost silently.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.attention.visibility import Places
from attention_book.foundations.devices import sent
from attention_book.foundations.shapes import (
    Features,
    HeadBias,
    HeadOutput,
    HeadQueries,
    HeadWeights,
    Keys,
    Offset,
)

Rows = Float[Tensor, "position feature"]


class Positions(nn.Module):
    """How attention learns where its queries and keys stand; by default it does not.

    ``offset`` is always the position of the first element, so that a sequence may be
    read piece by piece. The law: the result for a piece, with its offset, is the
    slice of the result for the whole.

    >>> import torch
    >>> positions = Positions()
    >>> x = torch.rand(1, 3, 4)
    >>> torch.equal(positions(x), x)
    True
    >>> print(positions.bias(torch.rand(1, 2, 3, 4), Places(3, 5)))
    None
    """

    #: Whether :meth:`value_bias` adds anything. If so, the weights are
    #: needed one by one, and no fused kernel can be used.
    biases_values: bool = False

    def forward(self, x: Features, *, offset: Offset = 0) -> Features:
        """Return the inputs, with their positions added."""
        return x

    def rotate(self, heads: Keys, *, offset: Offset = 0) -> Keys:
        """Return the queries or keys of every head, turned according to their positions."""
        return heads

    def bias(
        self, queries: HeadQueries, at: Places, *, scale: float | None = None
    ) -> HeadBias | None:
        """Return what is added to the scaled scores, or None.

        Args:
            queries: The queries after :meth:`rotate`, not scaled.
            at: Where queries and keys stand.
            scale: What the scores are multiplied by; :math:`1 / \\sqrt{d_k}` when None.
        """
        return None

    def value_bias(self, weights: HeadWeights, at: Places) -> HeadOutput | None:
        """Return what is added to the averaged values, or None."""
        return None


class NoPositions(Positions):
    """Add no position information: attention then treats its keys as a set.

    >>> import torch
    >>> x = torch.rand(1, 3, 4)
    >>> torch.equal(NoPositions()(x, offset=7), x)
    True
    """


def entrances(positions: Positions) -> set[str]:
    """Return the methods by which a scheme enters: those that it overrides.

    >>> from attention_book.attention import RelativePositions, SinusoidalPositions
    >>> entrances(SinusoidalPositions(d_model=4))
    {'forward'}
    >>> sorted(entrances(RelativePositions(d_k=4, max_distance=2)))
    ['bias', 'value_bias']
    """
    names = ("forward", "rotate", "bias", "value_bias")
    return {
        name for name in names if getattr(type(positions), name) is not getattr(Positions, name)
    }


def adds_to_input(positions: Positions) -> bool:
    """Whether a scheme does its work when it is called on an input, and nothing within attention.

    >>> from attention_book.attention import RotaryPositions, SinusoidalPositions
    >>> adds_to_input(RotaryPositions(d_k=4)), adds_to_input(SinusoidalPositions(d_model=4))
    (False, True)
    """
    return entrances(positions) == {"forward"}


def within_attention(positions: Positions) -> Positions:
    """Return the scheme for the attention of a stack that has called it on its input already.

    >>> from attention_book.attention import RotaryPositions, SinusoidalPositions
    >>> within_attention(RotaryPositions(d_k=4)), within_attention(SinusoidalPositions(d_model=4))
    (RotaryPositions(d_k=4, base=10000), NoPositions())
    """
    return NoPositions() if adds_to_input(positions) else positions


def check_within_attention(positions: Positions, *, turned_only: bool = False) -> None:
    """Check that a scheme does its work inside attention, where it is given.

    Args:
        positions: The scheme.
        turned_only: Whether this attention turns queries and keys, and does nothing else.

    Raises:
        TypeError: if it is no scheme of positions.
        ValueError: if it does its work elsewhere.

    >>> from attention_book.attention import SinusoidalPositions
    >>> check_within_attention(SinusoidalPositions(d_model=4))
    Traceback (most recent call last):
    ValueError: positions: expected a scheme that enters inside attention, such as \
RotaryPositions, got SinusoidalPositions, which is added to the input: leave it out here, and \
call it on what attention is given, x = positions(x)
    """
    if not isinstance(positions, Positions):
        got = positions.__name__ if isinstance(positions, type) else repr(positions)
        raise TypeError(
            f"positions: expected a scheme such as RotaryPositions(d_k=…), or None, got {got}"
        )
    entered, got = entrances(positions), type(positions).__name__
    if adds_to_input(positions):
        raise ValueError(
            "positions: expected a scheme that enters inside attention, such as RotaryPositions, "
            f"got {got}, which is added to the input: leave it out here, and call it on what "
            "attention is given, x = positions(x)"
        )
    if turned_only and entered - {"rotate"}:
        raise ValueError(
            "positions: expected a scheme that turns queries and keys, such as RotaryPositions, "
            f"for this attention has no other place for one, got {got}"
        )


def check_at_input(name: str, positions: object) -> None:
    """Check that a scheme, where it is one, does its work when it is called on an input.

    Raises:
        ValueError: if it enters inside attention alone.

    >>> from attention_book.attention import AlibiPositions
    >>> check_at_input("place", AlibiPositions(num_heads=2))
    Traceback (most recent call last):
    ValueError: place: expected a scheme that is added to the input, such as \
SinusoidalPositions, got AlibiPositions, which enters inside attention: \
MultiHeadAttention(…, positions=…)
    """
    if isinstance(positions, Positions) and entrances(positions) - {"forward"}:
        raise ValueError(
            f"{name}: expected a scheme that is added to the input, such as SinusoidalPositions, "
            f"got {type(positions).__name__}, which enters inside attention: "
            "MultiHeadAttention(…, positions=…)"
        )


def check_offset(offset: Offset) -> None:
    """Check the position of the first element; one on a device is not waited for.

    Raises:
        ValueError: if it is negative.
    """
    if not isinstance(offset, Tensor) and offset < 0:
        raise ValueError(f"offset: expected 0 or more, got {offset}")


def distances(
    num_queries: int,
    num_keys: int,
    *,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Int[Tensor, "query key"]:
    """Return key position minus query position, :math:`j - i`, for every pair.

    >>> distances(2, 4, offset=1)
    tensor([[-1,  0,  1,  2],
            [-2, -1,  0,  1]])
    """
    check_offset(offset)
    queries = torch.arange(offset, offset + num_queries, device=device)
    keys = torch.arange(num_keys, device=device)
    return keys - queries[:, None]


class GrowingTable:
    """Keep the rows of positions 0, 1, 2, … and compute more when more are asked for.

    It is no buffer on purpose: a module that was cast to half precision and back would keep
    rounded rows, and one that was built without memory would keep what happened to lie there.
    There is a table for each type and device that was asked for, so that two in turn, such as
    a model and its average in another type, cost no more than one.

    Only ordinary tensors are kept. While torch pretends to compute (fake tensors, a functional
    transform) the rows are made anew, for they mean nothing to a later call.

    Args:
        compute: Returns the first rows, in double precision.

    >>> squares = GrowingTable(lambda n: torch.arange(n).double()[:, None] ** 2)
    >>> squares.rows(3, offset=4, like=torch.zeros(1))
    tensor([[16.],
            [25.],
            [36.]])
    """

    def __init__(self, compute: Callable[[int], Rows]) -> None:
        """Start without a table."""
        self.compute = compute
        self.tables: dict[tuple[torch.dtype, torch.device], Rows] = {}

    def rows(self, num_positions: int, *, offset: int, like: Tensor) -> Rows:
        """Return the rows of the positions offset … offset + num_positions - 1.

        Raises:
            ValueError: if the offset is negative.
        """
        check_offset(offset)
        end = offset + num_positions
        if torch.compiler.is_compiling() or not is_ordinary(torch.empty(0, device="cpu")):
            return self._computed(end, like)[offset:]
        kind = like.dtype, like.device
        # Kept here too: another thread may put another table in its place at any moment.
        table = self.tables.get(kind)
        if table is None or len(table) < end:
            # A table made while only inferring could not be used for training later.
            with torch.inference_mode(False):
                table = self._computed(end if table is None else max(end, 2 * len(table)), like)
            if is_ordinary(table):
                self.tables[kind] = table
        return table[offset:end]

    def _computed(self, length: int, like: Tensor) -> Rows:
        with torch.device("cpu"):  # not every device has double precision
            exact = self.compute(length)
        return sent(exact.to(like.dtype), like.device)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables out of copies and files: they are computed again where needed."""
        return {**vars(self), "tables": {}}


def is_ordinary(tensor: Tensor) -> bool:
    """Whether it is a tensor with numbers of its own, and no stand-in for one."""
    return type(tensor) is Tensor and not torch._is_functional_tensor(tensor)
