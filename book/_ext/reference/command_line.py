"""The directive {api-command}: a command of the command line, as its own help explains it.

``{api-command} package.module:program train`` takes the texts, the options and the examples of
a command of click's from the program itself, each in both languages, so that the page cannot
say anything else than ``--help``. Without the second name it is the program as a whole. The
program is imported when the page is read, as autodoc does with what it documents.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

from docutils import nodes

from reference.directives import ApiDirective, cell

# What a reader would type: an option, a path, a name with a hyphen or a dot between words.
_TYPED = re.compile(
    r"(?<![\w`-])(--[\w-]+|attention-book \w+|\w+/(?![\w])|[^\W\d]\w*(?:\.\w+)+=?\w*)"
)

#: The style of what no line may break: a hyphen of an option is part of its name.
WHOLE = "{.whole-words}"


class ApiCommand(ApiDirective):
    """Document one command, or the program with its exit codes."""

    optional_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        found = import_module(module)
        for file in Path(str(found.__file__)).parent.rglob("*.py"):
            self.env.note_dependency(str(file))
        program = getattr(found, name)
        command = program.commands[self.arguments[1]] if len(self.arguments) > 1 else program
        return self.parse([*written(command)])


def written(command: Any) -> Iterator[str]:
    """Yield the lines of MyST that document a command."""
    yield from in_both(command.text)
    yield from arguments_of(command)
    if getattr(command, "exit_codes", None):
        yield from exit_codes_of(command)
    yield "```bash"
    yield from (line for line, _ in command.examples)
    yield "```"
    yield ""


def in_both(text: Any) -> Iterator[str]:
    """Yield a text's paragraphs, once for each language."""
    for language in ("zh", "en"):
        yield f":::{{{language}}}"
        yield from as_code(cleandoc(getattr(text, language))).split("\n")
        yield ":::"
    yield ""


def arguments_of(command: Any) -> Iterator[str]:
    """Yield the table of arguments and options."""
    yield "| {zh}`写法` {en}`What to type` | {zh}`含义` {en}`What it means` |"
    yield "|---|---|"
    for each in command.params:
        metavar = each.value_name
        value = getattr(metavar, "en", metavar) or ""
        typed = ", ".join(each.opts) if each.opts[0].startswith("-") else ""
        default = each.default if isinstance(each.default, (str, int, float)) else None
        typed = f"`{cell(f'{typed} {value}'.strip())}`{WHOLE}"
        yield f"| {typed} | {texts(each.texts, default, each)} |"
    yield ""


def texts(text: Any, default: object, parameter: Any) -> str:
    """Return a help in both languages, with the default where the help shows it."""
    shown = getattr(parameter, "show_default", None) and default is not None
    ends = (f"（默认 {default}）", f" (default: {default})") if shown else ("", "")
    zh, en = as_code(text.zh + ends[0]), as_code(text.en + ends[1])
    return f"{{zh}}``{_apart(cell(zh))} `` {{en}}``{_apart(cell(en))} ``"


def exit_codes_of(program: Any) -> Iterator[str]:
    """Yield the table of exit codes."""
    yield "| {zh}`退出码` {en}`Exit code` | {zh}`含义` {en}`What it means` |"
    yield "|---|---|"
    for code, meaning in program.exit_codes.items():
        yield f"| {int(code)} | {{zh}}``{cell(meaning.zh)}`` {{en}}``{cell(meaning.en)}`` |"
    yield ""


def _apart(text: str) -> str:
    """Return the text, kept apart from the role's own marks where it begins with code."""
    return f" {text}" if text.startswith("`") else text


def as_code(text: str) -> str:
    """Return a text with what a reader would type in code.

    >>> as_code("Go on with --resume.")
    'Go on with `--resume`{.whole-words}.'
    """
    return _TYPED.sub(rf"`\1`{WHOLE}", text)
