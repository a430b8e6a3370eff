"""Position schemes: the four places where positions can enter attention.

Attention itself treats its keys as a set. A scheme of positions tells it the order
in one of four places: at the input (:meth:`Positions.forward`), in the queries and
keys (:meth:`Positions.rotate`), in the scores (:meth:`Positions.bias`), or in what is
averaged (:meth:`Positions.value_bias`). Each scheme overrides what it needs.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attention_book.foundations.shapes import (
    Features,
    HeadBias,
    HeadOutput,
    HeadQueries,
    HeadWeights,
    Keys,
)


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
    >>> print(positions.bias(torch.rand(1, 2, 3, 4), num_keys=5))
    None
    """

    #: Whether :meth:`value_bias` adds anything. If so, the weights are
    #: needed one by one, and no fused kernel can be used.
    biases_values: bool = False

    def forward(self, x: Features, *, offset: int = 0) -> Features:
        """Return the inputs, with their positions added."""
        return x

    def rotate(self, heads: Keys, *, offset: int = 0) -> Keys:
        """Return the queries or keys of every head, turned according to their positions."""
        return heads

    def bias(
        self, queries: HeadQueries, num_keys: int, *, offset: int = 0, scale: float | None = None
    ) -> HeadBias | None:
        """Return what is added to the scaled scores, or None.

        The keys stand at 0 … num_keys - 1, the queries at offset, offset + 1, …

        Args:
            queries: The queries after :meth:`rotate`, not scaled.
            num_keys: The number of keys.
            offset: The position of the first query.
            scale: What the scores are multiplied by; :math:`1 / \\sqrt{d_k}` when None.
        """
        return None

    def value_bias(self, weights: HeadWeights, *, offset: int = 0) -> HeadOutput | None:
        """Return what is added to the averaged values, or None."""
        return None


class NoPositions(Positions):
    """Add no position information: attention then treats its keys as a set.

    >>> import torch
    >>> x = torch.rand(1, 3, 4)
    >>> torch.equal(NoPositions()(x, offset=7), x)
    True
    """


def check_offset(offset: int) -> None:
    """Check the position of the first element.

    Raises:
        ValueError: if it is negative.
    """
    if offset < 0:
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
