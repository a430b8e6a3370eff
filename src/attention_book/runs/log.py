"""The log of a run: one line of JSON for each step."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from attention_book.foundations.files import write_whole
from attention_book.runs.engine.reports import StepReport


def read_log(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log; one that was cut off while it was written ends it.

    A log that is not there has no lines. One that somebody else has written ends where it says
    what is no number.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_text('{"step": 1, "loss": 2.5}\\n{"step": 2, "lo')
    ...     list(read_log(path))
    [{'step': 1, 'loss': 2.5}]
    """
    if not Path(path).is_file():
        return
    with Path(path).open("rb") as lines:
        for line in lines:
            try:
                content = json.loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):  # no JSON, or no UTF-8
                content = None
            if not _is_of_a_step(content):
                return
            yield content


def _is_of_a_step(content: object) -> TypeGuard[dict[str, Any]]:
    """Whether a line says which step it is of, and nothing but numbers."""
    if not isinstance(content, dict) or type(content.get("step")) is not int:
        return False
    return all(value is None or _is_number(value) for value in content.values())


def _is_number(value: object) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond every float
        return False


def as_line(report: StepReport) -> bytes:
    """Return what the log says of a step.

    >>> report = StepReport(
    ...     step=3, num_steps=9, epoch=1, loss=2.5, num_tokens=40, seconds=0.5,
    ...     learning_rate=0.001, gradient_norm=1.5,
    ... )
    >>> json.loads(as_line(report))["tokens_per_second"]
    80.0
    """
    content = {
        "step": report.step,
        "epoch": report.epoch,
        "loss": report.loss,
        "tokens": report.num_tokens,
        "tokens_per_second": round(report.tokens_per_second, 1),
        "learning_rate": report.learning_rate,
        "gradient_norm": report.gradient_norm,
        "validation_loss": report.validation_loss,
    }
    # JSON knows no infinity; a gradient may be infinite where a step is left out.
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in content.items()
    }
    return (json.dumps(finite) + "\n").encode()


class Log:
    """Writes the log, from where a checkpoint stands.

    Args:
        path: The file.
        step: Lines of later steps are cut off: these steps are about to be taken again.
    """

    def __init__(self, path: Path, *, step: int) -> None:
        """Keep the lines up to the step, and open the file to write more."""
        kept = [json.dumps(line) + "\n" for line in read_log(path) if line["step"] <= step]
        write_whole(path, "".join(kept).encode())
        self._file: BinaryIO = path.open("ab", buffering=0)

    def write(self, report: StepReport) -> None:
        """Write one line, whole."""
        self._file.write(as_line(report))

    def keep(self) -> None:
        """Wait until all lines are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
