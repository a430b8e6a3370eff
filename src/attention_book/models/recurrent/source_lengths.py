"""What every encoder asks of its sources: real tokens first, at least one."""

from torch import Tensor

from attention_book.foundations.checks import check_boolean
from attention_book.foundations.shapes import SourceIds, SourceMask


def source_lengths(source: SourceIds, mask: SourceMask) -> Tensor:
    """Return the number of real tokens of each source, (batch,).

    Raises:
        TypeError: if the mask is not boolean.
        ValueError: if ``source`` has not two axes, if the mask has another shape than
            ``source``, if a source is empty, or if a padding token stands before a real one.
    """
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
    lengths = mask.sum(dim=1)
    if not bool((lengths > 0).all()):
        empty = int((lengths == 0).nonzero()[0])
        raise ValueError(f"source: expected at least one real token, got none in row {empty}")
    if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError("source_mask: expected the padding after the real tokens")
    return lengths
