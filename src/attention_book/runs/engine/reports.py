"""What a training tells its caller: of each step, and that it was interrupted."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What one step of a run saw, whatever the number of processes that took it together.

    Attributes:
        step: Counted from 1, over all epochs.
        num_steps: How many there will be.
        epoch: Counted from 1.
        loss: The mean loss over all real target tokens of the step, in nats, before it changed
            the weights.
        num_tokens: How many real target tokens there were, ``<eos>`` included.
        seconds: How long it took, without validation and checkpoint.
        learning_rate: How large it was.
        gradient_norm: The Euclidean norm of the whole gradient, before clipping.
        validation_loss: The loss per token on the validation data after this step; None where
            it was not asked for.

    >>> report = StepReport(
    ...     step=3, num_steps=9, epoch=1, loss=2.5, num_tokens=40, seconds=0.5,
    ...     learning_rate=0.001, gradient_norm=1.5,
    ... )
    >>> report.tokens_per_second
    80.0
    """

    step: int
    num_steps: int
    epoch: int
    loss: float
    num_tokens: int
    seconds: float
    learning_rate: float
    gradient_norm: float
    validation_loss: float | None = None

    @property
    def tokens_per_second(self) -> float:
        """How fast the step was, in target tokens of all processes together."""
        return self.num_tokens / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return asdict(self)


class Interrupted(KeyboardInterrupt):
    """A run was interrupted (Ctrl-C); it has been saved, and can go on from there.

    Attributes:
        step: The step after which it was saved.
        folder: The folder of the run.

    >>> error = Interrupted(1200, Path("runs/first"))
    >>> str(error), error.step
    ('runs/first: interrupted, and saved at step 1200', 1200)
    """

    def __init__(self, step: int, folder: Path) -> None:
        """Say where it was saved."""
        super().__init__(f"{folder}: interrupted, and saved at step {step}")
        self.step, self.folder = step, folder
