"""What is written to standard output and standard error: clean, wrapped, and in one language.

Nothing of what others wrote (a corpus, a file's name, a model's output) reaches a terminal raw:
a control character could move its cursor, rename its window or hide a line.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import click

from attention_book.foundations.bilingual import Bilingual, Language, chosen_language, of_the_two

#: The environment variable that chooses the language where the line does not.
VARIABLE = "ATTENTION_BOOK_LANG"
OPTION = "--lang"


def spoken(text: Bilingual | str) -> str:
    """Return a text in the language of this call; a string is the same in both."""
    return text if isinstance(text, str) else text.text(chosen_language() or "en")


def said(zh: str, en: str) -> str:
    """Return one of two texts: that in the language of this call."""
    return spoken(Bilingual(zh, en))


def language_asked_for(
    arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> tuple[Language, list[str]]:
    """Return the language that a command line chooses, and the line without the choice.

    It may stand anywhere before ``--``; of several the last counts. A variable of the
    environment that names another language is left alone: it may be meant for others.

    >>> language_asked_for(["train", "--lang", "zh", "--steps", "9"], {})
    ('zh', ['train', '--steps', '9'])
    >>> language_asked_for(["train"], {"ATTENTION_BOOK_LANG": "zh_CN.UTF-8"})
    ('zh', ['train'])
    """
    asked: str | None = None
    rest, words = [], list(arguments)
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
            break
        if name != OPTION or not (sign or word == OPTION):
            rest.append(word)
        else:
            asked = value if sign else (words.pop(0) if words else "")
    if asked is not None and of_the_two(asked) is None:
        raise ValueError(f"{OPTION}: expected en or zh, got {asked!r}")
    return of_the_two(asked) or of_the_two(environment.get(VARIABLE)) or "en", rest


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


# A line does not begin with one of these.
_CLINGING = frozenset("，。、；：？！）》」』”’…—%,.;:?!)]}")
# And does not end with one of these.
_OPENING = frozenset("（《「『“‘([{")
# What stays together: a Chinese character by itself, with the marks that cling to it; all else
# up to a blank or a Chinese character.
_CHINESE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_UNITS = re.compile(rf"\s+|[{_CHINESE}]|[^\s{_CHINESE}]+")
_FIRST_COLUMN = 30


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("ab"), columns("注意")
    (2, 4)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of one paragraph, each at most ``width`` columns wide where that can be.

    >>> wrapped("训练一个翻译模型，然后用它翻译。", 12)
    ['训练一个翻译', '模型，然后用', '它翻译。']
    >>> wrapped("a long line of words", 11)
    ['a long line', 'of words']
    """
    lines, line = [], ""
    for unit in _units(text):
        if line and columns(line + unit.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += unit if line else unit.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


def _units(text: str) -> list[str]:
    """Return what a line may be broken between."""
    units: list[str] = []
    for unit in _UNITS.findall(text):
        clings = unit[0] in _CLINGING or unit.isspace()
        opened = bool(units) and units[-1][-1] in _OPENING
        if (clings or opened) and units and not units[-1][-1].isspace():
            units[-1] += " " if unit.isspace() else unit
        else:
            units.append(unit)
    return units


def fitted(text: str, indent: str = "") -> list[str]:
    """Return the lines of one paragraph as a terminal of now has room for, at most 80 columns.

    >>> all(columns(line) <= 80 for line in fitted("a word " * 40, "  "))
    True
    """
    room = min(shutil.get_terminal_size().columns, 80)
    return [indent + line for line in wrapped(text, max(room - columns(indent), 20))]


def in_columns(rows: Iterable[Sequence[str]], gap: str = "  ") -> list[str]:
    """Return rows of cells as lines, each column as wide as its widest cell.

    >>> in_columns([("a", "b"), ("注意", "c")])
    ['a     b', '注意  c']
    """
    table = list(rows)
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    return [
        gap.join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    ]


class Page(click.HelpFormatter):
    """A page of help: paragraphs, and lists of two columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how the command is called."""
        start = said("用法：", "Usage: ")
        super().write_usage(prog, args, start if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        """Write the heading of a section."""
        self.write(f"{' ' * self.current_indent}{heading}{said('：', ':')}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; lines that begin with blanks stay as they are."""
        margin = " " * self.current_indent
        for number, paragraph in enumerate(text.strip("\n").split("\n\n")):
            self.write("\n" if number else "")
            kept = paragraph.startswith(" ")
            lines = paragraph.split("\n") if kept else wrapped(_joined(paragraph), self._room)
            self.write("".join(f"{margin}{line}\n" for line in lines))

    @property
    def _room(self) -> int:
        return max(self.width - self.current_indent, 20)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _FIRST_COLUMN, col_spacing: int = 2
    ) -> None:
        """Write a list of terms, each with its explanation beside it or below."""
        terms = list(rows)
        margin = " " * self.current_indent
        first = min(max(columns(term) for term, _ in terms), col_max) + col_spacing
        for term, text in terms:
            lines = wrapped(_joined(text), max(self._room - first, 20))
            if columns(term) > first - col_spacing and lines:
                self.write(f"{margin}{term}\n")
                term = ""
            for line in lines or [""]:
                blanks = " " * (first - columns(term))
                self.write(f"{margin}{term}{blanks}{line}".rstrip() + "\n")
                term = ""


def _joined(paragraph: str) -> str:
    """Return lines as one; between two Chinese characters there is no blank."""
    whole = " ".join(paragraph.split("\n"))
    return re.sub(rf"(?<=[{_CHINESE}]) +(?=[{_CHINESE}])|(?<=[，。；：、）]) +", "", whole)
