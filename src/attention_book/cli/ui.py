"""Commands and options of click whose help, and whose errors, are written in two languages."""

import gettext
import inspect
import itertools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.terminal import OPTION, VARIABLE, Page, said, spoken, visible
from attention_book.foundations.bilingual import Bilingual, Language, chosen_language, set_language

Text = Bilingual | str

_LANGUAGE = Bilingual(
    f"用中文（zh）还是英文（en）。写在哪里都行；也可以设环境变量 {VARIABLE}。",
    f"Speak Chinese (zh) or English (en). May stand anywhere; or set {VARIABLE}.",
)
_HELP = Bilingual("显示这份帮助。", "Show this help.")
_OPTIONS = Bilingual("[选项]", "[OPTIONS]")
# On a line with more of them two at least are said too often.
_MOST_UNSURE = 8
_COMMAND = Bilingual("命令 [参数]…", "COMMAND [ARGS]...")


class PageContext(click.Context):
    """A context whose help is a :class:`Page`."""

    formatter_class = Page


class BilingualOption(click.Option):
    """An option with a help, and a name for its value, in two languages."""

    def __init__(
        self, decls: Iterable[str], *, help: Text, metavar: Text | None = None, **rest: Any
    ) -> None:
        self.texts, self.value_name = help, metavar
        super().__init__(list(decls), help="", **rest)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return what the list of options says, in the language of now."""
        self.help = spoken(self.texts)
        return super().get_help_record(ctx)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the default; the range of a number is said where it is left."""
        extra: Any = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the name of the value."""
        return super().make_metavar(ctx) if self.value_name is None else spoken(self.value_name)


class BilingualArgument(click.Argument):
    """An argument with a name and a help in two languages."""

    def __init__(self, decls: Iterable[str], *, help: Text, metavar: Text, **rest: Any) -> None:
        self.texts, self.value_name = help, metavar
        super().__init__(list(decls), **rest)

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the argument's name."""
        return spoken(self.value_name)


class BilingualCommand(click.Command):
    """A command whose whole help is written in two languages.

    Args:
        text: What it does: a line, and then paragraphs.
        examples: Lines to type, each with what it does.
        pairs: The options that take one value or two.
        several: The options that take any number of values, where there are no operands.
        rest: As :class:`click.Command` takes it.
    """

    context_class = PageContext

    def __init__(
        self,
        *args: Any,
        text: Text,
        examples: Iterable[tuple[str, Text]] = (),
        pairs: Collection[str] = (),
        several: Collection[str] = (),
        **rest: Any,
    ) -> None:
        self.text, self.examples, self.pairs = text, tuple(examples), pairs
        self.several = several
        super().__init__(*args, **rest)
        self.params = [
            *self.params,
            BilingualOption(
                [OPTION],
                help=_LANGUAGE,
                type=click.Choice(["en", "zh"]),
                metavar="[en|zh]",
                expose_value=False,
            ),
            BilingualOption(
                ["--help", "-h"],
                help=_HELP,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_help,
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the line."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        valued = {name for each in options if not each.is_flag for name in each.opts}
        operands = any(isinstance(each, click.Argument) for each in self.params)
        return super().parse_args(
            ctx,
            spread(
                args,
                [*self.pairs, *self.several],
                valued=valued,
                operands=operands and bool(self.pairs),
                several=self.several,
            ),
        )

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Return no name: the option for the help is one of our own."""
        return []

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first line of the text."""
        return inspect.cleandoc(spoken(self.text)).partition("\n")[0]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page of help."""
        self.options_metavar = spoken(_OPTIONS)
        super().format_help(ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(inspect.cleandoc(spoken(self.text)))

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the arguments."""
        rows = [
            (spoken(each.value_name), spoken(each.texts))
            for each in self.get_params(ctx)
            if isinstance(each, BilingualArgument)
        ]
        if rows:
            with formatter.section(said("参数", "Arguments")):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples."""
        if self.examples:
            with formatter.section(said("例子", "Examples")):
                margin = " " * formatter.current_indent
                for line, meaning in self.examples:
                    formatter.write(f"{margin}{line}\n{margin}    {spoken(meaning)}\n")


class BilingualGroup(BilingualCommand, click.Group):
    """A command with commands, listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page of help."""
        self.subcommand_metavar = spoken(_COMMAND)
        super().format_help(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands first, then the options."""
        self.format_commands(ctx, formatter)
        BilingualCommand.format_options(self, ctx, formatter)


def option(*decls: str, help: Text, **rest: Any) -> Callable[[Any], Any]:
    """Add an option to a command, as :func:`click.option` does."""
    return click.option(*decls, cls=BilingualOption, help=help, **rest)


def argument(name: str, *, help: Text, **rest: Any) -> Callable[[Any], Any]:
    """Add an argument to a command, as :func:`click.argument` does."""
    return click.argument(name, cls=BilingualArgument, help=help, **rest)


def spread(
    arguments: Sequence[str],
    names: Collection[str],
    *,
    valued: Collection[str] = (),
    operands: bool = False,
    several: Collection[str] = (),
) -> list[str]:
    """Return a line in which each of two values behind an option has the option before it.

    Where the command has operands of its own, one or two files too, a word behind an option may be
    the option's second value or an operand. It is taken for what it can be alone: there is an
    operand at least, there are two at most, and they stand together.

    Args:
        arguments: The line.
        names: The options that take one value or two.
        valued: All options that take values.
        operands: Whether the command has operands.
        several: Those of the options that take more than two.

    >>> spread(["--train", "a.en", "a.it", "--steps", "9"], ["--train"])
    ['--train', 'a.en', '--train', 'a.it', '--steps', '9']
    >>> spread(["--test", "t.tsv", "mine.tsv"], ["--test"], operands=True)
    ['--test', 't.tsv', 'mine.tsv']
    """
    runs = list(_runs(arguments, names, valued))
    taken = _taken(runs) if operands else {}
    found: list[str] = []
    for place, run in enumerate(runs):
        most = len(run.words) if run.name in several else 2
        count = taken.get(place, most) if run.name else 0
        found += run.before
        for number, word in enumerate(run.words):
            found += [run.name, word] if number < count else [word]
    return found


def _taken(runs: "Sequence[_Run]") -> dict[int, int]:
    """Return how many of the words behind each option are its own, where that is in doubt."""
    unsure = [place for place, run in enumerate(runs) if run.name and len(run.words) > 1]
    ways = [
        dict(zip(unsure, taken, strict=True))
        for taken in itertools.product((2, 1), repeat=min(len(unsure), _MOST_UNSURE))
        if len(unsure) <= _MOST_UNSURE
    ]
    possible = [way for way in ways if _can_be(runs, way)]
    if len(possible) > 1:
        raise _ambiguous(runs[unsure[0]])
    return possible[0] if possible else {}


@dataclass(frozen=True)
class _Run:
    """An option, or none, and the words behind it that are no options.

    Attributes:
        before: The option as it stands there; nothing where its name has to be put before.
        name: Name of an option that takes one value or two; empty: what follows are operands.
        words: Its values, and operands.
    """

    before: tuple[str, ...]
    name: str
    words: tuple[str, ...]


def _runs(
    arguments: Sequence[str], names: Collection[str], valued: Collection[str]
) -> Iterator[_Run]:
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            yield _Run((word,), "", tuple(words))
            return
        name, sign, value = word.partition("=")
        before: tuple[str, ...] = ()
        found: list[str] = []
        if name in names:
            found = [value] if sign else []
            if not sign and words:  # whatever it is, it is the option's
                found.append(words.pop(0))
            if not found:
                before = (word,)
        elif _is_option(word):
            before = (word, words.pop(0)) if word in valued and words else (word,)
            name = ""
        else:
            name, found = "", [word]
        while words and not _is_option(words[0]) and (name or not before):
            found.append(words.pop(0))
        yield _Run(before, name if found else "", tuple(found))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _can_be(runs: Sequence[_Run], taken: Mapping[int, int]) -> bool:
    """Whether a line leaves one or two operands, side by side, and no option more than two."""
    groups: list[int] = []
    values: Counter[str] = Counter()
    for place, run in enumerate(runs):
        count = min(taken.get(place, 1), len(run.words)) if run.name else 0
        values[run.name] += count
        if rest := len(run.words) - count:
            groups.append(rest)
    several = any(number > 2 for name, number in values.items() if name)
    return len(groups) == 1 and groups[0] <= 2 and not several


def _ambiguous(run: _Run) -> Failure:
    words = " ".join(map(visible, run.words))
    first, second = (visible(word) for word in run.words[:2])
    return Failure(
        ExitCode.WRONG_LINE,
        f"{run.name}：{words} 可以有两种读法。请把要看的文件写在最前面，"
        f"{run.name} 的写在后面（{run.name} {first} 或 {run.name} {first} {second}）。",
        f"{run.name}: expected to see which files are whose, got {words}; write the files to look "
        f"at first, and then {run.name} {first} or {run.name} {first} {second}",
    )


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


class Whole(click.IntRange):
    """A whole number from ``min`` on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or complain."""
        self.name = said("整数", "whole number")
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A finite number from ``min`` on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or complain."""
        self.name = said("数", "number")
        number = super().convert(value, param, ctx)
        if number != number or number in (float("inf"), float("-inf")):
            text = Bilingual(f"{value!r} 不是有限的数。", f"{value!r} is not a finite number.")
            self.fail(spoken(text), param, ctx)
        return number


#: How many of something: one at least, and no more than there can be.
COUNT = Whole(min=1, max=1_000_000_000)


# Click's own texts in Chinese; gettext reads the messages.mo beside this messages.po.
_CATALOGS = Path(__file__).parent / "locale"


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Speak one language in this block: what is written in two, and click, which asks gettext."""
    language_before, asked_before = chosen_language(), os.environ.get("LANGUAGE")
    domain = gettext.textdomain()
    folder = gettext.bindtextdomain(domain)
    set_language(language)
    gettext.bindtextdomain(domain, str(_CATALOGS))
    os.environ["LANGUAGE"] = language
    try:
        yield
    finally:
        set_language(language_before)
        gettext.bindtextdomain(domain, folder)
        if asked_before is None:
            del os.environ["LANGUAGE"]
        else:
            os.environ["LANGUAGE"] = asked_before
