"""A measurement: a number from a training or a draw, with the bound that a claim sets for it.

A law holds exactly or to rounding and is asserted. A measurement may come out differently on
another processor or with another seed, so it is recorded with its bound and never raises.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

Relation = Literal["above", "at_least", "below", "at_most"]

#: How each relation is written; the first two are bounds from below.
SIGNS: Mapping[Relation, str] = {"above": ">", "at_least": "≥", "below": "<", "at_most": "≤"}
_FROM_BELOW = ("above", "at_least")
_STRICT = ("above", "below")

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Measurement:
    """One number and the bound it was held against.

    Attributes:
        name: Small letters, digits and hyphens; unique to one chapter.
        value: What was measured.
        relation: "above", "at_least", "below" or "at_most".
        bound: What it was compared with; a relative bound is itself a measured number.
        draws: Over how many trainings or draws the value was taken.

    >>> Measurement("demo", value=0.75, relation="above", bound=0.5, draws=3).came_out
    True
    """

    name: str
    value: float
    relation: Relation
    bound: float
    draws: int = 1

    @property
    def margin(self) -> float:
        """How far the value is on the right side of its bound; negative on the wrong side."""
        difference = self.value - self.bound
        return difference if self.relation in _FROM_BELOW else -difference

    @property
    def came_out(self) -> bool:
        """Whether the value keeps its bound. NaN keeps none."""
        if self.relation in _STRICT:
            return self.margin > 0
        return self.margin >= 0 or self.value == self.bound

    def __str__(self) -> str:
        """The comparison as it is printed: ``demo: 0.75 > 0.5``."""
        return f"{self.name}: {self.value:.4g} {SIGNS[self.relation]} {self.bound:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON keeps them."""
        return {**asdict(self), "came_out": self.came_out}


def measured(name: str, value: Any, *, draws: int = 1, **bounds: Any) -> tuple[Measurement, ...]:
    """Hold a number, or the worst of several, against one bound or two.

    Args:
        name: Small letters, digits and hyphens; unique to one chapter.
        value: A number or a truth value, or a tensor or sequence of them.
        draws: Over how many trainings or draws the value was taken.
        **bounds: ``above``, ``at_least``, ``below``, ``at_most``: numbers, or tensors and
            sequences that fit ``value``; none for a truth value, which is to be true.

    Returns:
        One measurement for each bound: of all pairs the one with the smallest margin.

    >>> [str(each) for each in measured("demo", [0.75, 0.5], above=0.25, below=1)]
    ['demo: 0.5 > 0.25', 'demo: 0.75 < 1']
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"name: expected small letters, digits and hyphens, got {name!r}")
    if draws < 1:
        raise ValueError(f"draws: expected 1 or more, got {draws}")
    values = _as_tensor("value", value)
    if not bounds:
        if not _is_truth(value):
            raise ValueError(
                f"{name}: expected a bound such as above=0.5 beside a number, got none"
            )
        bounds = {"at_least": 1}
    unknown = set(bounds) - set(SIGNS)
    if unknown:
        raise ValueError(f"bounds: expected {', '.join(SIGNS)}, got {', '.join(sorted(unknown))}")
    return tuple(
        _worst(name, values, relation, _as_tensor(relation, bound), draws)
        for relation, bound in bounds.items()
    )


def _as_tensor(name: str, value: Any) -> torch.Tensor:
    if isinstance(value, Iterable) and not hasattr(value, "shape"):
        value = list(value)
        if any(hasattr(each, "shape") for each in value):
            value = torch.stack([_exact(each) for each in value])
    tensor = _exact(value)
    if tensor.numel() == 0:
        raise ValueError(f"{name}: expected at least one number, got none")
    return tensor


def _exact(value: Any) -> torch.Tensor:
    """Return numbers in double precision; on the CPU, for not every device has it."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    return torch.as_tensor(value, dtype=torch.float64, device="cpu")


def _is_truth(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return str(dtype).endswith("bool")
    if isinstance(value, Iterable):
        return all(_is_truth(each) for each in value)
    return isinstance(value, bool)


def _worst(
    name: str, values: torch.Tensor, relation: Any, bounds: torch.Tensor, draws: int
) -> Measurement:
    values, bounds = (each.flatten() for each in torch.broadcast_tensors(values, bounds))
    pairs = zip(values.tolist(), bounds.tolist(), strict=True)
    found = [Measurement(name, value, relation, bound, draws) for value, bound in pairs]
    return min(found, key=lambda each: -math.inf if math.isnan(each.margin) else each.margin)


__all__ = ["SIGNS", "Measurement", "Relation", "measured"]
