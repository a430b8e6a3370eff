"""Lines of a file or of standard input, one at a time, in UTF-8 or refused."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.terminal import visible
from attention_book.text.tokens import without_halves

# A longer line is no sentence, but a file of something else; it is not read into memory.
_LONGEST = 1 << 20


def lines_of(path: str | None) -> Iterator[str]:
    """Return the lines of a file, or of standard input, one after the other.

    Raises:
        Failure: if the file cannot be read, or a line is not UTF-8 or far too long.
    """
    name = visible(path) if path is not None else "standard input"
    try:
        if path is not None:
            with Path(path).open("rb") as file:
                yield from decoded(_short(file.readline, name), name)
        elif sys.stdin is not None:  # it may have been closed
            yield from decoded(_short(sys.stdin.buffer.readline, name), name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(
            ExitCode.DATA, f"{name} 读不了：{reason}", f"{name}: cannot be read: {reason}"
        ) from error


def _short(readline: Callable[[int], bytes], name: str) -> Iterator[bytes]:
    """Return the lines of a file, none of which is too long to be held."""
    number = 0
    while line := readline(_LONGEST + 1):
        number += 1
        if len(line) > _LONGEST:
            raise Failure(
                ExitCode.DATA,
                f"{name}:{number}: 一行超过了 {_LONGEST} 个字节，不是句子",
                f"{name}:{number}: expected a line of at most {_LONGEST} bytes, got more",
            )
        yield line


def at_keyboard() -> bool:
    """Whether standard input is a terminal, where somebody waits for each line's answer."""
    return sys.stdin is not None and sys.stdin.isatty()


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
    return " ".join(without_halves(text).split())


__all__ = ["at_keyboard", "clean", "decoded", "lines_of"]
