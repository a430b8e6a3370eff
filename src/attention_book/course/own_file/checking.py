"""`check_file`: a reader's own file, held to all steps so far."""

import contextlib
import difflib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from attention_book.course.exercises.verdict import checked
from attention_book.course.own_file.core import Trouble
from attention_book.course.own_file.examining import (
    definitions,
    later_edit,
    missing,
    partly,
    tested,
)
from attention_book.course.own_file.hints import HINTS
from attention_book.course.own_file.loading import CERTAIN, Unreadable, line_in, load
from attention_book.course.own_file.steps import STEPS
from attention_book.course.own_file.verdict import FileVerdict, verdict_on
from attention_book.course.time_limit import DoesNotEnd, within
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.seed import own_random_numbers

#: What the reader's file is called.
FILE = "my_attention.py"
#: Seconds that a check may take: it takes two, or ten under load.
LIMIT = 60.0
#: How a check is ended: by its own clock, in a page by that of the worker.
_STOPPED = (DoesNotEnd, KeyboardInterrupt) if sys.platform == "emscripten" else (DoesNotEnd,)


def check_file(
    step: int | None = None,
    path: str | Path = FILE,
    *,
    language: str | None = None,
    remember: bool = True,
    limit: float = LIMIT,
) -> FileVerdict:
    """Hold a file to steps 1 to ``step``, and say of the first that breaks what is wrong with it.

    What held is remembered beside the file (``.my_attention.json``, the file as it stood), so that
    a later edit that breaks an earlier step is told from a step that is not done yet. Your random
    numbers go on as if nothing had been drawn, and what the file prints is dropped. A loop that
    does not end is stopped, in the main thread of Linux and macOS; elsewhere interrupt it yourself.

    Args:
        step: 1 to 16; None: the last step of which the file has anything.
        path: the file.
        language: "zh" or "en"; None takes the notebook's language or the computer's, as
            :func:`~attention_book.course.exercises.check` does.
        remember: whether to write what held beside the file.
        limit: seconds after which the check is given up.

    Returns:
        The verdict, which prints, and is true if all these steps hold.

    Raises:
        ValueError: if there is no such step or language.

    >>> from attention_book.course.own_file import file_at
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "my_attention.py"
    >>> _ = file.write_text(file_at(1).replace("softmax(-1)", "softmax(-2)"))
    >>> verdict = check_file(1, file, language="en")
    >>> bool(verdict), verdict.mistake
    (False, 'softmax-over-queries')
    """
    if language is not None:
        checked("language", language)
    if step is not None and not 1 <= step <= len(STEPS):
        raise ValueError(f"step: expected 1 to {len(STEPS)}, got {step}")
    path = Path(path)
    source = _text_of(path)
    if isinstance(source, Trouble):
        return verdict_on(path.name, step or 1, 0, source, language)
    step = step or reached(source)
    memory = _Memory(path)
    check = _Check(source, step, memory)
    surroundings = own_random_numbers(), torch.inference_mode(False), torch.enable_grad()
    with contextlib.ExitStack() as stack, warnings.catch_warnings():
        for each in surroundings:
            stack.enter_context(each)
        warnings.simplefilter("ignore")
        try:
            trouble = within(limit, check.trouble)
        except _STOPPED as error:
            trouble = _endless(error, check.at, limit)
    if trouble is None and remember:
        memory.keep(step, source)
    return verdict_on(path.name, step, check.checks, trouble, language)


def reached(source: str) -> int:
    """Return the last step of which a file has a definition; 1 for a file without any.

    >>> reached("def attention_pooling(s, v): ...\\ndef scaled_dot_product(q, k): ...")
    4
    """
    try:
        own = definitions(source)
    except (SyntaxError, ValueError):
        return 1
    earlier: set[str] = set()
    last = 1
    for step in STEPS:
        if (set(step.names) - earlier) & own.keys():
            last = step.number
        earlier |= set(step.names)
    return last


def _text_of(path: Path) -> str | Trouble:
    """Return the file's text, or why there is none."""
    try:
        return path.read_text(encoding="utf-8").removeprefix("\ufeff")
    except FileNotFoundError:
        names = [each.name for each in path.parent.glob("*.py")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, names, 1)
        hint = Bilingual(f"这里有 `{near[0]}`。", f"There is `{near[0]}` here.") if near else None
        return Trouble(None, Bilingual("没有这个文件", "there is no such file"), hint=hint)
    except UnicodeDecodeError:
        what = Bilingual("这个文件不是 UTF-8", "the file is not UTF-8")
        hint = Bilingual("在编辑器里另存为 UTF-8。", "Save it as UTF-8 in your editor.")
        return Trouble(None, what, hint=hint)
    except OSError as error:
        reason = error.strerror or str(error)
        what = Bilingual(f"读不了这个文件（{reason}）", f"the file cannot be read ({reason})")
        return Trouble(None, what)


class _Check:
    """One check of a file.

    Attributes:
        checks: how many checks were made.
        at: the step at which it is; None while the file is read.
    """

    def __init__(self, source: str, step: int, memory: "_Memory") -> None:
        self.source, self.step, self.memory = source, step, memory
        self.checks, self.at = 0, None  # type: int, int | None

    def trouble(self) -> Trouble | None:
        """Return the first trouble; None if all steps hold."""
        try:
            module = load(self.source)
        except Unreadable as error:
            return error.trouble
        for step in STEPS[: self.step]:
            self.at = step.number
            trouble = missing(module, self.source, step)
            if trouble is None:
                count, trouble = tested(module, step)
                self.checks += count
            elif step.number == self.step:
                trouble = partly(module, step, trouble)
            if trouble is not None:
                self._explain(module, trouble, step.number)
                return trouble
        return None

    def _explain(self, module: Any, trouble: Trouble, number: int) -> None:
        """Say which later edit broke a step, or which later step's slip shows in it."""
        old = self.memory.last_with(number)
        if old is not None:
            found = later_edit(old, self.source, STEPS[number - 1])
            if found is not None:
                trouble.later, trouble.line = found
        elif number < self.step:
            trouble.later = Bilingual(
                f"这是较早的一步（你在做第 {self.step} 步）：先把它修好。",
                f"This is an earlier step (you are at step {self.step}): mend it first.",
            )
        for step in STEPS if trouble.slip == "error" else ():
            if trouble.name in step.names:
                trouble.hint = Bilingual(
                    f"文件里还没有 `{trouble.name}`（第 {step.number} 步）：写好它，这里就通了。",
                    f"The file has no `{trouble.name}` yet (step {step.number}): write it, and this"
                    " will run.",
                )
                return
        if number == self.step or trouble.slip not in (None, "error") or trouble.hint in CERTAIN:
            return
        for step in reversed(STEPS[number : self.step]):
            _, other = tested(module, step)
            slip = other.slip if other is not None else None
            if slip is not None and slip in HINTS:
                trouble.cause, hint = slip, HINTS[slip]
                trouble.hint = Bilingual(
                    f"多半是第 {step.number} 步引起的。{hint.zh}",
                    f"The cause seems to be step {step.number}. {hint.en}",
                )
                return


def _endless(error: BaseException, step: int | None, limit: float) -> Trouble:
    line = line_in(error)
    zh, en = (f"（停在第 {line} 行）", f" (stopped at line {line})") if line else ("", "")
    what = Bilingual(f"{limit:g} 秒还没算完{zh}", f"not done after {limit:g} seconds{en}")
    hint = Bilingual(
        "有没有停不下来的循环？看它每一圈改变了什么。",
        "Is there a loop without end? Look at what changes in each round.",
    )
    return Trouble(step, what, law="endless", slip="endless", hint=hint, line=line)


class _Memory:
    """The file as it last passed, and up to which step; kept in a file beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f".{path.stem}.json")
        self.step, self.source = 0, ""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self.path.read_text(encoding="utf8"))
            self.step, self.source = int(kept["step"]), str(kept["source"])

    def keep(self, step: int, source: str) -> None:
        """Remember this text for the step and all before it, where one may write."""
        if step >= self.step:
            self.step, self.source = step, source
            text = json.dumps({"step": step, "source": source}, ensure_ascii=False)
            with contextlib.suppress(OSError):
                self.path.write_text(text, encoding="utf8")

    def last_with(self, step: int) -> str | None:
        """Return the text with which this step last held."""
        return self.source if self.step >= step else None
