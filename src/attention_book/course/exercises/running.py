"""An answer is run: on copies of the inputs, within a time limit, whatever it raises."""

import copy
import inspect
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from torch import Tensor, nn

from attention_book.course.exercises.comparing import difference
from attention_book.course.exercises.core import Answer
from attention_book.foundations.bilingual import Bilingual

#: Seconds that one call may take. The inputs are small: a right answer takes milliseconds.
LIMIT = 10.0
#: A loop that catches everything may swallow the interruption: it comes again.
AGAIN = 1.0

T = TypeVar("T")


class DoesNotEnd(BaseException):
    """A call was stopped at its time limit. No `except Exception` of an answer swallows it."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what the call returns; stop it where it takes longer.

    There is a limit only where Python offers one without a second process: in the main thread
    of Linux and macOS, which is where notebooks run. Elsewhere, and in a debugger, the call
    takes the time it takes. A single operation of a library is not interrupted, nor is a loop
    that catches and swallows every exception.

    Raises:
        DoesNotEnd: if the call took longer.

    >>> within(5.0, lambda: 2 + 3)
    5
    """
    if not _possible():
        return call()
    running, start = True, time.monotonic()

    def stop(number: int, frame: FrameType | None) -> None:
        if running and sys.gettrace() is None:
            raise DoesNotEnd

    handler = signal.signal(signal.SIGALRM, stop)
    rest, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        return call()
    finally:
        running = False
        left = max(rest - (time.monotonic() - start), 1e-3) if rest else 0.0
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, left, interval)  # somebody else's, if there was one


def _possible() -> bool:
    return (
        sys.platform != "win32"
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is not None  # one set in C could not be set again
    )


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
    own = tuple(map(copied, arguments))
    outcome = called(function, own)
    if outcome.error is not None:
        return outcome
    # A value that is an argument, or shares memory with one, is not one of our own tensors either.
    changed = (i for i, pair in enumerate(zip(arguments, own, strict=True)) if _moved(*pair))
    return Outcome(_kept(outcome.value), changed=next(changed, None))


def called(function: Answer, arguments: tuple[Any, ...]) -> Outcome:
    """Call a function on these very arguments.

    What it raises is its own error, `SystemExit` included: `exit()` in an answer does not end
    the program that checks it. Only `KeyboardInterrupt`, the reader's own, goes through.
    """
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


def _moved(before: Any, after: Any) -> bool:
    """Whether an argument was changed; what can't be compared was not."""
    if isinstance(before, nn.Module):
        return difference(before.state_dict(), after.state_dict()) is not None
    if isinstance(before, Tensor | list | dict | tuple | set):
        return difference(before, after) is not None
    return False
