"""``attention-book course``: one file of one's own, checked, run, or taken as of a step.

The commands for lecturers, ``assign`` and ``grade``, stand in ``cli.homework``.
"""

import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.files import write_result
from attention_book.cli.progress import bar_over
from attention_book.cli.terminal import note, said, spoken, tell, visible
from attention_book.cli.ui import (
    BilingualCommand,
    BilingualGroup,
    Number,
    Whole,
    argument,
    option,
)
from attention_book.conformance import Kernel, Report, Sequence, examine
from attention_book.course.own_file import STEPS, Grammar, changes, check_file, file_at
from attention_book.course.own_file.checking import FILE
from attention_book.course.own_file.core import Step
from attention_book.course.own_file.loading import load
from attention_book.foundations.bilingual import Bilingual, chosen_language

# The steps at which the file can train and translate, has a language model, and a cache.
_TRAINS, _WRITES, _CACHES = 14, 15, 16
# So many steps are timed before the training, on a copy.
_TIMED = 4
_SHOWN = 3


class _Counted(list[tuple[Tensor, Tensor]]):
    """Batches that show how far they have been gone through."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(bar_over(super().__iter__(), len(self), said("训练", "training")))


@click.group(
    cls=BilingualGroup,
    text=Bilingual(
        """课程：你自己的文件 my_attention.py，以及出作业、批作业。

        文件从第一章的三行开始，十六步长成一个 Transformer（书中各章的“你自己的文件”）：
        check 把它从第 1 步起检查一遍；run 用书里的语料训练它、翻译、再检验各条性质；
        step 写出某一步之后的文件。给教师的：assign 把一章的练习写成作业，grade 批改交上来的笔记本。
        """,
        """The course: your own file, my_attention.py; and homework, given and graded.

        The file begins with three lines in the first chapter, and grows in sixteen steps to a
        Transformer ("Your own file" in the chapters): check holds it to all steps so far; run
        trains it on the book's corpus, translates, and tests the laws of attention; step writes
        the file as it stands after a step. For lecturers, assign makes homework of a chapter's
        exercises, and grade marks the notebooks that come back.
        """,
    ),
    examples=(
        (
            "attention-book course check my_attention.py",
            Bilingual("检查到文件写到的那一步", "check it up to the step that it has reached"),
        ),
        (
            "attention-book course run my_attention.py",
            Bilingual("训练，翻译，检验性质（约一分钟）", "train, translate, test (a minute)"),
        ),
        (
            "attention-book course step 6 --out my_attention.py",
            Bilingual("取第 6 步之后的文件", "take the file as of step 6"),
        ),
        (
            "attention-book course assign masks scoring --out homework",
            Bilingual("把两章的练习写成作业", "make homework from two chapters"),
        ),
        (
            "attention-book course grade handed-in --out scores.csv",
            Bilingual("批改一个文件夹的笔记本", "grade a folder of notebooks"),
        ),
    ),
)
def course() -> None:
    """The commands of the course."""


_FILE = argument(
    "path",
    help=Bilingual(f"文件，默认是 {FILE}", f"the file; {FILE} without it"),
    metavar=Bilingual("[文件]", "[FILE]"),
    default=FILE,
)
_TIME_LIMIT = option(
    "--time-limit",
    help=Bilingual("检查最多用几秒。", "Give up on a check after so many seconds."),
    type=Number(min=1, max=86_400),
    default=60.0,
    show_default=True,
    metavar=Bilingual("秒", "SECONDS"),
)


@course.command(
    cls=BilingualCommand,
    text=Bilingual(
        "把你自己的文件从第 1 步起检查一遍。", "Check your own file, from its first step on."
    ),
)
@_FILE
@option(
    "--step",
    help=Bilingual(
        "检查到第几步；不写：文件写到的那一步。",
        "Check up to this step; without it, up to the one that the file has reached.",
    ),
    type=Whole(min=1, max=len(STEPS)),
    metavar=Bilingual("步", "STEP"),
)
@_TIME_LIMIT
def check(path: str, step: int | None, time_limit: float) -> None:
    """Check the reader's own file."""
    _check(path, step, time_limit)


@course.command(
    cls=BilingualCommand,
    text=Bilingual(
        "检查你自己的文件，用书里的语料训练它、翻译，再检验各条性质。",
        "Check your own file, train it on the book's corpus, translate, test its laws.",
    ),
)
@_FILE
@_TIME_LIMIT
def run(path: str, time_limit: float) -> None:
    """Check and run the reader's own file."""
    _run(path, time_limit)


@course.command(
    cls=BilingualCommand,
    text=Bilingual(
        "写出你自己的文件在某一步之后的样子，注释用你的语言。",
        "Write the file as it stands after a step, with comments in your language.",
    ),
)
@argument(
    "number",
    help=Bilingual(f"第几步，1 到 {len(STEPS)}", f"which step, from 1 to {len(STEPS)}"),
    metavar=Bilingual("步", "STEP"),
    required=False,
)
@option(
    "--changes",
    "only_changes",
    is_flag=True,
    help=Bilingual("只写这一步改了什么。", "Write only what the step changes, marked + and −."),
)
@option(
    "--out",
    help=Bilingual("写进这个文件，而不是屏幕。", "Write to this file, not to the screen."),
    metavar=Bilingual("文件", "FILE"),
)
@option(
    "--overwrite",
    is_flag=True,
    help=Bilingual("--out 的文件已经有了，也照写。", "Write --out even if the file is there."),
)
def step(number: str | None, only_changes: bool, out: str | None, overwrite: bool) -> None:
    """Write the file as of a step."""
    _write(_number(number), only_changes, out, overwrite)


def _check(path: str, step: int | None, limit: float) -> int:
    """Check a file, say what comes next, and return up to which step it was checked."""
    verdict = check_file(step, path, language=chosen_language() or "en", limit=limit)
    tell("\n".join(visible(line) for line in str(verdict).splitlines()))
    if not verdict:
        name = visible(Path(path).name)
        where = verdict.broken
        raise Failure(
            ExitCode.OWN_FILE,
            f"{name}：第 {where} 步还不对" if where else f"{name}：还读不了",
            f"{name}: step {where} does not hold yet" if where else f"{name}: cannot be run",
        )
    if verdict.step < len(STEPS):
        _announce(STEPS[verdict.step])
    return verdict.step


def _announce(step: Step) -> None:
    title, task = spoken(step.title), spoken(step.task)
    text = Bilingual(
        f"\n下一步，第 {step.number} 步，{title}：{task}",
        f"\nNext, step {step.number}, {title}: {task}",
    )
    note(text)


def _run(path: str, limit: float) -> None:
    reached = _check(path, None, limit)
    if reached < _TRAINS:
        raise Failure(
            ExitCode.OWN_FILE,
            f"到第 {_TRAINS} 步才能训练；文件写到了第 {reached} 步。",
            f"it can be trained from step {_TRAINS} on; the file has reached step {reached}",
        )
    my: Any = load(Path(path).read_text(encoding="utf-8-sig"))
    grammar = Grammar()
    torch.manual_seed(grammar.seed)
    model = my.Transformer(*grammar.sizes)
    batches = grammar.batches()
    began = time.perf_counter()
    my.train_model(copy.deepcopy(model), batches[:_TIMED])
    seconds = (time.perf_counter() - began) / _TIMED * len(batches)
    note(
        Bilingual(
            f"训练 {len(batches)} 步，大约要 {seconds:.0f} 秒",
            f"training for {len(batches)} steps takes about {seconds:.0f} seconds",
        )
    )
    began = time.perf_counter()
    losses = my.train_model(model, _Counted(batches))
    seconds, last = time.perf_counter() - began, sum(losses[-100:]) / 100
    tell(
        Bilingual(
            f"训练：{seconds:.0f} 秒，损失从 {losses[0]:.2f} 降到 {last:.3f}",
            f"trained in {seconds:.0f} seconds; the loss fell from {losses[0]:.2f} to {last:.3f}",
        )
    )
    model.eval()
    _translate(my, model, grammar)
    for report in _reports(my, reached):
        tell("\n" + "\n".join(visible(line) for line in str(report).splitlines()))
        if not report:
            raise Failure(
                ExitCode.OWN_FILE,
                f"{report.subject}：有性质不成立",
                f"{report.subject}: a law is broken",
            )


def _translate(my: Any, model: Any, grammar: Grammar) -> None:
    """Tell a few translations of sentences that the training has not seen, and the score of all."""
    written = grammar.translations(my.greedy_decode, model)
    for pair, words in list(zip(grammar.pairs["random"], written, strict=True))[:_SHOWN]:
        tell(f"  {' '.join(pair.source)}\n    {visible(' '.join(words))}")
    score = grammar.bleu(my.greedy_decode, model)
    tell(
        Bilingual(
            f"没见过的 {len(written)} 句：BLEU {score:.1f}",
            f"{len(written)} sentences that it has not seen: BLEU {score:.1f}",
        )
    )


def _reports(my: Any, reached: int) -> Iterator[Report]:
    """Hold the file's attention, and its language model, to the laws that any attention obeys."""
    yield examine(
        Kernel(
            lambda q, k, v, mask: my.qkv_attention(q, k, v, mask),
            halves=(),
            compiles=False,
            name="attend",
        )
    )
    if reached < _WRITES:
        return
    words = 12
    writer = my.Writer(words, d=16, heads=2, d_ff=32).eval()

    def read(ids: Tensor, state: dict[Any, Any]) -> tuple[Any, dict[Any, Any]]:
        cache = dict(state)
        return writer(ids, cache), cache

    cached = reached >= _CACHES
    yield examine(
        Sequence(
            lambda ids, real: writer(ids),
            vocabulary=words,
            causal=True,
            positions=True,
            module=writer,
            start=(lambda _: {}) if cached else None,
            step=read if cached else None,
            half=None,
            name="Writer",
        )
    )


def _number(subject: str | None) -> int:
    if subject is None or not subject.isascii() or not subject.isdigit() or len(subject) > 2:
        given = visible(subject or "")
        raise Failure(
            ExitCode.WRONG_LINE,
            f"step：后面要写第几步，1 到 {len(STEPS)}，写的是 {given!r}。",
            f"step: expected a number from 1 to {len(STEPS)}, got {given!r}",
        )
    number = int(subject)
    if not 1 <= number <= len(STEPS):
        raise Failure(
            ExitCode.WRONG_LINE,
            f"step：只有 1 到 {len(STEPS)} 步，没有第 {number} 步。",
            f"step: expected a number from 1 to {len(STEPS)}, got {number}",
        )
    return number


def _write(number: int, only_changes: bool, out: str | None, overwrite: bool) -> None:
    """Write the file as of a step, or what the step changes; never over a file unasked."""
    language = chosen_language() or "en"
    text = changes(number, language) + "\n" if only_changes else file_at(number, language)
    if out is None:
        tell(text.rstrip("\n"))
        return
    name = visible(out)
    if not overwrite and _is_there(out):
        raise Failure(
            ExitCode.WRONG_LINE,
            f"{name}：已经有这个文件，没有动它；要覆盖就加上 --overwrite。",
            f"{name}: it is there already and was left alone; --overwrite replaces it",
        )
    write_result(out, text)
    note(
        Bilingual(
            f"{name}：第 {number} 步之后的文件",
            f"{name}: the file as it stands after step {number}",
        )
    )


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # whoever writes it will say why it can't be
        return False
