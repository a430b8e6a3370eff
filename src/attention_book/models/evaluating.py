"""Evaluation mode for a block of code, whatever mode the model is in."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def without_dropout(model: object) -> Iterator[None]:
    """Put every module into evaluation mode, and back into the mode it had before."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Switch dropout and gradients off, and back to what they were before."""
    with without_dropout(model), torch.no_grad():
        yield
