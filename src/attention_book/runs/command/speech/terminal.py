"""What is written to standard output and standard error: clean, and in one language.

Nothing of what others wrote (a corpus, a file's name, a model's output) reaches a terminal raw:
a control character could move its cursor, rename its window or hide a line.
"""

import os
import sys
import unicodedata

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.language import spoken

# These turn the direction of a line, and can make it read as another one.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKING = frozenset("\u2028\u2029")


def visible(text: str) -> str:
    """Return a text with its control characters spelled out, but for tabs.

    >>> visible("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb\\\\nc'
    """
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    hidden = unicodedata.category(letter) in ("Cc", "Cs") and letter != "\t"
    if hidden or letter in _TURNING or letter in _BREAKING:
        return letter.encode("unicode_escape").decode()
    return letter


def is_first() -> bool:
    """Whether this is the one of torchrun's processes that speaks; alone it is."""
    return os.environ.get("RANK", "0") == "0"


def tell(text: Bilingual | str = "") -> None:
    """Write lines to standard output; what is put into them must be visible."""
    if is_first():
        click.echo(spoken(text))


def note(text: Bilingual | str = "") -> None:
    """Write lines to standard error: progress, and what is no result."""
    if is_first():
        click.echo(spoken(text), err=True)


def answer(line: str) -> None:
    """Write one line of a result, whatever it is made of, to standard output, at once."""
    click.echo(visible(line))


def prepare_streams() -> None:
    """Have results written in UTF-8, as all files are, whatever the locale's encoding is.

    A pipe or a file gets data, which others read; a terminal is read by people, and messages too:
    what their encoding lacks is written as an escape.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and not stream.closed:
            if stream is sys.stdout and not stream.isatty():
                stream.reconfigure(encoding="utf-8")
            stream.reconfigure(errors="backslashreplace")


def hush() -> None:
    """Send what is still to be written nowhere: who read it has gone, as ``head`` does."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, AttributeError):  # without a file, or closed from the start
            continue


__all__ = ["answer", "hush", "is_first", "note", "prepare_streams", "tell", "visible"]
