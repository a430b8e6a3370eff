"""Homework: a notebook with tasks and empty functions, without solutions."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from attention_book.course.exercises import EXERCISES, Exercise
from attention_book.course.grading.chapters import CHAPTERS
from attention_book.foundations.bilingual import Bilingual

_HEAD = """import torch
from torch.nn import functional as F

from attention_book.course.exercises import check"""
_INTRODUCTION = Bilingual(
    "把每个函数写完，运行它下面的 `check`：写得不对时，它会说错在哪个输入上、可以往哪儿想。"
    "可以反复运行。交上来的以最后一次为准；评分时会再抽新的输入，所以别写死结果。"
    "辅助函数写在哪个单元格都行，只要从上到下能一次运行完。",
    "Complete each function and run the `check` below it: if something is wrong, it says on which"
    " input, and what helps. Run it as often as you like; your last version counts. For the grade"
    " the inputs are drawn anew, so do not write results down as constants. Put helper functions"
    " wherever you like, as long as the notebook runs from top to bottom.",
)
_STUB = Bilingual("在这里写", "write it here")


def chapter_of(name: str) -> str:
    """Return the chapter of an exercise.

    >>> chapter_of("masked-softmax")
    'masks'
    """
    return next(chapter for chapter, found in CHAPTERS.items() if name in found.exercises)


def function_of(exercise: Exercise) -> str:
    """Return what an exercise's task calls the function that is to be written.

    >>> function_of(EXERCISES["causal-with-cache"])
    'mask'
    """
    return str(re.findall(r"`(\w+)\(", exercise.task.text("en"))[0])


def assignment(
    names: Sequence[str], title: str, language: str, *, nbgrader: bool = False
) -> dict[str, Any]:
    """Return a notebook (nbformat 4.5) with exercises to do.

    Args:
        names: The exercises.
        title: The notebook's.
        language: "zh" or "en".
        nbgrader: Marks the cells as nbgrader wants them, a point for each exercise.

    Raises:
        ValueError: if there is no exercise of such a name, or none is given.
    """
    if unknown := [name for name in names if name not in EXERCISES] or not names:
        raise ValueError(f"names: expected exercises, got {unknown if names else 'none'}")
    cells = [
        _markdown("title", f"# {title}\n\n{_INTRODUCTION.text(language)}"),
        _code("set-up", _HEAD),
    ]
    for name in names:
        cells += _task(EXERCISES[name], language, nbgrader=nbgrader)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written(notebook: dict[str, Any]) -> bytes:
    """Return a notebook as the bytes of its file."""
    return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()


def _task(exercise: Exercise, language: str, *, nbgrader: bool) -> Iterable[dict[str, Any]]:
    name = exercise.name
    function = function_of(exercise)
    yield _markdown(f"{name}-task", f"## {name}\n\n{exercise.task.text(language)}")
    here = _STUB.text(language)
    stub = f"{function} = ...  # {here}"
    head, indent = "", ""
    if exercise.parameters:
        stub = f"return ...  # {here}"
        head, indent = f"def {function}({', '.join(exercise.parameters)}):\n", "    "
    call = f'check("{name}", {function})'
    if not nbgrader:
        yield _code(name, f"{head}{indent}{stub}\n\n\n{call}")
        return
    # Of a cell without these two lines nbgrader takes everything away, the function's name too.
    lines = ("### BEGIN SOLUTION", stub, "### END SOLUTION")
    marked = head + "\n".join(indent + line for line in lines)
    yield _code(name, marked, nbgrader=_marks(name, solution=True))
    graded = _marks(f"{name}-check", grade=True, points=1, locked=True)
    yield _code(f"{name}-check", f"assert {call}", nbgrader=graded)


def _marks(name: str, **own: Any) -> dict[str, Any]:
    usual = {"grade": False, "solution": False, "locked": False, "task": False}
    return {"grade_id": name, "schema_version": 3, "cell_type": "code", **usual, **own}


def _markdown(identity: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": identity[:64], "metadata": {}, "source": text}


def _code(identity: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": identity[:64],
        "metadata": metadata,
        "execution_count": None,
        "outputs": [],
        "source": text,
    }
