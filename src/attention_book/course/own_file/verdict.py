"""What is said of a reader's file: the verdict of an exercise, with the step that does not hold."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_book.course.exercises import Finding, Verdict
from attention_book.course.own_file.core import Trouble, same
from attention_book.foundations.bilingual import Bilingual, Language

#: A tensor with more numbers is shown by its shape.
_SHOWN = 16


@dataclass(frozen=True, eq=False, repr=False)
class FileVerdict(Verdict):
    """Whether a file holds up to a step; if not, which step does not, and why.

    Attributes:
        step: the step up to which it was held.
        broken: the first step that does not hold; None: all do, or the file cannot be read.
        cause: the slip of a later step that explains it.
        line: the line of the file where it shows, if there is one.

    >>> print(FileVerdict("my_attention.py", True, 5, language="en", step=1))
    ✓ my_attention.py: step 1 holds (5 checks).
    """

    step: int = 1
    broken: int | None = None
    cause: str | None = None
    line: int | None = None

    def _outcome(self, language: Language) -> str:
        if self.passed:
            checks = self.checks
            if language == "zh":
                steps = "第 1 步" if self.step == 1 else f"第 1–{self.step} 步都"
                return f"{steps}对（{checks} 项检查）。"
            steps = "step 1 holds" if self.step == 1 else f"steps 1 to {self.step} hold"
            return f"{steps} ({checks} checks)."
        statement = self.statement.text(language) if self.statement else ""
        if self.broken is None:
            return statement
        if language == "zh":
            return f"第 {self.broken} 步还不对：{statement}"
        return f"step {self.broken} does not hold yet: {statement}"


def verdict_on(
    name: str, step: int, checks: int, trouble: Trouble | None, language: str | None
) -> FileVerdict:
    """Return the verdict on a file, as its check found it."""
    if trouble is None:
        return FileVerdict(name, True, checks, language=language, step=step)
    finding = None
    if trouble.shown or trouble.given:
        given = {key: _shown(value) for key, value in trouble.given.items() if value is not None}
        expected, got = _difference(trouble.want, trouble.got)
        if not trouble.shown:
            expected, got = Bilingual("一个结果", "a result"), trouble.what
        finding = Finding(given, expected, got)
    return FileVerdict(
        name,
        False,
        checks,
        law=trouble.law,
        statement=_statement(trouble),
        finding=finding,
        mistake=trouble.slip,
        hint=trouble.hint,
        language=language,
        step=step,
        broken=trouble.step,
        cause=trouble.cause,
        line=trouble.line,
    )


def _statement(trouble: Trouble) -> Bilingual:
    zh, en = trouble.what.zh.rstrip("。") + "。", trouble.what.en.rstrip(".") + "."
    if trouble.later:
        zh, en = zh + trouble.later.zh, f"{en} {trouble.later.en}"
    return Bilingual(zh, en)


class _AsTyped(str):
    """A value as it would be typed."""

    def __repr__(self) -> str:
        return str(self)


def _shown(value: Any) -> _AsTyped:
    """Return a value as it would be typed; a large tensor by its shape."""
    if isinstance(value, Tensor):
        value = value.detach()
        if value.numel() > _SHOWN:
            return _AsTyped(f"tensor(…), shape {tuple(value.shape)}")
        if value.is_floating_point():
            value = value.double().round(decimals=4)
        return _AsTyped(value.tolist())
    if isinstance(value, tuple | list):
        return _AsTyped(f"({', '.join(map(_shown, value))})")
    return _AsTyped(f"{value:.4g}" if isinstance(value, float) else repr(value))


def _difference(want: Any, got: Any) -> tuple[Any, Any]:
    """Return what was expected and what came out, where the two part."""
    if isinstance(want, tuple | list) and isinstance(got, tuple | list) and len(want) == len(got):
        for place, (a, b) in enumerate(zip(want, got, strict=True), start=1):
            if not same(a, b):
                return tuple(_at_place(each, place) for each in _difference(a, b))  # type: ignore[return-value]
    if isinstance(want, Tensor) and isinstance(got, Tensor):
        if want.shape != got.shape:
            zh, en = "形状 {}", "the shape {}"
            shapes = [tuple(each.shape) for each in (want, got)]
            a, b = (Bilingual(zh.format(each), en.format(each)) for each in shapes)
            return a, b
        x, y = want.detach().double(), got.detach().double()
        off = ~torch.isclose(x, y, rtol=1e-5, atol=1e-5, equal_nan=True)
        if want.numel() > _SHOWN and off.any():
            at = off.nonzero()[0].tolist()
            number, count = int(off.sum()), want.numel()
            right, wrong = (f"{each[tuple(at)].item():.4g}" for each in (x, y))
            return (
                Bilingual(f"在 {at} 处 {right}", f"{right} at {at}"),
                Bilingual(
                    f"在 {at} 处 {wrong}（{count} 个数里有 {number} 个不同）",
                    f"{wrong} at {at} ({number} of {count} numbers differ)",
                ),
            )
    return _shown(want), _shown(got)


def _at_place(value: Any, place: int) -> Bilingual:
    texts = (value.zh, value.en) if isinstance(value, Bilingual) else (str(value), str(value))
    return Bilingual(f"第 {place} 个：{texts[0]}", f"number {place}: {texts[1]}")
