"""The reports of a training step and of an epoch."""

from dataclasses import asdict, dataclass
from typing import Any


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


@dataclass(frozen=True, kw_only=True)
class EpochReport:
    """What one epoch of :func:`fit` saw.

    Attributes:
        epoch: Counted from 1.
        loss_per_token: The training loss, a mean over all real target tokens of the
            epoch, in nats: each batch's before the step that it led to, with dropout
            and label smoothing.
        num_tokens: How many real target tokens there were, ``<eos>`` included.
        gradient_norm: The largest norm that a batch's gradient had before clipping.
        seconds: How long the training took, validation and checkpoint not counted.
        validation_loss: The loss per token on the validation data after the epoch,
            without dropout or label smoothing; None where there is no such data.

    >>> report = EpochReport(
    ...     epoch=1, loss_per_token=2.5, num_tokens=3000, gradient_norm=4.0, seconds=1.5
    ... )
    >>> report.tokens_per_second
    2000.0
    """

    epoch: int
    loss_per_token: float
    num_tokens: int
    gradient_norm: float
    seconds: float
    validation_loss: float | None = None

    @property
    def tokens_per_second(self) -> float:
        """How fast the training was, in target tokens."""
        return self.num_tokens / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return asdict(self)
