"""The mean of the last checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from attention_book.training.checkpoints.tensor_file import (
    CheckpointError,
    below,
    read_tensors,
    write_tensors,
)


def average_checkpoints(paths: Sequence[Path], to: Path, *, extra: dict[str, Any]) -> None:
    """Write the mean of the weights of several checkpoints, computed in double precision.

    One file is in memory at a time, and the sum. What is no floating point number, such as a
    count, is that of the last file.

    Args:
        paths: The checkpoints, in order.
        to: The file to write.
        extra: What else it says.

    Raises:
        CheckpointError: if one is no checkpoint, damaged, or that of another model.
        OSError: if it cannot be written.

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


__all__ = ["average_checkpoints"]
