"""Packed rows: whole texts side by side, told apart by numbers, so that little is padding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_book.foundations.checks import check_boolean, check_sizes, check_some_real
from attention_book.foundations.devices import sent


@dataclass(frozen=True, eq=False)
class PackedBatch:
    """Rows in which several texts stand, each token with the one that follows it in its text.

    Attributes:
        tokens: What is read, (batch, token).
        targets: What follows each, (batch, token).
        documents: Which text each token belongs to, (batch, token); a text's tokens stand
            together. Padding has the number 0.
        mask: True = there is something to predict, False = padding, (batch, token).

    >>> tokens = torch.tensor([[2, 5, 2, 6, 7, 0]])
    >>> targets = torch.tensor([[5, 3, 6, 7, 3, 0]])
    >>> documents = torch.tensor([[1, 1, 2, 2, 2, 0]])
    >>> batch = PackedBatch(tokens, targets, documents, documents > 0)
    >>> len(batch), batch.num_tokens
    (1, 5)
    """

    tokens: Int[Tensor, "batch token"]
    targets: Int[Tensor, "batch token"]
    documents: Int[Tensor, "batch token"]
    mask: Bool[Tensor, "batch token"]

    def __post_init__(self) -> None:
        """Check here, once, what the model and the loss would have to ask otherwise."""
        check_boolean("mask", self.mask, "a token to predict")
        check_some_real("mask", self.mask)
        for name in ("targets", "documents", "mask"):
            if getattr(self, name).shape != self.tokens.shape:
                raise ValueError(
                    f"{name}: expected the shape {tuple(self.tokens.shape)}, "
                    f"got {tuple(getattr(self, name).shape)}"
                )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens there are to predict, each ``<eos>`` included."""
        return int(self.mask.sum())

    def to(self, device: torch.device | str) -> "PackedBatch":
        """Return the batch on another device, or itself if it is there; a GPU is not waited for."""
        place = torch.device(device)
        if self.tokens.device == place:
            return self
        pins = place.type == "cuda" and self.tokens.device.type == "cpu"
        tensors = {n: value.pin_memory() if pins else value for n, value in vars(self).items()}
        return replace(self, **{name: sent(value, place) for name, value in tensors.items()})


def first_fit(lengths: Sequence[int], width: int, *, num_open: int = 8) -> list[list[int]]:
    """Put texts into rows of ``width``, whole, each into the first open row that has room.

    Args:
        lengths: How long each text is, at most ``width``.
        width: How long a row is.
        num_open: How many rows wait for a text that fits; the oldest is closed for a new one.

    Returns:
        The rows, each the numbers of its texts.

    Raises:
        ValueError: if a number is below 1, or a text is longer than a row.

    >>> first_fit([4, 3, 2, 1], 6)
    [[0, 2], [1, 3]]
    """
    check_sizes(width=width, num_open=num_open)
    closed: list[list[int]] = []
    opened: list[tuple[int, list[int]]] = []
    for number, length in enumerate(lengths):
        if not 0 < length <= width:
            raise ValueError(f"lengths: expected from 1 to width={width}, got {length}")
        fits = (place for place, (used, _) in enumerate(opened) if used + length <= width)
        place = next(fits, None)
        if place is None:
            opened.append((length, [number]))
            if len(opened) > num_open:
                closed.append(opened.pop(0)[1])
        else:
            used, row = opened[place]
            opened[place] = (used + length, [*row, number])
    return closed + [row for _, row in opened]


__all__ = ["PackedBatch", "first_fit"]
