"""Parameters drawn anew: a model that was built without memory begins as any other."""

from typing import Any

import torch
from torch import nn


class ResettableModel(nn.Module):
    """A model that can be built on the meta device, given memory, and then be drawn.

    The law: with the same seed, ``to_empty`` and :meth:`reset_parameters` give the model that
    the constructor gives, bit for bit.

    >>> from attention_book.models import Transformer, TransformerConfig
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=10, shared=True)
    >>> with torch.device("meta"):
    ...     model = Transformer(config)
    >>> _ = torch.manual_seed(3), model.to_empty(device="cpu").reset_parameters()
    >>> _ = torch.manual_seed(3)
    >>> torch.equal(model.readout.weight, Transformer(config).readout.weight)
    True
    """

    config: Any

    def fresh(self) -> "ResettableModel":
        """Return a new model of the same settings."""
        return type(self)(self.config)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all parameters anew, as the constructor does, whatever the model's type or device.

        Another model is made for it, on the CPU, and its numbers are copied.
        """
        with torch.device("cpu"):
            drawn = self.fresh()
        own = dict(self.named_parameters()) | dict(self.named_buffers())
        for name, value in (*drawn.named_parameters(), *drawn.named_buffers()):
            own[name].copy_(value)


__all__ = ["ResettableModel"]
