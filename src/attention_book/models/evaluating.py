"""What a model is used in: evaluation mode, and what it reads moved to where it lies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from attention_book.foundations.checks import check_numbers
from attention_book.text import Batch, PackedBatch

Movable = TypeVar("Movable", Tensor, Batch, PackedBatch)


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
    if not isinstance(what, Tensor) and device.type != "cpu":
        settings = getattr(model, "config", None)
        for name, size, tokens in _numbers(what):
            known = getattr(settings, size, None)
            if known is not None and tokens.device.type == "cpu":
                check_numbers(name, tokens, known)
    return what.to(device)


def _numbers(batch: Batch | PackedBatch) -> tuple[tuple[str, str, Tensor], ...]:
    """Return what a batch's numbers are called, the setting that bounds them, and the numbers."""
    if isinstance(batch, PackedBatch):
        return (("tokens", "vocabulary", batch.tokens),)
    return (
        ("source", "source_vocabulary", batch.source),
        ("target", "target_vocabulary", batch.target_input),
    )
