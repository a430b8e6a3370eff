"""How far apart queries and keys stand: what masks and positions are made of."""

import torch
from jaxtyping import Int
from torch import Tensor


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
