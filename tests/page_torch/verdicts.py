"""The verdicts of the book's exercises, with whichever torch is imported.

As a program it prints them as JSON: `python verdicts.py page` with the page's torch.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any


def slips(exercise: Any) -> Iterator[tuple[str, Any]]:
    """Yield answers made out of the solution: what anybody may get wrong, with any exercise."""
    import torch

    right = exercise.solution

    def after(change: Callable[[Any], Any]) -> Callable[..., Any]:
        def answer(*args: Any) -> Any:
            return change(right(*args))

        answer.__signature__ = inspect.signature(right)  # type: ignore[attr-defined]
        return answer

    def of_tensors(change: Callable[[Any], Any]) -> Callable[..., Any]:
        return after(lambda value: change(value) if isinstance(value, torch.Tensor) else value)

    def one_more(value: Any) -> Any:
        numbers = isinstance(value, torch.Tensor) and value.dtype != torch.bool
        return value + 1 if numbers or isinstance(value, int | float) else value

    def in_place(*args: Any) -> Any:
        value = right(*args)
        for each in args:
            if isinstance(each, torch.Tensor):
                each.zero_()
        return value

    in_place.__signature__ = inspect.signature(right)  # type: ignore[attr-defined]
    yield "returns nothing", after(lambda value: None)
    yield "a list", of_tensors(lambda t: t.tolist())
    yield "transposed", of_tensors(lambda t: t.mT if t.ndim > 1 else t)
    yield "one axis more", of_tensors(lambda t: t.unsqueeze(0))
    yield "one row less", of_tensors(lambda t: t[1:] if t.ndim else t)
    yield "rolled", of_tensors(lambda t: t.roll(1, -1) if t.ndim else t)
    yield "one more", after(one_more)
    yield "in float64", of_tensors(lambda t: t.double())
    yield "in whole numbers", of_tensors(lambda t: t.long())
    yield "as bool", of_tensors(lambda t: t != 0)
    yield "nan", of_tensors(lambda t: t * float("nan"))
    yield "shapes that do not fit", after(lambda value: torch.zeros(2) + torch.zeros(3))
    yield "a name nobody knows", after(lambda value: undefined_name)  # type: ignore[name-defined] # noqa: F821
    yield "too few arguments", (lambda: None) if exercise.parameters else (lambda x: None)
    yield "no function", "an answer"
    yield "its first number", of_tensors(lambda t: t.flatten()[0].item() if t.numel() else t)
    yield "changes its arguments", in_place


def answers(exercise: Any) -> Iterator[tuple[str, Any]]:
    """Yield the solution, every known mistake, and the slips."""
    yield "the solution", exercise.solution
    for place, mistake in enumerate(exercise.mistakes, start=1):
        yield f"mistake {place}, {mistake.name}", mistake.wrong
    yield from slips(exercise)


def verdicts() -> dict[str, dict[str, list[Any]]]:
    """Return, by exercise and answer, what `check` finds: the parts that a reader acts upon."""
    import torch

    from attention_book.course.exercises import EXERCISES, check

    torch.manual_seed(42)
    found: dict[str, dict[str, list[Any]]] = {}
    for name, exercise in EXERCISES.items():
        found[name] = {}
        for title, answer in answers(exercise):
            verdict = check(name, answer, language="en")
            hint = verdict.hint.en if verdict.hint else None
            told = [verdict.passed, verdict.checks, verdict.law, verdict.mistake, hint]
            found[name][title] = told
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        import as_torch

        as_torch.import_page_torch()
    json.dump(verdicts(), sys.stdout)
