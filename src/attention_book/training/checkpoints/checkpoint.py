"""Checkpoints: one file from which a training resumes as if it had never stopped.

The file is in the safetensors format: the tensors of the model and of the optimizer
and the state of the random numbers, and in its metadata, as JSON, all the rest.
Nothing in it is ever executed, as a pickle would be.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.foundations.stored_settings import completed
from attention_book.models import LoRA, TiedModel
from attention_book.training.checkpoints.optimizer_state import (
    NOT_A_STATE,
    optimizer_rest,
    optimizer_tensors,
    restore,
)
from attention_book.training.checkpoints.tensor_file import (
    CheckpointError,
    below,
    read_tensors,
    write_tensors,
)
from attention_book.training.checkpoints.wrappers import (
    plain_name,
    renamed,
    unwrapped,
    wrapped_in,
)
from attention_book.training.reports import EpochReport

_MODEL, _OPTIMIZER, _RANDOM = "model.", "optimizer.", "random."


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says beside its tensors.

    Attributes:
        reports: One report for every epoch so far.
        extra: What else was given to :func:`save_checkpoint`.

    >>> Checkpoint(reports=(), extra={}).epoch
    0
    """

    reports: tuple[EpochReport, ...]
    extra: dict[str, Any]

    @property
    def epoch(self) -> int:
        """How many epochs were trained."""
        return len(self.reports)


def save_checkpoint(
    path: str | Path,
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    reports: Sequence[EpochReport] = (),
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint atomically: if interrupted, ``path`` is still the old file.

    Args:
        path: The file. Its folder is created where needed.
        model: Its parameters and buffers are kept, and ``model.config`` where it has one.
        optimizer: Its state is kept too, and that of the random numbers, to go on training.
        reports: The history.
        extra: Anything else that JSON can hold.

    Raises:
        ImportError: if safetensors is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2), extra={"language": "fr"})
    ...     load_checkpoint(path, model=nn.Linear(2, 2)).extra
    {'language': 'fr'}
    """
    model = unwrapped(model)
    tensors = {_MODEL + plain_name(name): value for name, value in model.state_dict().items()}
    about: dict[str, Any] = {
        "config": _config(model),
        "reports": [report.to_dict() for report in reports],
        "extra": dict(extra or {}),
    }
    if optimizer is not None:
        found = optimizer_tensors(optimizer)
        tensors |= {_OPTIMIZER + name: value for name, value in found.items()}
        about["optimizer"] = optimizer_rest(optimizer)
        tensors |= _random_states()
    write_tensors(path, tensors, about)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Return what a checkpoint says, without its tensors.

    Raises:
        CheckpointError: if the file is no checkpoint.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2))
    ...     read_checkpoint(path)
    Checkpoint(reports=(), extra={})
    """
    return _checkpoint(path, read_tensors(path, with_tensors=False)[1])


def load_checkpoint(
    path: str | Path, *, model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Checkpoint:
    """Put a model, and an optimizer, back to where they were when the file was written.

    With an optimizer the random numbers go on from there too, so that the training does
    exactly what it would have done. Without one they are left alone. A file that was written
    before the model's config gained a field loads where the model has that field's default. It does
    not matter whether one of the two models, or a part of it, was wrapped by ``torch.compile`` or
    ``DistributedDataParallel``: the names that wrappers give are those of the same weights.

    Raises:
        CheckpointError: if the file is no checkpoint, or that of another model or
            optimizer. Nothing was changed then.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2))
    ...     load_checkpoint(path, model=nn.Linear(2, 2)).epoch
    0
    """
    tensors, about = read_tensors(path)
    checkpoint = _checkpoint(path, about)
    model = unwrapped(model)
    found = below(_MODEL, tensors)
    weights, config = _as_named_in(model, found), about.get("config")
    if config is None and wrapped_in(found):  # a wrapper has no settings, its model had
        config = _config(model)
    _check_model(path, model, config, weights)
    if optimizer is not None:
        if "optimizer" not in about:
            raise CheckpointError(f"{path}: expected the state of an optimizer, got none")
        try:
            random = below(_RANDOM, tensors)
            torch.Generator().set_state(random["cpu"])  # refuses what is none
            restore(optimizer, below(_OPTIMIZER, tensors), about["optimizer"])
            _set_random_states(random)
        except NOT_A_STATE as error:
            raise CheckpointError(f"{path}: {error}") from error
    model.load_state_dict(weights)
    return checkpoint


def _checkpoint(path: str | Path, about: Mapping[str, Any]) -> Checkpoint:
    try:
        reports = tuple(EpochReport(**report) for report in about["reports"])
        extra = about["extra"]
        if not isinstance(extra, dict):
            raise TypeError(f"extra is {type(extra).__name__}")
        return Checkpoint(reports, extra)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: expected reports and extra, got none: {error}") from error


def _config(model: nn.Module) -> dict[str, Any] | None:
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        return None
    plain: dict[str, Any] = json.loads(json.dumps(config.to_dict()))
    return plain


def _check_model(
    path: str | Path, model: nn.Module, config: dict[str, Any] | None, weights: Mapping[str, Tensor]
) -> None:
    own = _config(model)
    if config is not None and own is not None and is_dataclass(model.config):
        try:
            config = completed(type(model.config), config)
        except (ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path}: {error}") from error
    if own != config:
        expected, found = (each or "no settings" for each in (own, config))
        raise CheckpointError(f"{path}: expected a model with {expected}, got one with {found}")
    check_tensors(str(path), model.state_dict(), weights)
    for name, module in model.named_modules():
        # What says what the numbers mean: which matrices are one, which change has which alpha.
        if isinstance(module, (TiedModel, LoRA)):
            try:
                module.check_state(weights, f"{name}." if name else "")
            except ValueError as error:
                raise CheckpointError(f"{path}: {error}") from error


def check_tensors(place: str, state: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Check that weights have the names, the shapes and the types of a model's own.

    Args:
        place: Where they are from, for the error.
        state: The model's own.
        weights: Those that were found.

    Raises:
        CheckpointError: naming the first that differs, and what the others were wrapped in.
    """
    for name in sorted(state.keys() | weights.keys()):
        expected, found = (kind_of(each.get(name)) for each in (state, weights))
        if expected != found:
            wrapped = wrapped_in(weights.keys() - state.keys())
            why = f"; it holds the weights of a wrapped model ({wrapped})" if wrapped else ""
            raise CheckpointError(f"{place}: {name}: expected {expected}, got {found}{why}")


def kind_of(tensor: Tensor | None) -> str:
    """Return a tensor's shape and type as an error says them.

    >>> kind_of(torch.zeros(2, 3)), kind_of(None)
    ('(2, 3), torch.float32', 'nothing')
    """
    return "nothing" if tensor is None else f"{tuple(tensor.shape)}, {tensor.dtype}"


def _as_named_in(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under the names that the model has for them."""
    names = renamed(weights, model.state_dict())
    return {names[name]: value for name, value in weights.items()}


def _random_states() -> dict[str, Tensor]:
    states = {_RANDOM + "cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        for number, state in enumerate(torch.cuda.get_rng_state_all()):
            states[f"{_RANDOM}cuda.{number}"] = state
    return states


def _set_random_states(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for name, state in states.items():
        if name.startswith("cuda."):
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda.")))


__all__ = [
    "Checkpoint",
    "CheckpointError",
    "load_checkpoint",
    "read_checkpoint",
    "save_checkpoint",
]
