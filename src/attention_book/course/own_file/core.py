"""What a step consists of: laws, which are cases, each with what usual slips make of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual


@dataclass(frozen=True, eq=False)
class Case:
    """One input of a law.

    A case is tried before the next one is made: what it calls may use the variables of a loop.

    Attributes:
        given: the input, by names.
        got: what the file makes of it.
        want: what is right.
        slips: what usual slips make of it, by name; behind an ``@`` stands which way to make it.
        about: what is special about this input.
        tolerance: how far numbers may be off.
    """

    given: Mapping[str, Any]
    got: Callable[[], Any]
    want: Any
    slips: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    about: Bilingual | None = None
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Law:
    """Something that a step has to keep.

    Attributes:
        name: a short name.
        statement: what should hold.
        cases: makes the inputs, with the module that is the reader's file.
        hint: the slip to name where the law is broken and no slip explains it.
        error_hint: the slip to name where an error is raised, and no slip explains it.
    """

    name: str
    statement: Bilingual
    cases: Callable[[Any], Iterable[Case]]
    hint: str | None = None
    error_hint: str | None = None


@dataclass(frozen=True)
class Step:
    """One step of the file.

    Attributes:
        number: from 1.
        chapter: the chapter that it belongs to.
        title: what it adds.
        task: what is asked.
        names: definitions that stand in the file from this step on, with their arguments.
        laws: what it has to keep, from this step on.
    """

    number: int
    chapter: str
    title: Bilingual
    task: Bilingual
    names: Mapping[str, str]
    laws: tuple[Law, ...]


@dataclass
class Trouble:
    """What is wrong with a file.

    Attributes:
        step: the step that does not hold; None: the file cannot be read.
        what: what is wrong, or what should hold.
        law: name of the law that is broken.
        given: the input on which it shows.
        want: what was expected there.
        got: what came out.
        shown: whether the two are worth showing.
        slip: name of the slip that explains it; "error" for an error that no slip explains.
        hint: where to look.
        later: which later edit broke a step that held.
        cause: the slip of a later step that explains it.
        name: the definition that is missing, or takes other arguments, or the undefined name.
        line: the line of the file where it shows, if there is one.
    """

    step: int | None
    what: Bilingual
    law: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    want: Any = None
    got: Any = None
    shown: bool = False
    slip: str | None = None
    hint: Bilingual | None = None
    later: Bilingual | None = None
    cause: str | None = None
    name: str | None = None
    line: int | None = None


def same(a: Any, b: Any, tolerance: float = 1e-5) -> bool:
    """Whether two results are the same, up to rounding; NaN is NaN.

    >>> same(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-9]))
    True
    """
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
            return False
        a, b = a.detach().double(), b.detach().double()
        return torch.allclose(a, b, rtol=1e-5, atol=tolerance, equal_nan=True)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in pairs)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or abs(a - b) <= 1e-6 * max(1, abs(a), abs(b))
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return False
    return bool(a == b)
