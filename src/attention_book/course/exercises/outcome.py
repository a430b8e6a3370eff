"""What one call of an answer does: its result or its error, compared with another's."""

import copy
import inspect
import math
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_book.course.exercises import limit
from attention_book.course.exercises.exercise import Answer
from attention_book.foundations.bilingual import Bilingual

#: In what way two results differ.
Difference = Literal["type", "shape", "dtype", "device", "value"]


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
        return isinstance(self.error, limit.DoesNotEnd)

    def happened(self) -> Any:
        """Return the value, or the error in words."""
        if self.error is None:
            return self.value
        if self.endless:
            zh, en = f"{limit.LIMIT:g} 秒内没有结果", f"nothing within {limit.LIMIT:g} seconds"
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
        return Outcome(limit.within(limit.LIMIT, lambda: function(*arguments)))
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


def difference(expected: Any, got: Any) -> Difference | None:
    """Return in what way a result differs from the expected one; rounding does not count."""
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return _difference_of_tensors(expected, got)
    expected, got = _plain(expected), _plain(got)
    if isinstance(expected, bool) or isinstance(got, bool):
        both = isinstance(expected, bool) and isinstance(got, bool)
        return "type" if not both else None if expected == got else "value"
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return None if _close(expected, got) else "value"
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        if len(expected) != len(got):
            return "value"
        return _first(zip(expected, got, strict=True))
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if expected.keys() != got.keys():
            return "value"
        return _first((expected[key], got[key]) for key in expected)
    if type(expected) is not type(got):
        return "type"
    return None if expected == got else "value"


def _first(pairs: Any) -> Difference | None:
    return next((found for pair in pairs if (found := difference(*pair))), None)


def _plain(value: Any) -> Any:
    """Return a tensor (or an array) of no axes as a number, unless it holds none."""
    holds_one = getattr(value, "shape", None) == () and not getattr(value, "is_meta", False)
    return value.item() if holds_one else value


def _close(expected: float | int, got: float | int) -> bool:
    try:
        if math.isnan(expected) or math.isnan(got):
            return math.isnan(expected) and math.isnan(got)
        return math.isclose(expected, got, rel_tol=1e-4, abs_tol=1e-5)
    except OverflowError:  # an integer that no float can hold
        return expected == got


def _difference_of_tensors(expected: Tensor, got: Tensor) -> Difference | None:
    if got.is_nested or expected.layout != got.layout:  # sparse
        return "type"
    if expected.shape != got.shape:
        return "shape"
    if _kind(expected) != _kind(got):
        return "dtype"
    if expected.device != got.device:
        return "device"
    if not expected.is_floating_point():
        return None if torch.equal(expected, got) else "value"
    if expected.dtype == got.dtype and torch.equal(expected, got):
        return None  # the usual case, and much the faster
    coarse = any(tensor.dtype.itemsize < 4 for tensor in (expected, got))
    rtol, atol = (2e-2, 2e-3) if coarse else (1e-4, 1e-5)
    a, b = expected.detach().double(), got.detach().double()
    return None if torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) else "value"


def _kind(tensor: Tensor) -> str:
    """Return bool, integer, float or complex: of the widths of numbers none is wrong."""
    if tensor.dtype == torch.bool:
        return "bool"
    if tensor.is_complex():
        return "complex"
    return "float" if tensor.is_floating_point() else "integer"


def _moved(before: Any, after: Any) -> bool:
    """Whether an argument was changed; what can't be compared was not."""
    if isinstance(before, nn.Module):
        return difference(before.state_dict(), after.state_dict()) is not None
    if isinstance(before, Tensor | list | dict | tuple | set):
        return difference(before, after) is not None
    return False
