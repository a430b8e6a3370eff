"""Gradient descent that hands back a report after every step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.training.schedule import Schedule, scheduled


@dataclass(frozen=True)
class Report:
    """What one step of :func:`descend` saw.

    Attributes:
        step: Counted from 1.
        loss: The loss *before* the parameters were changed.
        gradient_norm: The Euclidean norm of the whole gradient, also before.

    >>> Report(step=1, loss=0.5, gradient_norm=2.0).loss
    0.5
    """

    step: int
    loss: float
    gradient_norm: float


def descend(
    loss_fn: Callable[[], Float[Tensor, ""]],
    optimizer: torch.optim.Optimizer,
    *,
    steps: int,
    schedule: Schedule | None = None,
) -> Iterator[Report]:
    """Take ``steps`` optimisation steps, one for each report that is asked for.

    It is a generator: nothing happens until it is iterated, and a ``break`` in
    the caller's loop stops the training. Plotting, printing and early stopping
    stay with the caller.

    Args:
        loss_fn: Computes the loss anew; it may draw a fresh batch each time.
        optimizer: Knows the parameters, and how to change them.
        steps: How many steps at most.
        schedule: What to multiply the optimizer's learning rates by in a step.

    Yields:
        A :class:`Report` after every step.

    Raises:
        ValueError: if the loss is not a single finite number, or depends on no
            parameter of the optimizer (the step is named, and the parameters are
            left as they were); or if ``steps`` is negative.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.25)
    >>> [report.loss for report in descend(lambda: x**2, optimizer, steps=3)]
    [9.0, 2.25, 0.5625]
    """
    if steps < 0:
        raise ValueError(f"steps: expected 0 or more, got {steps}")
    with scheduled(optimizer, schedule) as set_rates:
        for step in range(1, steps + 1):
            set_rates(step)
            optimizer.zero_grad()
            loss = loss_fn()
            _check_loss(loss, step)
            loss.backward()
            gradient_norm = _gradient_norm(optimizer, step)
            optimizer.step()
            yield Report(step, loss.item(), gradient_norm)


def _check_loss(loss: Tensor, step: int) -> None:
    if loss.numel() != 1:
        raise ValueError(
            f"loss_fn: expected a single number, got the shape {tuple(loss.shape)} at step {step}"
        )
    if not loss.isfinite():
        raise ValueError(f"loss_fn: expected a finite number, got {loss.item()} at step {step}")
    if not loss.requires_grad:
        raise ValueError(f"loss_fn: expected a loss with a gradient, got a constant at step {step}")


def _gradient_norm(optimizer: torch.optim.Optimizer, step: int) -> float:
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    if not norms:
        raise ValueError(
            "loss_fn: expected a loss that depends on the optimizer's parameters, "
            f"got one that reaches none of them at step {step}"
        )
    return float(torch.stack(norms).norm())
