"""What a source's mask says: how many tokens are real, and in which order they are read."""

import torch
from torch import Tensor

from attention_book.foundations.checks import check_boolean, is_strict, whole_numbers
from attention_book.foundations.shapes import SourceIds, SourceMask, TokenIds, TokenMask


def check_source(source: SourceIds, mask: SourceMask) -> None:
    """Check that a mask belongs to these sources.

    Shapes and types are always checked. Whether every source has a token is written in the
    data, which may lie on another device, so it is checked in strict mode alone.

    Raises:
        TypeError: if the sources are not integers, or the mask is not boolean.
        ValueError: if ``source`` has not two axes, or no tokens, or if the mask has another
            shape; in strict mode also if a source is empty.
    """
    whole_numbers("source", source)
    check_boolean("source_mask", mask, "a real token")
    if source.ndim != 2:
        raise ValueError(
            f"source: expected the axes (batch, source), got the shape {tuple(source.shape)}"
        )
    if source.shape != mask.shape:
        raise ValueError(
            f"source_mask: expected the shape {tuple(source.shape)} of source, "
            f"got {tuple(mask.shape)}"
        )
    if source.shape[1] == 0:
        raise ValueError(
            "source: expected at least one token in each, and an end at the least, "
            f"got the shape {tuple(source.shape)}"
        )
    if is_strict():
        _check_not_empty(mask)


def check_real(tokens: TokenIds, real: TokenMask) -> None:
    """Check that ``real`` says of each token whether it is real; a text may have none.

    Raises:
        TypeError: if it is not boolean.
        ValueError: if it has another shape.

    >>> check_real(torch.tensor([[2, 7, 0]]), torch.tensor([[True, True, False]]))
    """
    check_boolean("real", real, "a real token")
    if tokens.shape != real.shape:
        raise ValueError(
            f"real: expected the shape {tuple(tokens.shape)} of tokens, got {tuple(real.shape)}"
        )


def reading_places(mask: SourceMask, before: Tensor | None = None) -> Tensor:
    """Return each token's place when all real tokens are read in a row, (batch, source).

    Padding may stand anywhere; it comes after the real tokens, which keep their order. Each row
    is a permutation: ``states.gather`` with these places puts what was computed in the reading
    order back to where the tokens stand, and ``source.scatter`` is the way there.

    Args:
        mask: True = a real token.
        before: How much of the padding comes before the real tokens, (batch, 1); None: none.

    >>> mask = torch.tensor([[False, False, True, True], [True, True, True, False]])
    >>> reading_places(mask)
    tensor([[2, 3, 0, 1],
            [0, 1, 2, 3]])
    >>> reading_places(mask, before=(~mask).sum(dim=1, keepdim=True))
    tensor([[0, 1, 2, 3],
            [1, 2, 3, 0]])
    """
    real, padding = mask.cumsum(dim=1), (~mask).cumsum(dim=1)
    if before is None:
        return torch.where(mask, real, real[:, -1:] + padding) - 1
    behind = torch.where(padding > before, real[:, -1:], 0)
    return torch.where(mask, before + real, behind + padding) - 1


def places_within(documents: TokenIds) -> TokenIds:
    """Return each token's place in its own text, where several texts stand in a row.

    Args:
        documents: Which text each token belongs to, (batch, token).

    >>> places_within(torch.tensor([[1, 1, 1, 2, 2, 0]]))
    tensor([[0, 1, 2, 0, 1, 0]])
    """
    place = torch.arange(documents.shape[1], device=documents.device)
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return place - torch.where(begins, place, 0).cummax(dim=1).values


def _check_not_empty(mask: SourceMask) -> None:
    real = mask.any(dim=1)
    if not bool(real.all()):
        empty = int((~real).nonzero()[0])
        raise ValueError(f"source: expected at least one real token, got none in row {empty}")
