"""Lines of a file or of standard input, one at a time, in UTF-8 or refused."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.terminal import visible


def lines_of(path: str | None) -> Iterator[str]:
    """Return the lines of a file, or of standard input, one after the other.

    Raises:
        Failure: if the file cannot be read, or a line is not UTF-8.
    """
    name = visible(path) if path is not None else "standard input"
    try:
        if path is None:
            yield from decoded(sys.stdin.buffer, name)
        else:
            with Path(path).open("rb") as file:
                yield from decoded(file, name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(
            ExitCode.DATA, f"{name} 读不了：{reason}", f"{name}: cannot be read: {reason}"
        ) from error


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Return lines as text, without their ends.

    Raises:
        Failure: if one is not UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte, place = line[error.start], error.start + 1
            raise Failure(
                ExitCode.DATA,
                f"{name}:{number}: 不是 UTF-8：第 {place} 个字节是 0x{byte:02x}",
                f"{name}:{number}: expected UTF-8, got the byte 0x{byte:02x} at byte {place}",
            ) from error


def clean(text: str) -> str:
    """Return an argument of the line without what is no character, and as one line."""
    return " ".join(re.sub("[\ud800-\udfff]", "\ufffd", text).split())


__all__ = ["clean", "decoded", "lines_of"]
