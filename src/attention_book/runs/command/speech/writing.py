"""Results that are files: written whole or not at all, whenever the command is killed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attention_book.foundations.files import remove_parts, write_whole
from attention_book.runs.command.speech.failures import ExitCode, Failure, disk_full
from attention_book.runs.command.speech.reading import STANDARD_INPUT
from attention_book.runs.command.speech.reasons import in_chinese
from attention_book.runs.command.speech.terminal import visible


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file cannot be written, if it cannot."""
    try:
        yield
    except (OSError, ValueError) as error:
        name, reason = visible(os.fspath(path)), getattr(error, "strerror", None) or str(error)
        text = f"{name}: cannot be written: {visible(reason)}"
        code = ExitCode.MACHINE if disk_full(error) else ExitCode.WRONG_LINE
        raise Failure(code, in_chinese(text), text) from error


def write_result(path: str, content: str) -> None:
    """Write a file that a line asks for, in a folder that is there.

    The file that a link leads to is replaced; a pipe or a terminal is written to as it is. What
    a killed process left over of the same file is removed.

    Raises:
        Failure: if it cannot be written; what was there before is still there then.
    """
    if path == STANDARD_INPUT:
        raise Failure(
            ExitCode.WRONG_LINE,
            "-：这里要写一个文件的名字；标准输出留给结果。",
            "-: expected the name of a file; standard output is for the results",
        )
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
