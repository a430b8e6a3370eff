"""A student's function as `check` sees it: called like any other, it runs in the child."""

import inspect
from collections.abc import Iterable
from typing import Any

from attention_book.course.exercises.checking import verdict_drawn
from attention_book.course.exercises.core import Exercise
from attention_book.course.exercises.running import Elsewhere, Outcome, moved
from attention_book.course.exercises.verdict import Verdict
from attention_book.course.grading.peer import Call, Distant, Failed, tensors
from attention_book.course.grading.wire import WireError

#: Functions that exercises hand to answers run in the parent, and on nothing larger than this.
MOST_NUMBERS = 4096
MOST_CALLBACKS = 20_000


class RemoteAnswer(Elsewhere):
    """A function in the child.

    Args:
        distant: The function.

    Attributes:
        used: The book's own functions that it has called.
    """

    def __init__(self, distant: Distant) -> None:
        self._peer, self._function = distant.peer, distant.function
        self.__name__ = self._function.name
        self.used: set[str] = set()
        if self._function.parameters is not None:
            self.__signature__ = _signature(self._function.parameters)

    def __repr__(self) -> str:
        """Return how the function prints."""
        return self._function.text

    def __call__(self, *arguments: Any) -> Any:
        """Call it; gradients pass.

        Raises:
            BaseException: what it raised.
        """
        outcome = self.called(arguments)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def outcome(self, arguments: tuple[Any, ...]) -> Outcome:
        """Call it, and compare the arguments that come back with those that were sent."""
        try:
            call = self._call(arguments)
        except Failed as failed:
            return Outcome(error=failed.error(), line=failed.line)
        if len(call.after) != len(arguments):
            raise WireError("other arguments came back")
        pairs = enumerate(zip(arguments, call.after, strict=True))
        return Outcome(call.result, changed=next((i for i, pair in pairs if moved(*pair)), None))

    def called(self, arguments: tuple[Any, ...]) -> Outcome:
        """Call it on these very arguments, which keep their gradients."""
        try:
            return Outcome(self._call(arguments).result)
        except Failed as failed:
            return Outcome(error=failed.error(), line=failed.line)

    def _call(self, arguments: tuple[Any, ...]) -> Call:
        call = self._peer.call(self._function, arguments, {})
        self.used.update(call.used)
        return call


class _Default:
    """The default of a parameter, which prints as it did."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(parameters: tuple[tuple[str, str, str | None], ...]) -> inspect.Signature:
    one = inspect.Parameter
    try:
        return inspect.Signature(
            [
                one(
                    name,
                    getattr(one, kind),
                    default=one.empty if default is None else _Default(default),
                )
                for name, kind, default in parameters
            ]
        )
    except (ValueError, TypeError, AttributeError):
        raise WireError("no signature") from None


class Guard:
    """Refuses to compute on what is large, or for ever."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, values: Any) -> None:
        """Look at the arguments of one call.

        Raises:
            ValueError: if they are too large, or there were too many calls.
        """
        self._calls += 1
        if self._calls > MOST_CALLBACKS:
            raise ValueError(f"functions of exercises were called over {MOST_CALLBACKS} times")
        if sum(t.numel() for t in tensors(values)) > MOST_NUMBERS:
            raise ValueError(f"a function of the exercise was given over {MOST_NUMBERS} numbers")


def judged(
    exercises: Iterable[Exercise], answer: Any, seeds: tuple[int, ...], language: str
) -> Verdict:
    """Return the verdict on an answer: the first that finds something wrong, or the first of all.

    The first seed is the notebook's; others draw the inputs anew, so that no table of expected
    results passes.

    Args:
        exercises: What it is held to: the exercise, and perhaps private checks of the same name.
        answer: What was handed over.
        seeds: With which inputs are drawn.
        language: "zh" or "en".
    """
    first: Verdict | None = None
    for exercise in exercises:
        for seed in seeds:
            verdict = verdict_drawn(exercise, answer, seed, language)
            if not verdict:
                return verdict
            first = first or verdict
    assert first is not None
    return first
