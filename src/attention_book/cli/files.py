"""Lines of a file or of standard input, one at a time, in UTF-8; and results that are files.

The name ``-`` stands for standard input, as everywhere. What is no line of text is told; a result
is written whole or not at all, whenever the command is killed.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attention_book.cli.errors import ExitCode, Failure, disk_full, how_to_convert
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import spoken, visible
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.files import remove_parts, write_whole
from attention_book.text import CorpusError
from attention_book.text.tokens import without_halves

#: What stands for standard input where a file may be named.
STANDARD_INPUT = "-"
# A longer line is no sentence, but a file of something else; it is not read into memory.
_LONGEST = 1 << 20
# And after so many bytes without an end it is no file of lines at all.
_ENDLESS = 1 << 28
_NAME = Bilingual("标准输入", "standard input")


def lines_of(path: str | None) -> Iterator[str]:
    """Return the lines of a file, or of standard input, one after the other."""
    for line in lines_or_failures(path):
        if isinstance(line, Failure):
            raise line
        yield line


def lines_or_failures(path: str | None) -> Iterator[str | Failure]:
    """Return the lines of a file, and in the place of one that is no text what is wrong with it.

    Args:
        path: The file; None or ``-``: standard input.
    """
    named = path is not None and path != STANDARD_INPUT
    name = Bilingual(visible(path), visible(path)) if path is not None and named else _NAME
    try:
        if path is not None and named:
            with Path(path).open("rb") as file:
                yield from decoded(_short(file.readline, name), name)
        elif sys.stdin is not None:  # it may have been closed
            yield from decoded(_short(sys.stdin.buffer.readline, name), name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        failure = f"{name.en}: cannot be read: {reason}"
        raise Failure(
            ExitCode.DATA, in_chinese(f"{name.zh}: cannot be read: {reason}"), failure
        ) from error


def _short(readline: Callable[[int], bytes], name: Bilingual) -> Iterator[bytes | Failure]:
    """Return the lines of a file; of one that is too long to be held, that it is."""
    number = 0
    while line := readline(_LONGEST + 1):
        number += 1
        if len(line) <= _LONGEST:
            yield line
            continue
        failure = Failure(
            ExitCode.DATA,
            f"{name.zh}:{number}：一行超过了 {_LONGEST} 个字节，不是句子",
            f"{name.en}:{number}: expected a line of at most {_LONGEST} bytes, got more",
        )
        yield failure
        seen = len(line)
        while line and not line.endswith(b"\n"):
            line = readline(_LONGEST + 1)
            seen += len(line)
            if seen > _ENDLESS:
                raise failure


def at_keyboard() -> bool:
    """Whether standard input is a terminal, where somebody waits for each line's answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def decoded(lines: Iterable[bytes | Failure], name: Bilingual) -> Iterator[str | Failure]:
    """Return lines as text, without their ends; of one that is not UTF-8, that it is not."""
    cure: Bilingual | None = None  # the first line of UTF-16 says so, the others are cut askew
    for number, line in enumerate(lines, start=1):
        if isinstance(line, Failure):
            yield line
            continue
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte, place = line[error.start], error.start + 1
            cure = cure or how_to_convert(line, name.en)
            yield Failure(
                ExitCode.DATA,
                f"{name.zh}:{number}：不是 UTF-8：第 {place} 个字节是 0x{byte:02x}；{cure.zh}",
                f"{name.en}:{number}: expected UTF-8, got the byte 0x{byte:02x} at byte {place}; "
                f"{cure.en}",
            )


def clean(text: str) -> str:
    """Return an argument of the line without what is no character, and as one line."""
    return " ".join(without_halves(text).split())


def text_of(path: str) -> str:
    """Return the whole text of a file, or of standard input."""
    return "\n".join(lines_of(path))


def once_only(named: dict[str, Sequence[str] | str | None]) -> None:
    """Check that standard input is asked for once: what was read from it is gone.

    Args:
        named: The files that a line names, by the options that name them.
    """
    asked = [
        name
        for name, paths in named.items()
        for path in ([paths] if isinstance(paths, str) else paths or ())
        if path == STANDARD_INPUT
    ]
    if len(asked) > 1:
        names = asked if len(set(asked)) > 1 else asked[:1]
        raise Failure(
            ExitCode.WRONG_LINE,
            f"{'、'.join(names)}：标准输入（-）只能读一次，请把其余的写进文件。",
            f"{', '.join(names)}: expected standard input (-) once, for it can be read once only; "
            "write the others to files",
        )


@contextmanager
def kept(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give standard input a file while this block lasts: corpora are read several times."""
    if STANDARD_INPUT not in paths:
        yield tuple(paths)
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / spoken(_NAME)
        file.write_bytes(sys.stdin.buffer.read() if sys.stdin is not None else b"")
        try:
            yield tuple(str(file) if path == STANDARD_INPUT else path for path in paths)
        except CorpusError as error:
            raise type(error)(str(error).replace(f"{folder}{Path('/')}", "")) from error


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
