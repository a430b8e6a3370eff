"""Results that are files: written whole or not at all, whenever the command is killed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attention_book.foundations.files import remove_parts, write_whole
from attention_book.runs.command.speech.failures import ExitCode, Failure, disk_full
from attention_book.runs.command.speech.terminal import visible


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file cannot be written, if it cannot."""
    try:
        yield
    except (OSError, ValueError) as error:
        if disk_full(error):
            raise
        name, reason = visible(os.fspath(path)), getattr(error, "strerror", None) or str(error)
        raise Failure(
            ExitCode.WRONG_LINE,
            f"{name} 写不了：{visible(reason)}",
            f"{name}: cannot be written: {visible(reason)}",
        ) from error


def write_result(path: str, content: str) -> None:
    """Write a file that a line asks for, in a folder that is there.

    The file that a link leads to is replaced; a pipe or a terminal is written to as it is. What
    a killed process left over of the same file is removed.

    Raises:
        Failure: if it cannot be written; what was there before is still there then.
    """
    with writing(path):
        place = Path(path)
        if place.exists() and not place.is_file():
            place.write_text(content, encoding="utf-8")
            return
        whole = Path(os.path.realpath(path))
        if not whole.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        remove_parts(whole.parent, whole.name)
        write_whole(whole, content.encode())


__all__ = ["write_result", "writing"]
