"""The state of a training as tensors and plain values, whatever the number of its processes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attention_book.runs.checkpoints import Stored
from attention_book.runs.engine.random_numbers import RandomNumbers, seed_of
from attention_book.runs.engine.training import Training
from attention_book.runs.processes.gathering import fill, like, whole, whole_state
from attention_book.training import CheckpointError
from attention_book.training.checkpoints.checkpoint import kind_of
from attention_book.training.checkpoints.optimizer_state import (
    NOT_A_STATE,
    optimizer_rest,
    optimizer_tensors,
    restore,
)
from attention_book.training.checkpoints.tensor_file import below

_MODEL, _OPTIMIZER, _RANDOM = "model.", "optimizer.", "random."


def collect_model(training: Training) -> dict[str, Tensor]:
    """Return the weights, whole. All processes must ask.

    Their names are those of every checkpoint, so
    :func:`~attention_book.training.load_checkpoint` reads them.
    """
    return {_MODEL + name: value for name, value in whole_state(training.model).items()}


def collect(training: Training) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return all tensors and all plain values that the training needs to go on.

    All processes must ask; each gets all but what only the first one writes.
    """
    optimizer = training.stepper.optimizer
    tensors = collect_model(training)
    for name, value in optimizer_tensors(optimizer).items():
        tensors[_OPTIMIZER + name] = whole(value).cpu()
    for rank, states in enumerate(training.ranks.gathered(training.random.states)):
        # The first one's have the names that a training of one process gives them.
        own = f"{rank}." if rank else ""
        tensors |= {f"{_RANDOM}{own}{name}": state for name, state in states.items()}
    extra = {"scaler": training.stepper.scaler.state_dict(), "world": training.ranks.world}
    about = {
        **about_model(training),
        "optimizer": optimizer_rest(optimizer),
        "extra": extra,
    }
    return tensors, about


def about_model(training: Training) -> dict[str, Any]:
    """Return the plain values that every file with the weights has."""
    return {"config": training.model.config.to_dict(), "reports": []}


def go_on_from(training: Training, stored: Stored) -> None:
    """Put a training where it stood when the checkpoint was written.

    With another number of processes the weights, the optimizer and the place go on, and those
    random numbers that there were not before are drawn anew.

    Raises:
        CheckpointError: if it is the checkpoint of another model. Nothing was changed then.
    """
    weights = below(_MODEL, stored.tensors)
    state = training.model.state_dict()
    for name in sorted(state.keys() | weights.keys()):
        expected, found = (kind_of(each.get(name)) for each in (state, weights))
        if expected != found:
            raise CheckpointError(f"{name}: expected {expected}, got {found}")
    if not training.leads_to(stored.place):
        raise CheckpointError(f"expected a place in this training, got {stored.place}")
    optimizer = training.stepper.optimizer
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    try:
        numbers = _random_numbers(training, below(_RANDOM, stored.tensors), stored)
        moments = _moments(below(_OPTIMIZER, stored.tensors), parameters)
        restore(optimizer, moments, stored.about["optimizer"])
        training.stepper.scaler.load_state_dict(stored.about["extra"]["scaler"])
    except NOT_A_STATE as error:
        raise CheckpointError(
            f"expected the state of this optimizer, got another: {error}"
        ) from error
    fill(training.model, weights)
    training.random = numbers
    training.place = stored.place


def _moments(tensors: Mapping[str, Tensor], parameters: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return of each tensor of the optimizer's what this process has of it.

    Raises:
        ValueError: if they are not what AdamW keeps of these parameters.
    """
    kept: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, value in tensors.items():
        number, _, kind = name.partition(".")
        kept.setdefault(int(number), {})[kind] = tuple(value.shape)
    for place, shapes in kept.items():
        shape = tuple(parameters[place].shape)
        expected = {"step": (), "exp_avg": shape, "exp_avg_sq": shape}
        if shapes != expected:
            raise ValueError(f"parameter {place}: expected {expected}, got {shapes}")
    return {
        name: like(value, parameters[int(name.partition(".")[0])]) if value.ndim else value
        for name, value in tensors.items()
    }


def _random_numbers(
    training: Training, states: Mapping[str, Tensor], stored: Stored
) -> RandomNumbers:
    ranks = training.ranks
    own = below(f"{ranks.rank}.", states) if ranks.rank else dict(states)
    seed = seed_of(training.settings.seed, ranks.rank, stored.place.step)
    numbers = RandomNumbers(seed, ranks.device)
    kept = {name: own[name] for name in numbers.states if name in own}
    for name, state in kept.items():
        if state.dtype != torch.uint8 or state.shape != numbers.states[name].shape:
            raise ValueError(f"random numbers: expected {name}'s, got others")
    if "cpu" in kept:
        torch.Generator().set_state(kept["cpu"])  # refuses what is none
    numbers.states |= kept
    return numbers
