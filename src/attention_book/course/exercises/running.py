"""An answer is run: on copies of the inputs, within a time limit, whatever it raises."""

import copy
import inspect
import traceback
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from attention_book.course.exercises.comparing import difference
from attention_book.course.exercises.core import Answer
from attention_book.course.time_limit import LIMIT, DoesNotEnd, within
from attention_book.foundations.bilingual import Bilingual


class Elsewhere:
    """An answer that runs in another process: it says itself what came of a call.

    It is callable, and has a ``__signature__``, as any answer. A subclass may raise a
    ``KeyboardInterrupt`` where the other process is gone: that is nobody's finding.
    """

    def outcome(self, arguments: tuple[Any, ...]) -> "Outcome":
        """Call it on copies of the arguments, and say which of them it changed."""
        raise NotImplementedError

    def called(self, arguments: tuple[Any, ...]) -> "Outcome":
        """Call it on these very arguments; gradients pass."""
        raise NotImplementedError


@dataclass(frozen=True)
class Outcome:
    """What a call gave, and whether it changed its arguments.

    Attributes:
        value: what was returned.
        error: what was raised; None if nothing was.
        changed: position of the first argument that the call changed, if any.
        line: the number of the line that raised the error, and its text.
    """

    value: Any = None
    error: BaseException | None = None
    changed: int | None = None
    line: tuple[int, str] | None = None

    @property
    def endless(self) -> bool:
        """Whether the call was stopped, for it did not come to an end."""
        return isinstance(self.error, DoesNotEnd)

    def happened(self) -> Any:
        """Return the value, or the error in words."""
        if self.error is None:
            return self.value
        if self.endless:
            zh, en = f"{LIMIT:g} 秒内没有结果", f"nothing within {LIMIT:g} seconds"
        else:
            what = f"{type(self.error).__name__}: {self.error}".removesuffix(": ")
            zh, en = f"异常 {what}", f"the error {what}"
        if self.line is not None:
            number, text = self.line
            zh, en = f"{zh}（第 {number} 行：`{text}`）", f"{en} (line {number}: `{text}`)"
        return Bilingual(zh, en)


def outcome_of(function: Answer, arguments: tuple[Any, ...]) -> Outcome:
    """Call a function on copies of the arguments."""
    if isinstance(function, Elsewhere):
        return function.outcome(arguments)
    own = tuple(map(copied, arguments))
    outcome = called(function, own)
    if outcome.error is not None:
        return outcome
    # A value that is an argument, or shares memory with one, is not one of our own tensors either.
    changed = (i for i, pair in enumerate(zip(arguments, own, strict=True)) if moved(*pair))
    return Outcome(_kept(outcome.value), changed=next(changed, None))


def called(function: Answer, arguments: tuple[Any, ...]) -> Outcome:
    """Call a function on these very arguments.

    What it raises is its own error, `SystemExit` included: `exit()` in an answer does not end
    the program that checks it. Only `KeyboardInterrupt`, the reader's own, goes through.
    """
    if isinstance(function, Elsewhere):
        return function.called(arguments)
    try:
        return Outcome(within(LIMIT, lambda: function(*arguments)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Outcome(error=error, line=_line_of(function, error))


def copied(value: Any) -> Any:
    """Return a deep copy; a plain tensor is copied some fifty times faster by itself."""
    if type(value) is Tensor and value.is_leaf and not value.requires_grad:
        return value.clone()
    return copy.deepcopy(value)


def _kept(value: Any) -> Any:
    """Return a copy where one can be made: a later call may write into what was returned."""
    try:
        return copied(value)
    except Exception:  # tensors on their way to a loss, generators
        return value


def _line_of(function: Answer, error: BaseException) -> tuple[int, str] | None:
    """Return the line of the answer itself on which it failed, not one in a library."""
    code = getattr(function, "__code__", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if code is not None and frame.filename == code.co_filename and frame.line:
            return frame.lineno or 0, frame.line
    return None


def accepts(function: Answer, arguments: tuple[Any, ...]) -> bool:
    """Whether a function accepts these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # a built-in without a signature
        return True
    return True


def moved(before: Any, after: Any) -> bool:
    """Whether an argument was changed; what can't be compared was not."""
    if isinstance(before, nn.Module):
        return difference(before.state_dict(), after.state_dict()) is not None
    if isinstance(before, Tensor | list | dict | tuple | set):
        return difference(before, after) is not None
    return False
