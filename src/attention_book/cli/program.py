"""The command and its commands, and how it ends: with a documented code, never a traceback."""

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import shell_complete

from attention_book.cli.course import course
from attention_book.cli.data import data
from attention_book.cli.errors import DEBUG_VARIABLE, MEANINGS, ExitCode, Failure, failure_of
from attention_book.cli.evaluate import evaluate
from attention_book.cli.examine import examine
from attention_book.cli.export import export
from attention_book.cli.homework import assign, grade
from attention_book.cli.inspect import inspect
from attention_book.cli.terminal import (
    hush,
    in_columns,
    language_asked_for,
    note,
    prepare_streams,
    said,
    spoken,
    tell,
    visible,
)
from attention_book.cli.train import train
from attention_book.cli.translate import translate
from attention_book.cli.ui import BilingualGroup, option, speaking
from attention_book.cli.write import write
from attention_book.foundations.bilingual import Bilingual

_TEXT = Bilingual(
    """训练一个翻译模型，然后用它翻译、给它打分、看它的注意力。

    书里的 Transformer 大约一分钟就能训练好，语料是自带的，不用联网；
    也可以用自己的平行语料训练，什么语言都行。
    """,
    """Train a translation model; then translate with it, score it, look at its attention.

    The book's Transformer takes about a minute, on a corpus that comes with the package; no
    network is needed. Or train on parallel text of your own, in any two languages.
    """,
)
_EXAMPLES = (
    ("attention-book train", Bilingual("训练书里的 Transformer", "train the book's Transformer")),
    (
        'attention-book translate "the girl reads a book."',
        Bilingual("用它翻译", "translate with it"),
    ),
    (
        "attention-book train --train pairs.tsv --source it --target en",
        Bilingual("用自己的语料训练", "train on text of your own"),
    ),
)
_FIRST_STEPS = (
    (
        Bilingual("先训练（约一分钟，不用联网）", "Train first (a minute, no network)"),
        "attention-book train",
    ),
    (Bilingual("再翻译一句", "Translate"), 'attention-book translate "the girl reads a book."'),
    (Bilingual("看看译得有多好", "See how good it is"), "attention-book evaluate"),
    (
        Bilingual("换成自己的语料", "Train on your own text"),
        "attention-book train --train pairs.tsv --source it --target en",
    ),
    (
        Bilingual("全部用法（English: --lang en）", "All there is (中文: --lang zh)"),
        "attention-book --help",
    ),
)


class Program(BilingualGroup):
    """The command as a whole: it chooses the language, and turns errors into exit codes."""

    exit_codes = MEANINGS

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = "attention-book",
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; end the process with an exit code in standalone mode."""
        given = sys.argv[1:] if args is None else list(args)
        prepare_streams()
        code = self._run(given, prog_name, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, given: list[str], name: str | None, extra: dict[str, Any]) -> int:
        try:
            language, rest = language_asked_for(given)
        except ValueError as error:
            failure = Failure(ExitCode.WRONG_LINE, "--lang 后面只能写 zh 或 en。", str(error))
            return _told(failure)
        with speaking(language):
            try:
                complete(self, name or "attention-book")
                with self.make_context(name, rest, **extra) as context:
                    self.invoke(context)
                if sys.stdout is not None:  # it may have been closed
                    sys.stdout.flush()
            except click.exceptions.Exit as end:
                return end.exit_code
            except BaseException as error:  # KeyboardInterrupt too
                return _ended(error)
        return ExitCode.FINE

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples, and the exit codes."""
        super().format_epilog(ctx, formatter)
        with formatter.section(said("退出码", "Exit codes")):
            formatter.write_dl([(str(int(code)), spoken(MEANINGS[code])) for code in MEANINGS])


def complete(command: click.Command, name: str) -> None:
    """Answer a shell that asks how a line goes on, and end; otherwise do nothing."""
    variable = f"_{name.replace('-', '_').replace('.', '_')}_COMPLETE".upper()
    if instruction := os.environ.get(variable):
        sys.exit(shell_complete(command, {}, name, variable, instruction))


def _ended(error: BaseException) -> int:
    """Say in one line why the command ends, and return the exit code."""
    if isinstance(error, SystemExit | GeneratorExit):
        raise error
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        hush()
        return ExitCode.FINE
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    return _told(failure_of(error))


def _told(failure: Failure) -> int:
    text = Bilingual(visible(failure.text.zh), visible(failure.text.en))
    try:
        note(Bilingual(f"attention-book：{text.zh}", f"attention-book: {text.en}"))
    except OSError:  # nobody reads
        hush()
    return failure.code


@click.group(
    cls=Program,
    name="attention-book",
    text=_TEXT,
    examples=_EXAMPLES,
    invoke_without_command=True,
)
@option("--version", is_flag=True, help=Bilingual("显示版本号。", "Show the version."))
@click.pass_context
def program(context: click.Context, version: bool) -> None:
    """Train, translate, write, evaluate, inspect, examine, export, data, course."""
    if version:
        tell(f"attention-book {sys.modules['attention_book'].__version__}")
        context.exit()
    elif context.invoked_subcommand is None:
        rows = [(spoken(meaning), line) for meaning, line in _FIRST_STEPS]
        tell("\n".join(in_columns(rows)))


for _command in (train, translate, write, evaluate, inspect, examine, export, data, course):
    program.add_command(_command)
for _command in (assign, grade):
    course.add_command(_command)
