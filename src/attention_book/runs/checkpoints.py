"""The checkpoints of a run: the last few, each with all that a training needs to go on."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from torch import Tensor

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.stored_settings import completed
from attention_book.runs.settings import check_type
from attention_book.training.checkpoint import CheckpointError, below, read_tensors, write_tensors

_NAME = re.compile(r"step-([0-9]{8,})\.safetensors")
#: Hears what a run has to say beside its reports.
Tell = Callable[[Bilingual], None]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a training stands.

    Attributes:
        step: How many steps are done.
        num_steps: How many there will be.
        epoch: Which epoch it is in, from 1.
        batch: How many batches of that epoch are done.
        best_loss: The lowest validation loss so far; None before the first.
        best_step: After which step.
        planned: Whether the settings ask for a checkpoint here; if not, it is there because the
            training was interrupted.

    >>> Place(step=3, num_steps=9).after_step(batch=4, best_loss=2.5).step
    4
    """

    step: int = 0
    num_steps: int = 0
    epoch: int = 1
    batch: int = 0
    best_loss: float | None = None
    best_step: int | None = None
    planned: bool = True

    def after_step(self, **changes: Any) -> "Place":
        """Return the place one step later, with what else has changed."""
        return replace(self, step=self.step + 1, **changes)

    @property
    def at_end(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.num_steps


@dataclass(frozen=True)
class Stored:
    """A checkpoint as it was read.

    Attributes:
        place: Where the training stood.
        tensors: All tensors, by their names in the file.
        about: All plain values.
    """

    place: Place
    tensors: dict[str, Tensor]
    about: dict[str, Any]


class Checkpoints:
    """The files ``step-00001000.safetensors`` of a folder.

    Args:
        folder: The folder.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     files = Checkpoints(Path(name))
    ...     for step in (1, 2, 3):
    ...         files.write(Place(step=step, num_steps=9), {}, {}, keep=2)
    ...     files.steps()
    [2, 3]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int) -> Path:
        """Return the file of a step."""
        return self.folder / f"step-{step:08d}.safetensors"

    def steps(self) -> list[int]:
        """Return the steps that have a file, in order.

        What is no file, or has more zeros in its name than ours, is no checkpoint.
        """
        if not self.folder.is_dir():
            return []
        names = {path.name: path for path in self.folder.iterdir() if path.is_file()}
        steps = (int(found[1]) for found in map(_NAME.fullmatch, names) if found)
        return sorted(step for step in steps if self.path(step).name in names)

    def write(
        self, place: Place, tensors: Mapping[str, Tensor], about: Mapping[str, Any], *, keep: int
    ) -> None:
        """Write a checkpoint, and remove those that are too old to be kept.

        One that the settings do not ask for is kept until there is a later one, and does not
        count: after an interruption the same files are left as without.
        """
        extra = {**about.get("extra", {}), "place": asdict(place)}
        write_tensors(self.path(place.step), tensors, {**about, "extra": extra})
        self.remove_old(place.step, keep=keep)

    def remove_old(self, last: int, *, keep: int) -> None:
        """Remove the checkpoints before ``last`` that are too old to be kept."""
        planned = self.planned(last)
        for step in self.steps():
            if step < last and step not in planned[-keep:]:
                self.path(step).unlink(missing_ok=True)

    def planned(self, last: int) -> list[int]:
        """Return the steps up to ``last`` whose checkpoints the settings ask for."""
        return [step for step in self.steps() if step <= last and self._is_planned(step)]

    def _is_planned(self, step: int) -> bool:
        try:
            return read_place(read_tensors(self.path(step), with_tensors=False)[1]).planned
        except CheckpointError:
            return False

    def read(self, step: int) -> Stored:
        """Read the checkpoint of a step."""
        tensors, about = read_tensors(self.path(step))
        place = read_place(about)
        if place.step != step:
            raise CheckpointError(
                f"{self.path(step)}: expected the checkpoint of step {step}, got step {place.step}"
            )
        return Stored(place, tensors, about)

    def newest(self, tell: Tell) -> Stored | None:
        """Read the newest checkpoint that is whole; None where there is none at all.

        One that is damaged is told of and set aside, and the one before it is read.
        """
        damaged: list[Path] = []
        reason: CheckpointError | None = None
        for step in reversed(self.steps()):
            try:
                stored = self.read(step)
            except CheckpointError as error:
                damaged, reason = [*damaged, self.path(step)], error
                continue
            for path in damaged:
                path.replace(path.with_suffix(".damaged"))
                tell(_damaged(path))
            return stored
        if reason is not None:
            raise CheckpointError(
                f"{self.folder}: expected a checkpoint to go on from, got none: {reason}"
            )
        return None


def read_place(about: Mapping[str, Any]) -> Place:
    """Return where the training stood, from the plain values of a checkpoint.

    >>> read_place({"extra": {"place": {"step": 3}}}).step
    3
    """
    try:
        said = completed(Place, about["extra"]["place"])
        for name, kind in get_type_hints(Place).items():
            check_type(name, said[name], kind)
        place = Place(**said)
        check_sizes(epoch=place.epoch)
        if min(place.step, place.num_steps, place.batch) < 0:
            raise ValueError(f"expected 0 or more, got {place}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"expected the checkpoint of a run, got another: {error}") from error
    return place


def _damaged(path: Path) -> Bilingual:
    return Bilingual(
        f"{path} 已损坏，改从它之前的检查点继续。",
        f"{path} is damaged; going on from the checkpoint before it.",
    )


def average_checkpoints(paths: Sequence[Path], to: Path, *, extra: dict[str, Any]) -> None:
    """Write the mean of the weights of several checkpoints, computed in double precision.

    One file is in memory at a time, and the sum. What is no floating point number, such as a
    count, is that of the last file.

    Args:
        paths: The checkpoints, in order.
        to: The file to write.
        extra: What else it says.

    >>> from tempfile import TemporaryDirectory
    >>> from torch import nn
    >>> from attention_book.training import load_checkpoint, save_checkpoint
    >>> with TemporaryDirectory() as name:
    ...     first, second, mean = (Path(name) / each for each in ("1", "2", "mean"))
    ...     model = nn.Linear(1, 1, bias=False)
    ...     for path, weight in ((first, 1.0), (second, 2.0)):
    ...         _ = nn.init.constant_(model.weight, weight)
    ...         save_checkpoint(path, model=model)
    ...     average_checkpoints([first, second], mean, extra={})
    ...     _ = load_checkpoint(mean, model=model)
    >>> model.weight.item()
    1.5
    """
    sums: dict[str, Tensor] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for path in paths:
        tensors, about = read_tensors(path)
        weights = below("model.", tensors)
        found = {name: tuple(value.shape) for name, value in weights.items()}
        if found != (shapes := shapes or found):
            raise CheckpointError(f"{path}: expected a model as in {paths[0]}, got another")
        for name, value in weights.items():
            is_real = value.is_floating_point()
            sums[name] = sums.get(name, 0) + value.double() if is_real else value
    means = {
        name: (total / len(paths)).to(weights[name].dtype) if total.is_floating_point() else total
        for name, total in sums.items()
    }
    content: dict[str, Any] = {"config": about.get("config"), "reports": [], "extra": extra}
    write_tensors(to, {f"model.{name}": value for name, value in means.items()}, content)
