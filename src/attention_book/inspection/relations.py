"""Relations between a query and a key of one text: so many places back, the word after an earlier.

Each is a boolean tensor (text, query, key), True where the two are so related: what
:func:`~attention_book.inspection.weight_on` measures a head by, and what
:func:`~attention_book.inspection.without_pairs` cuts.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import TokenIds

Pairs = Bool[Tensor, "text query key"]


def places_back(length: int, distance: int) -> Pairs:
    """Return the pairs whose key stands ``distance`` places before the query.

    A head that puts most of its weight on distance 1 is a previous-token head (Elhage et
    al. 2021).

    Args:
        length: How many tokens the text has.
        distance: 1 is the token before.

    Raises:
        ValueError: if ``length`` is below 1 or ``distance`` below 0.

    >>> places_back(3, 1).long()
    tensor([[[0, 0, 0],
             [1, 0, 0],
             [0, 1, 0]]])
    """
    check_sizes(length=length)
    if distance < 0:
        raise ValueError(f"distance: expected 0 or more, got {distance}")
    place = torch.arange(length)
    return (place[:, None] - place == distance)[None]


def after_earlier(tokens: TokenIds, distance: int = 1) -> Pairs:
    """Return the pairs whose key stands ``distance`` places after an earlier token like the query.

    .. math:: x_{k - d} = x_q, \\qquad k - d < q, \\quad k \\le q

    With d = 1 the key followed an earlier occurrence of the query's own token: where an
    induction head looks (Olsson et al. 2022: "prefix matching"). With d = 0 it is the
    occurrence itself, with d = 2 the token after the next.

    Args:
        tokens: (text, token).
        distance: d, counted from the earlier token.

    Raises:
        ValueError: if ``distance`` is negative.

    >>> after_earlier(torch.tensor([[7, 3, 9, 7]]))[0, 3].long()
    tensor([0, 1, 0, 0])
    """
    if distance < 0:
        raise ValueError(f"distance: expected 0 or more, got {distance}")
    place = torch.arange(tokens.shape[1], device=tokens.device)
    same = (tokens[:, :, None] == tokens[:, None, :]) & (place[:, None] > place)
    moved = same.roll(distance, dims=-1)  # what comes in again at the left end does not count
    return moved & (place >= distance) & (place[:, None] >= place)


__all__ = ["after_earlier", "places_back"]
