"""The state of an optimizer as named tensors and plain values."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

#: What is raised where a file says of an optimizer what cannot be.
NOT_A_STATE = (ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the tensors, named by the parameter's number and their own name: "3.exp_avg"."""
    return {
        f"{number}.{name}": value
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
        if isinstance(value, Tensor)
    }


def optimizer_rest(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what is no tensor: the settings of each group, and numbers kept for a parameter."""
    content = optimizer.state_dict()
    return {
        "kind": type(optimizer).__name__,
        "groups": [
            {name: _plain(value) for name, value in group.items()}
            for group in content["param_groups"]
        ],
        "numbers": {
            f"{number}.{name}": value
            for number, state in content["state"].items()
            for name, value in state.items()
            if not isinstance(value, Tensor)
        },
    }


def restore(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Give the optimizer back what the two functions above took from it.

    Raises:
        ValueError: if it is of another kind, or has other parameters. Nothing was
            changed then.
    """
    kind = type(optimizer).__name__
    if kind != rest["kind"]:
        raise ValueError(f"optimizer: expected {kind}, got {rest['kind']}")
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    found = [len(group["params"]) for group in rest["groups"]]
    if sizes != found:
        raise ValueError(f"optimizer: expected groups of {sizes} parameters, got {found}")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for place, value in [*tensors.items(), *rest["numbers"].items()]:
        number, _, name = place.partition(".")
        shape = parameters[int(number)].shape
        if isinstance(value, Tensor) and value.ndim and value.shape != shape:
            raise ValueError(
                f"optimizer: parameter {number}: {name}: expected the shape {tuple(shape)}, "
                f"got {tuple(value.shape)}"
            )
        state.setdefault(int(number), {})[name] = value
    groups = [{name: _tuples(value) for name, value in group.items()} for group in rest["groups"]]
    for own, given in zip(optimizer.param_groups, groups, strict=True):
        for name in (own.keys() & given.keys()) - {"params"}:
            if not _fits(_plain(own[name]), given[name]):
                raise ValueError(f"optimizer: {name}: expected {own[name]}, got {given[name]!r}")
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _fits(own: Any, given: Any) -> bool:
    """Whether a setting is of the kind that the optimizer's own one is."""
    if isinstance(own, tuple | list):
        fits = isinstance(given, tuple) and len(given) == len(own)
        return fits and all(map(_fits, own, given))
    if own is None or isinstance(own, bool):
        return given is None or isinstance(given, bool)
    if isinstance(own, int | float):
        return isinstance(given, int | float) and not isinstance(given, bool)
    return True


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _tuples(value: Any) -> Any:
    """Undo JSON, which knows lists only; the pair of Adam's betas is a tuple."""
    return tuple(value) if isinstance(value, list) else value
