"""Learning-rate schedules: the Noam schedule (Vaswani et al. 2017), and straight lines."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

#: Takes the number of a step, counted from 1, and returns what to multiply the learning
#: rate by.
Schedule = Callable[[int], float]


def linear_schedule(*, num_steps: int, warmup: int = 0) -> Schedule:
    """Return a schedule that rises to 1 during the warm-up and then falls in a straight line.

    .. math::

        f(s) = \\begin{cases} s / w & s \\le w \\\\ (S + 1 - s) / (S + 1 - w) & s > w \\end{cases}

    After the last step S it would be 0, so every step still moves something.

    Args:
        num_steps: The number of steps S: epochs times batches.
        warmup: The number of steps w on the way up.

    >>> schedule = linear_schedule(num_steps=5, warmup=2)
    >>> [schedule(step) for step in range(1, 6)]
    [0.5, 1.0, 0.75, 0.5, 0.25]
    """
    if num_steps < 1:
        raise ValueError(f"num_steps: expected 1 or more, got {num_steps}")
    if not 0 <= warmup <= num_steps:
        raise ValueError(f"warmup: expected a number from 0 to {num_steps}, got {warmup}")

    def factor(step: int) -> float:
        if not 1 <= step <= num_steps:
            raise ValueError(f"step: expected a number from 1 to {num_steps}, got {step}")
        if step <= warmup:
            return step / warmup
        return (num_steps + 1 - step) / (num_steps + 1 - warmup)

    return factor


def inverse_square_root_schedule(*, warmup: int) -> Schedule:
    """Return a schedule that rises to 1 during the warm-up and then falls as a root does.

    .. math:: f(s) = \\min\\Bigl(\\frac{s}{w}, \\sqrt{\\frac{w}{s}}\\Bigr)

    Vaswani et al. (2017), equation 3, whose learning rate is this times
    :math:`(d_\\mathrm{model} \\, w)^{-1/2}`. It needs no last step.

    Args:
        warmup: The number of steps w on the way up.

    >>> schedule = inverse_square_root_schedule(warmup=4)
    >>> [schedule(step) for step in (1, 2, 4, 16)]
    [0.25, 0.5, 1.0, 0.5]
    """
    if warmup < 1:
        raise ValueError(f"warmup: expected 1 or more, got {warmup}")

    def factor(step: int) -> float:
        if step < 1:
            raise ValueError(f"step: expected 1 or more, got {step}")
        return float(min(step / warmup, math.sqrt(warmup / step)))

    return factor


@contextmanager
def scheduled(
    optimizer: torch.optim.Optimizer, schedule: Schedule | None
) -> Iterator[Callable[[int], None]]:
    """Give a function that sets the learning rates for a step; put them back afterwards.

    Between two epochs the optimizer has the learning rates that the caller gave it. Without a
    schedule they are left alone: they are the caller's to change.
    """
    if schedule is None:
        yield lambda step: None
        return
    rates = [group["lr"] for group in optimizer.param_groups]

    def set_rates(step: int) -> None:
        factor = schedule(step)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * factor

    try:
        yield set_rates
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
