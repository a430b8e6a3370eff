"""What a model is used in: evaluation mode, and what it reads moved to where it lies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from attention_book.foundations.checks import check_numbers
from attention_book.text import Batch

Movable = TypeVar("Movable", Tensor, Batch)


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


def device_of(model: object) -> torch.device:
    """Return where a model's parameters lie; the CPU where it has none, as counted n-grams.

    >>> device_of(nn.Linear(2, 3, device="meta")), device_of(len)
    (device(type='meta'), device(type='cpu'))
    """
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    return next((parameter.device for parameter in parameters), torch.device("cpu"))


def moved(what: Movable, model: object) -> Movable:
    """Return a tensor or a batch where the model lies; one that is there already, as it is.

    Training, evaluation, searches and viewers move with it what they read. What leaves the CPU is
    looked at before: a GPU cannot be used again after it has met the number of no token.

    Raises:
        ValueError: if a batch that leaves the CPU has a number that the model has no token for.

    >>> moved(torch.zeros(2), nn.Linear(2, 3, device="meta")).device
    device(type='meta')
    """
    device = device_of(model)
    if isinstance(what, Batch) and what.source.device.type == "cpu" and device.type != "cpu":
        settings = getattr(model, "config", None)
        for name, tokens in (("source", what.source), ("target", what.target_input)):
            size = getattr(settings, f"{name}_vocabulary", None)
            if size is not None:
                check_numbers(name, tokens, size)
    return what.to(device)
