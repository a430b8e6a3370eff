"""Exit codes that scripts can rely on, and what went wrong in one line of two languages."""

import codecs
import errno
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import click
import torch

from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import visible
from attention_book.foundations.bilingual import Bilingual
from attention_book.models import PretrainedError
from attention_book.runs.corpus import BadLines
from attention_book.runs.folder import MachineError, RunError
from attention_book.text import CorpusError
from attention_book.training import CheckpointError

_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
# A byte with its highest bit set, and more of them.
_HIGH = re.compile(rb"[\x80-\xff]+")


def likely_encoding(sample: bytes) -> str:
    """Return the encoding, by the name that ``iconv`` and Python know, that a text is likely in.

    It is a guess from a line: null bytes are those of UTF-16; in Chinese, high bytes come in
    pairs; in an alphabet of its own, most letters are high bytes; else they are accents.

    >>> [likely_encoding("注意力是什么？".encode(name)) for name in ("gb18030", "utf-16")]
    ['GB18030', 'UTF-16']
    >>> likely_encoding("L'été à Paris".encode("latin-1")), likely_encoding("мир".encode("cp1251"))
    ('WINDOWS-1252', 'WINDOWS-1251')
    """
    if mark := next((mark for mark in _MARKS if sample.startswith(mark)), None):
        return _MARKS[mark]
    if nulls := sample.count(0):
        return "UTF-16LE" if sample[1::2].count(0) * 2 >= nulls else "UTF-16BE"
    runs = _HIGH.findall(sample)
    if runs and all(len(run) % 2 == 0 for run in runs):
        return "GB18030"
    letters = sum(map(len, runs))
    return "WINDOWS-1251" if letters * 2 > len(sample) else "WINDOWS-1252"


def how_to_convert(sample: bytes, path: str) -> Bilingual:
    """Return what to do about a file that is not UTF-8, as far as a line of it tells.

    >>> how_to_convert(b"caf\\xe9", "a.txt").en
    'it may be WINDOWS-1252: iconv -f WINDOWS-1252 -t UTF-8 a.txt > utf-8.txt'
    """
    name = likely_encoding(sample)
    line = f"iconv -f {name} -t UTF-8 {shlex.quote(path)} > utf-8.txt"
    return Bilingual(f"可能是 {name}，转换：{line}", f"it may be {name}: {line}")


#: With this variable set to 1, an unexpected error shows where it came from.
DEBUG_VARIABLE = "ATTENTION_BOOK_DEBUG"


# So much of a reason is read, and so much told.
_READ, _LONGEST = 100_000, 500


class ExitCode(IntEnum):
    """What the command returns to a shell."""

    FINE = 0
    UNEXPECTED = 1
    WRONG_LINE = 2
    DATA = 3
    RUN = 4
    MACHINE = 5
    OWN_FILE = 6
    INTERRUPTED = 130


#: What each of them means.
MEANINGS: dict[ExitCode, Bilingual] = {
    ExitCode.FINE: Bilingual("一切正常", "all is well"),
    ExitCode.UNEXPECTED: Bilingual("出了意料之外的错", "something unexpected went wrong"),
    ExitCode.WRONG_LINE: Bilingual(
        "命令行或设置写错了", "the command line or the settings are wrong"
    ),
    ExitCode.DATA: Bilingual("数据读不了", "data cannot be read"),
    ExitCode.RUN: Bilingual("训练结果或检查点用不了", "a run or a checkpoint cannot be used"),
    ExitCode.MACHINE: Bilingual(
        "机器上缺东西（GPU、可选依赖、磁盘空间）",
        "the machine lacks something (a GPU, an extra, room on the disk)",
    ),
    ExitCode.OWN_FILE: Bilingual("自己的文件还不对", "the file of your own does not hold yet"),
    ExitCode.INTERRUPTED: Bilingual("被 Ctrl-C 打断", "interrupted (Ctrl-C)"),
}


class Failure(Exception):
    """What stops the command: an exit code, and a line that says why.

    Args:
        code: Tells a script what kind of failure it is.
        zh: The line in Chinese.
        en: The line in English.
    """

    def __init__(self, code: ExitCode, zh: str, en: str) -> None:
        super().__init__(en)
        self.code, self.text = code, Bilingual(zh, en)


def failure_of(error: BaseException) -> Failure:
    """Return what an error means to the one who typed the command."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.ClickException):
        return _failure_of_click(error)
    if isinstance(error, BadLines):
        return failure_of_lines(error)
    if _no_memory(error):
        return Failure(ExitCode.MACHINE, "内存不够。", "memory: expected enough, got too little")
    code, reason = _code_of(error), _reason(error)
    if code is ExitCode.UNEXPECTED:
        name = type(error).__name__
        return Failure(
            code,
            f"出了意料之外的错：{name}：{in_chinese(reason)}"
            f"（设 {DEBUG_VARIABLE}=1 再运行，可以看到出处）",
            f"something unexpected went wrong: {name}: {reason} "
            f"(run again with {DEBUG_VARIABLE}=1 to see where)",
        )
    if code is ExitCode.INTERRUPTED:
        return Failure(code, "已中断。", "interrupted.")
    return Failure(code, in_chinese(reason), reason)


def failure_of_lines(error: BadLines, *, may_skip: bool = False) -> Failure:
    """Return what is said of lines that are no pairs of sentences, and what to do about them.

    Args:
        error: Names the lines.
        may_skip: Whether the command takes settings, one of which leaves them out.
    """
    files = " ".join(map(shlex.quote, error.paths))
    look = f"attention-book data {files} --source {error.source} --target {error.target}"
    zh = [f"逐行查看：{look}"]
    en = [f"See them all: {look}"]
    if may_skip:
        zh.append("略过这些行：加上 --set data.on_problem=skip")
        en.append("leave them out: --set data.on_problem=skip")
    if cure := _conversion(error):
        zh.append(cure.zh)
        en.append(cure.en)
    reasons = [in_chinese(visible(reason)) for reason in error.named]
    several = f"（共 {error.found.count} 行不是一对句子）" if error.found.count > 1 else ""
    return Failure(
        ExitCode.DATA,
        f"{'；'.join(reasons)}{several}。{'；'.join(zh)}",
        f"{visible(str(error))}. {'; '.join(en)}",
    )


def _conversion(error: BadLines) -> Bilingual | None:
    """Return how to convert a file that is not UTF-8; None where that is not what is wrong."""
    if "expected UTF-8" not in error.named[0]:
        return None
    path = next((each for each in error.paths if error.named[0].startswith(f"{each}:")), None)
    if path is None or path.endswith(".gz"):
        return None
    with open(path, "rb") as file:
        for line in file:
            try:
                bad = "\0" in line.decode()
            except UnicodeDecodeError:
                bad = True
            if bad:
                return how_to_convert(line, path)
    return None


def _reason(error: BaseException) -> str:
    """Return what an error says, in one line that is not too long; it may quote anything."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror:  # without its number
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        said = f"{name}{error.strerror}"
    text = " ".join(said[:_READ].split()) or type(error).__name__
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def _failure_of_click(error: click.ClickException) -> Failure:
    """Return click's own message, in the language that is spoken; it knows no other."""
    line = _reason(Exception(error.format_message()))
    context = getattr(error, "ctx", None)
    help_line = f"{context.command_path if context else 'attention-book'} --help"
    code = ExitCode.WRONG_LINE
    return Failure(code, f"{line} 用法见 {help_line}", f"{line} See {help_line}")


def _code_of(error: BaseException) -> ExitCode:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return ExitCode.INTERRUPTED
    if isinstance(error, CorpusError):
        return ExitCode.DATA
    if isinstance(error, CheckpointError | RunError | PretrainedError):
        return ExitCode.RUN
    missing = isinstance(error, ImportError) and "attention-book[" in str(error)
    if missing or isinstance(error, MachineError) or disk_full(error):
        return ExitCode.MACHINE
    return ExitCode.UNEXPECTED


def _no_memory(error: BaseException) -> bool:
    """Whether there is too little memory; on the CPU torch has no error of its own for that."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    named = ("DefaultCPUAllocator", "Storage size calculation overflowed")
    return isinstance(error, RuntimeError) and any(name in str(error) for name in named)


def disk_full(error: BaseException) -> bool:
    """Whether an error says that there is no room to write."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def wrong_settings(
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError, RecursionError),
) -> Iterator[None]:
    """Take what is refused in this block, by errors of these kinds, for wrong settings."""
    try:
        yield
    except (CorpusError, CheckpointError, RunError, PretrainedError):
        raise
    except kinds as error:
        reason = visible(_reason(error))
        raise Failure(ExitCode.WRONG_LINE, in_chinese(reason), reason) from error
