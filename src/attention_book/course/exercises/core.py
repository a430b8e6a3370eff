"""What an exercise consists of: a solution, inputs to try, laws, and mistakes people make.

Its texts are in two languages; what stands between backticks in them is shown as code. The
modules of the parts write exercises with `exercise`, `probe` and `wrong`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

#: What a reader wrote, a solution or a mistaken version of it.
Answer = Callable[..., Any]


@dataclass(frozen=True)
class Probe:
    """One input to try an answer on.

    Attributes:
        arguments: what the answer is called with, by position. It gets copies.
        about: what is special about this input; None if nothing is.

    >>> Probe((2, 3), Bilingual("小的数", "small numbers")).arguments
    (2, 3)
    """

    arguments: tuple[Any, ...]
    about: Bilingual | None = None


@dataclass(frozen=True)
class Law:
    """Something that holds for every right answer, and can be tested without the solution.

    Attributes:
        name: a short name, for tests.
        statement: the law, as one sentence.
        test: calls the answer on seeded inputs; returns None, or what it found.
        hint: what to do where the law is broken; None where the statement says it all.

    >>> def positive(answer):
    ...     got = answer(-1.0)
    ...     wanted = Bilingual("正数", "a positive number")
    ...     return None if got > 0 else Finding({"x": -1.0}, wanted, got)
    >>> law = Law("positive", Bilingual("结果是正数。", "The result is positive."), positive)
    >>> law.test(abs), law.test(float).got
    (None, -1.0)
    """

    name: str
    statement: Bilingual
    test: Callable[[Answer], Finding | None]
    hint: Bilingual | None = None


@dataclass(frozen=True)
class Mistake:
    """A mistake that people make, and what helps.

    It is recognized by what the answer does, however it is written. Ways to make the same
    mistake with different results are mistakes of the same name.

    Attributes:
        name: a short name, for tests.
        wrong: a function that makes the mistake, and otherwise does what is asked.
        hint: where to look, without giving the solution away.

    >>> Mistake("added", lambda x: x + 2, Bilingual("应当是乘。", "Multiply.")).wrong(3)
    5
    """

    name: str
    wrong: Answer
    hint: Bilingual


@dataclass(frozen=True)
class Exercise:
    """A task whose answer can be checked.

    Attributes:
        name: what ``check`` calls it.
        task: what is asked, in one sentence.
        solution: a right answer. One that takes no arguments asks for a value:
            the reader may hand it over without a function around it.
        probes: makes the inputs to try, the plain ones first. Random numbers are
            seeded before it is called, so it may simply draw.
        mistakes: known mistakes, the likely ones first.
        laws: what is tested besides; that the answer agrees with the solution on
            every probe, and leaves its arguments alone, is tested always.

    >>> double = Exercise(
    ...     name="double",
    ...     task=Bilingual("写 `double(x)`：返回 2x。", "Write `double(x)`, which returns 2x."),
    ...     solution=lambda x: 2 * x,
    ...     probes=lambda: [Probe((1,)), Probe((5,))],
    ...     mistakes=(Mistake("added", lambda x: x + 2, Bilingual("应当是乘。", "Multiply.")),),
    ... )
    >>> double.parameters
    ('x',)
    """

    name: str
    task: Bilingual
    solution: Answer
    probes: Callable[[], Iterable[Probe]]
    mistakes: tuple[Mistake, ...]
    laws: tuple[Law, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(inspect.signature(self.solution).parameters)


@dataclass(frozen=True, repr=False)
class Named:
    """A function that prints as what it is called, wherever a verdict shows it.

    Attributes:
        name: what it is called.
        function: what it does.

    >>> Named("double", lambda x: 2 * x)
    double
    >>> Named("double", lambda x: 2 * x)(4)
    8
    """

    name: str
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


@dataclass(frozen=True)
class Wrong:
    """Wrong answers that one hint helps with."""

    hint: Bilingual
    answers: tuple[Answer, ...]


def wrong(zh: str, en: str, *answers: Answer) -> Wrong:
    """Return a hint in both languages, with the wrong answers that it helps with."""
    return Wrong(Bilingual(zh, en), answers)


def probe(arguments: tuple[Any, ...], zh: str = "", en: str = "") -> Probe:
    """Return an input to try, with what is special about it, if anything is."""
    return Probe(arguments, Bilingual(zh, en) if zh else None)


def whole(*shape: int, most: int) -> Tensor:
    """Draw whole numbers from -most to most, as floats.

    Sums of their products are exact: where scores are large, right answers that add in another
    order still agree to the last bit, as they do not with drawn fractions.
    """
    return torch.randint(-most, most + 1, shape).float()


def exercise(
    name: str,
    zh: str,
    en: str,
    *,
    solution: Answer,
    probes: Callable[[], Iterable[Probe]],
    mistakes: Mapping[str, Wrong | list[Wrong]],
    laws: tuple[Law, ...] = (),
) -> Exercise:
    """Return an exercise whose mistakes stand in a table, by name.

    >>> double = exercise(
    ...     "double",
    ...     "写 `double(x)`：返回 2x。",
    ...     "Write `double(x)`, which returns 2x.",
    ...     solution=lambda x: 2 * x,
    ...     probes=lambda: [probe((1,)), probe((5,), "大一些", "a larger one")],
    ...     mistakes={"added": wrong("应当是乘。", "Multiply.", lambda x: x + 2)},
    ... )
    >>> double.mistakes[0].name, double.mistakes[0].hint.en
    ('added', 'Multiply.')
    """
    rows = [
        (called, each)
        for called, found in mistakes.items()
        for each in (found if isinstance(found, list) else [found])
    ]
    return Exercise(
        name,
        Bilingual(zh, en),
        solution,
        probes,
        tuple(
            Mistake(called, answer, each.hint) for called, each in rows for answer in each.answers
        ),
        laws,
    )


def shares(parts: Tensor, floor: float | None = None) -> Tensor:
    """Return the share of each part in the sum of its row: what many a wrong answer ends with.

    >>> import torch
    >>> shares(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """
    total = parts.sum(dim=-1, keepdim=True)
    return parts / (total if floor is None else total.clamp(min=floor))
