"""Commands and options of click whose help is written in two languages."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.language import OPTION, VARIABLE, spoken
from attention_book.runs.command.speech.pages import Page

Text = Bilingual | str

_LANGUAGE = Bilingual(
    f"用中文（zh）还是英文（en）。写在哪里都行；也可以设环境变量 {VARIABLE}。",
    f"Speak Chinese (zh) or English (en). May stand anywhere; or set {VARIABLE}.",
)
_HELP = Bilingual("显示这份帮助。", "Show this help.")
_OPTIONS = Bilingual("[选项]", "[OPTIONS]")
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
        rest: As :class:`click.Command` takes it.
    """

    context_class = PageContext

    def __init__(
        self,
        *args: Any,
        text: Text,
        examples: Iterable[tuple[str, Text]] = (),
        pairs: Collection[str] = (),
        **rest: Any,
    ) -> None:
        self.text, self.examples, self.pairs = text, tuple(examples), pairs
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
        return super().parse_args(ctx, spread(args, self.pairs))

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
            with formatter.section(spoken(Bilingual("参数", "Arguments"))):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples."""
        if self.examples:
            with formatter.section(spoken(Bilingual("例子", "Examples"))):
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


def spread(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a line in which each of two values behind an option has the option before it.

    >>> spread(["--train", "a.en", "a.it", "--steps", "9"], ["--train"])
    ['--train', 'a.en', '--train', 'a.it', '--steps', '9']
    """
    found: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        found.append(word)
        if word == "--":
            return [*found, *words]
        name, sign, _ = word.partition("=")
        if name not in names:
            continue
        if not sign and words:
            found.append(words.pop(0))
        if words and not words[0].startswith("-"):
            found += [name, words.pop(0)]
    return found


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


__all__ = [
    "BilingualArgument",
    "BilingualCommand",
    "BilingualGroup",
    "BilingualOption",
    "Text",
    "argument",
    "option",
    "spread",
]
