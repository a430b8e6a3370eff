"""Parameters of a layer, drawn anew in the order in which its constructor draws them."""

from torch import nn


class ResettableLayer(nn.Module):
    """A layer whose parameters are those of its parts: each draws its own, in their order.

    What a layer was given, the positions, belongs to who made it and is left alone.
    """

    def reset_parameters(self) -> None:
        """Draw all parameters anew, as the constructor does."""
        for name, part in self.named_children():
            if name != "positions":
                _reset(part)


def _reset(part: nn.Module) -> None:
    draw = getattr(part, "reset_parameters", None)
    if draw is not None:
        draw()
    else:
        for each in part.children():
            _reset(each)


__all__ = ["ResettableLayer"]
