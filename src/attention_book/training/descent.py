"""Gradient descent: one step for every kind of model, and a loop that reports each step."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import repeat

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.foundations.checks import check_positive, check_sizes
from attention_book.training.reports import Report
from attention_book.training.schedule import Schedule, scheduled


@dataclass(frozen=True)
class BatchLoss:
    """The mean loss of one batch, and over how many tokens or examples it is the mean.

    Where several batches make one step, each counts by its ``count``: the mean over all
    their tokens, which is not the mean of their means.

    Attributes:
        mean: The mean loss, with a gradient.
        count: A number, or a tensor on the same device, which need not be waited for.

    >>> BatchLoss(torch.tensor(2.5), count=30).count
    30
    """

    mean: Float[Tensor, ""]
    count: int | float | Tensor


#: Computes the loss of one batch; a loss without a count counts once.
LossFn = Callable[[], Float[Tensor, ""] | BatchLoss]


@dataclass(frozen=True)
class Seen:
    """What a step saw before it changed the parameters.

    Attributes:
        loss: The mean loss of its batches.
        gradient_norm: The Euclidean norm of the whole gradient, before clipping.
        count: How many tokens or examples the loss is a mean over.
    """

    loss: float
    gradient_norm: float
    count: float


class Stepper:
    """Takes optimization steps: gradients of some batches, clipped, checked, followed.

    Args:
        optimizer: Knows the parameters, and how to change them.
        clip: The longest gradient that a step may follow (Pascanu et al. 2013); a longer
            one is shortened. None: any.
        autocast: The type that the forward pass computes in wherever that is safe:
            ``torch.bfloat16`` or ``torch.float16`` (Micikevicius et al. 2018). Parameters,
            their gradients and the optimizer's state keep their own type. None: nothing
            is cast.

    Attributes:
        scaler: Multiplies losses so that small gradients do not vanish in ``float16``; it
            is switched off for all other types.

    Raises:
        ValueError: if ``clip`` is not positive, or ``autocast`` is another type.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> take_step = Stepper(torch.optim.SGD([x], lr=0.25))
    >>> take_step([lambda: x**2], "at step 1")
    Seen(loss=9.0, gradient_norm=6.0, count=1.0)
    >>> x
    tensor(1.5000, requires_grad=True)
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        clip: float | None = None,
        autocast: torch.dtype | None = None,
    ) -> None:
        """Check the settings; the optimizer may be given more parameters later."""
        if clip is not None:
            check_positive("clip", clip)
        if autocast not in (None, torch.bfloat16, torch.float16):
            raise ValueError(
                f"autocast: expected torch.bfloat16, torch.float16 or None, got {autocast}"
            )
        self.optimizer, self.dtype = optimizer, autocast
        self.clip = clip
        self.device = optimizer.param_groups[0]["params"][0].device.type
        self.scaler = torch.amp.GradScaler(self.device, enabled=autocast is torch.float16)

    def __call__(self, losses: Iterable[LossFn], place: str) -> Seen:
        """Take one step down the mean loss of some batches.

        The device is waited for once: the loss and the norm of its gradient come together.

        Args:
            losses: Each computes the loss of one batch; a gradient is computed before the
                next loss is asked for, so that only one batch is in memory at a time.
            place: Where this is, for the error: "at step 3".

        Raises:
            ValueError: if a loss is not a single number or reaches no parameter, or if
                loss or gradient are not finite. The parameters are as they were before.
        """
        self.optimizer.zero_grad()
        loss, count = self._backward(losses, place)
        self.scaler.unscale_(self.optimizer)
        norm = self._clip()
        seen = Seen(*torch.stack((loss, norm.to(loss), count.to(loss))).tolist())
        self._check(seen, place)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return seen

    def _backward(self, losses: Iterable[LossFn], place: str) -> tuple[Tensor, Tensor]:
        """Leave the gradient of the mean loss in the parameters; return that mean, and of how many.

        How many there are in all is known only in the end. So each loss is weighed against
        the first one by its count, and the sum is divided afterwards. A single loss is
        neither weighed nor divided: not a bit of its gradient changes.
        """
        means: list[Tensor] = []
        counts: list[Tensor] = []
        for loss_fn in losses:
            with self._casting():
                mean, count = _checked(loss_fn(), place)
            weighed = mean * (count / _or_one(counts[0])) if counts else mean
            self.scaler.scale(weighed).backward()
            means.append(mean.detach())
            counts.append(count)
        gradients = [p.grad for p in self._parameters() if p.grad is not None]
        if not gradients:
            raise ValueError(
                "loss: expected one that depends on the optimizer's parameters, "
                f"got one that reaches none of them {place}"
            )
        if len(means) == 1:
            return means[0], counts[0]
        sizes = torch.stack(counts)
        whole = _or_one(sizes.sum())
        for gradient in gradients:
            gradient.mul_((_or_one(sizes[0]) / whole).to(gradient))
        return (torch.stack(means) * sizes).sum() / whole, sizes.sum()

    def _clip(self) -> Tensor:
        """Shorten the gradient where it is too long; return how long it was."""
        if self.clip is not None:
            norm = nn.utils.clip_grad_norm_(self._parameters(), self.clip)
            # Of weights that several processes share it has to be put together.
            return norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        norms = [p.grad.norm() for p in self._parameters() if p.grad is not None]
        length: Tensor = torch.stack(norms).norm()
        return length

    def _check(self, seen: Seen, place: str) -> None:
        for name, value in (("loss", seen.loss), ("gradient", seen.gradient_norm)):
            # A gradient may have overflowed because the scaler multiplied it by too much. The
            # scaler then leaves this step out, and multiplies by less in the next.
            too_much = name == "gradient" and self.scaler.is_enabled()
            if not math.isfinite(value) and not (too_much and self.scaler.get_scale() > 1):
                raise ValueError(
                    f"{name}: expected a finite number, got {value} {place}; try a lower learning "
                    "rate, a longer warm-up or a smaller clip, and look for inf or nan in the data"
                )

    def _casting(self) -> AbstractContextManager[object]:
        if self.dtype is None:
            return nullcontext()
        return torch.autocast(self.device, dtype=self.dtype)

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]


def _checked(found: Tensor | BatchLoss, place: str) -> tuple[Tensor, Tensor]:
    """Return a mean and its count, both precise enough to count tokens.

    Only what is known of a loss without waiting for its value is checked here.
    """
    mean, count = (found.mean, found.count) if isinstance(found, BatchLoss) else (found, 1)
    if mean.numel() != 1:
        raise ValueError(
            f"loss: expected a single number, got the shape {tuple(mean.shape)} {place}"
        )
    if not mean.requires_grad:
        raise ValueError(f"loss: expected one with a gradient, got a constant {place}")
    mean = mean.squeeze().to(torch.promote_types(mean.dtype, torch.float32))
    return mean, torch.as_tensor(count, device=mean.device, dtype=mean.dtype)


def _or_one(number: Tensor) -> Tensor:
    """Return what to divide by: the number, but 1 instead of 0, where there is nothing to share."""
    return number.masked_fill(number == 0, 1)


def descend(
    loss_fn: LossFn,
    optimizer: torch.optim.Optimizer,
    *,
    steps: int,
    schedule: Schedule | None = None,
    clip: float | None = None,
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
) -> Iterator[Report]:
    """Take ``steps`` optimization steps, one for each report that is asked for.

    It is a generator: nothing happens until it is iterated, and a ``break`` in
    the caller's loop stops the training. Plotting, printing and early stopping
    stay with the caller.

    Args:
        loss_fn: Computes the loss anew; it may draw a fresh batch each time. Where batches
            are of different sizes and several make a step, it returns a
            :class:`~attention_book.training.BatchLoss`, which says how much each counts.
        optimizer: Knows the parameters, and how to change them.
        steps: How many steps at most.
        schedule: What to multiply the optimizer's learning rates by in a step.
        clip: The longest gradient that a step may follow; a longer one is shortened. None:
            any.
        autocast: ``torch.bfloat16`` or ``torch.float16``: compute the loss in this type
            wherever that is safe, and keep the parameters in theirs. None: nothing is cast.
        accumulate: How many losses, one after the other, make one step: their mean is
            followed, with the memory that one of them takes.

    Yields:
        A :class:`Report` after every step.

    Raises:
        ValueError: if a loss is not a single number or depends on no parameter of the
            optimizer, or if a loss or a gradient is not finite (the step is named, and the
            parameters are left as they were); or if an argument is out of range.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.25)
    >>> [report.loss for report in descend(lambda: x**2, optimizer, steps=3)]
    [9.0, 2.25, 0.5625]
    """
    if steps < 0:
        raise ValueError(f"steps: expected 0 or more, got {steps}")
    check_sizes(accumulate=accumulate)
    take_step = Stepper(optimizer, clip=clip, autocast=autocast)
    with scheduled(optimizer, schedule) as set_rates:
        for step in range(1, steps + 1):
            set_rates(step)
            seen = take_step(repeat(loss_fn, accumulate), f"at step {step}")
            yield Report(step, seen.loss, seen.gradient_norm)


__all__ = ["BatchLoss", "LossFn", "Stepper", "descend"]
