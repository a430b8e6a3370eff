"""The settings of the training: how long, how large the steps, how often it is kept."""

from dataclasses import dataclass
from typing import Literal, get_args

from attention_book.foundations.checks import (
    check_positive,
    check_probability,
    check_sizes,
    check_whole,
)
from attention_book.runs.settings.checking import one_of

ScheduleKind = Literal["constant", "linear", "inverse-square-root"]
Precision = Literal["float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How the model is trained, and how often it is looked at and kept.

    Attributes:
        epochs: How often to go through the data; or None, and then ``steps`` says how long.
        steps: How many steps; or None.
        batch_size: Sentence pairs to a batch; or None, and then ``batch_tokens`` counts.
        batch_tokens: Places to a batch, padding included, on the longer side; or None.
        learning_rate: Adam's, at its peak.
        betas: Adam's.
        weight_decay: Adam's, decoupled (AdamW).
        schedule: "constant", or, after the rise during the warm-up, "linear" (falls to 0) or
            "inverse-square-root".
        warmup: How many steps the learning rate rises, whatever the schedule. A training that is
            shorter rises to its last step.
        clip: The longest gradient that a step may follow; 0: any.
        label_smoothing: How much probability is spread over the whole vocabulary.
        accumulate: How many batches make a step.
        precision: The type that the forward pass computes in wherever that is safe.
        compile: Whether ``torch.compile`` prepares the model first.
        sharded: Whether several processes share one copy of the weights (FSDP2), rather than
            hold a copy each (DDP).
        device: "cpu", "cuda", "mps" (Apple's GPU), or "auto": "cuda" if there is one, else the CPU.
        validate_every: Steps between two looks at the validation data; None: an epoch.
        checkpoint_every: Steps between two checkpoints; None: an epoch.
        keep: How many checkpoints are kept, the latest; one that an interruption left does not
            count.
        average: The mean of so many of the last checkpoints is the result; 0: none is made.
        seed: Draws the first weights, the order of the batches and dropout.

    Raises:
        ValueError: if a setting is out of its range.

    >>> TrainingSettings(epochs=None, steps=1000, batch_size=None, batch_tokens=4096).steps
    1000
    """

    epochs: int | None = 3
    steps: int | None = None
    batch_size: int | None = 64
    batch_tokens: int | None = None
    learning_rate: float = 0.005
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    schedule: ScheduleKind = "linear"
    warmup: int = 60
    clip: float = 1.0
    label_smoothing: float = 0.0
    accumulate: int = 1
    precision: Precision = "float32"
    compile: bool = False
    sharded: bool = False
    device: Device = "auto"
    validate_every: int | None = None
    checkpoint_every: int | None = None
    keep: int = 5
    average: int = 0
    seed: int = 42

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        for one, other in (("epochs", "steps"), ("batch_size", "batch_tokens")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                got = f"{getattr(self, one)} and {getattr(self, other)}"
                raise ValueError(f"{one}, {other}: expected one of the two, got {got}")
        for name, kinds in (
            ("schedule", ScheduleKind),
            ("precision", Precision),
            ("device", Device),
        ):
            one_of(name, getattr(self, name), get_args(kinds))
        self._check_numbers()

    def _check_numbers(self) -> None:
        names = ("epochs", "steps", "batch_size", "batch_tokens", "accumulate", "keep")
        sizes = {
            name: getattr(self, name) for name in (*names, "validate_every", "checkpoint_every")
        }
        check_sizes(**{name: size for name, size in sizes.items() if size is not None})
        check_whole(warmup=self.warmup, average=self.average, seed=self.seed)
        check_positive("learning_rate", self.learning_rate)
        check_probability("label_smoothing", self.label_smoothing)
        for name in ("warmup", "weight_decay", "average", "clip"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        if self.sharded and self.precision == "float16":
            raise ValueError("precision: expected float32 or bfloat16 if sharded, got 'float16'")
        if self.average > self.keep:
            raise ValueError(f"average: expected at most keep={self.keep}, got {self.average}")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: expected two numbers from 0 to below 1, got {self.betas}")
        if self.schedule == "inverse-square-root" and not self.warmup:
            raise ValueError("warmup: expected 1 or more with 'inverse-square-root', got 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected a number from 0 to 2**32 - 1, got {self.seed}")
