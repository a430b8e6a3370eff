"""The worked file: small, one code in two languages, and right at every step."""

import ast
import difflib
import re

import pytest

from attention_book.course.own_file import STEPS, changes, examining, file_at, reached
from attention_book.course.own_file.core import Step
from attention_book.course.own_file.hints import HINTS
from attention_book.course.own_file.loading import load
from attention_book.course.own_file.source import LAST

LINES_A_STEP, LINES = 25, 250
# Hints that a law gives where it is broken, or an error is raised: no result shows them.
ONLY_NAMED_BY_A_LAW = {
    *(
        "no-matrix-product",
        "no-pairs",
        "look-no-pairs",
        "batch-mixed",
        "order-seen",
        "no-bend",
        "wrong-d-ff",
    ),
    *("gradient-nan", "cache-shared", "cross-cached", "past-counts-calls"),
}


def code(text: str) -> list[str]:
    """The lines of a file that do something, without their comments."""
    lines = (re.sub(r"\s*#.*", "", line) for line in text.splitlines())
    return [line for line in lines if line.strip()]


def test_a_step_is_a_few_lines_and_the_file_a_few_pages() -> None:
    assert len(STEPS) == LAST
    added = {}
    for step in range(1, LAST + 1):
        compared = difflib.ndiff(code(file_at(step - 1)), code(file_at(step)))
        added[step] = sum(line.startswith("+") for line in compared)
    assert added[1] == 3
    assert all(0 < count <= LINES_A_STEP for count in added.values()), added
    assert len(file_at(LAST).splitlines()) <= LINES


@pytest.mark.parametrize("step", range(1, LAST + 1))
def test_comments_differ_by_language_and_code_does_not(step: int) -> None:
    zh, en = file_at(step, "zh"), file_at(step, "en")
    assert ast.dump(ast.parse(zh)) == ast.dump(ast.parse(en))
    assert len(zh.splitlines()) == len(en.splitlines())
    for line in en.splitlines():
        assert line.isascii() or not re.search("[\u3400-\u9fff]", line)
    assert re.search("[\u3400-\u9fff]", zh)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.number)
def test_the_worked_file_keeps_the_laws_of_a_step_from_that_step_on(step: Step) -> None:
    number = step.number
    for later in {number, min(number + 1, LAST), LAST}:
        text = file_at(later, "zh" if later % 2 else "en")
        module = load(text)
        assert examining.missing(module, text, STEPS[number - 1]) is None
        checks, trouble = examining.tested(module, STEPS[number - 1])
        assert trouble is None
        assert checks >= len(STEPS[number - 1].laws)


def test_the_step_that_a_file_has_reached_is_read_from_its_names() -> None:
    assert [reached(file_at(step)) for step in range(LAST + 1)] == [1, *range(1, LAST + 1)]
    assert reached("def attention_pooling(:") == 1


def test_every_slip_has_a_hint_and_shows_on_some_input() -> None:
    """A slip that shows nowhere, or fails by a name of ours, could never be named."""
    module = load(file_at(LAST))
    named: set[str] = set()
    shows: set[str] = set()
    for step in STEPS:
        for law in step.laws:
            named |= {law.hint, law.error_hint} - {None}
            for case in law.cases(module):
                for slip, function in case.slips.items():
                    named.add(slip.split("@")[0])
                    try:
                        function()
                        shows.add(slip.split("@")[0])
                    except (NameError, AttributeError, TypeError) as error:
                        pytest.fail(f"step {step.number}, {slip}: {error!r}")
                    except (RuntimeError, IndexError):
                        pass
    assert named == HINTS.keys()
    assert named - shows == ONLY_NAMED_BY_A_LAW


def test_the_tasks_name_what_the_checker_asks_for() -> None:
    for step in STEPS:
        for text in (step.task.zh, step.task.en):
            for name in step.names:
                assert name.split(".")[0] in text or "cache" in text, (step.number, name)
        assert re.search("[\u3400-\u9fff]", step.task.zh)
        assert not re.search("[\u3400-\u9fff]", step.task.en)


def test_changes_show_what_comes_and_what_goes() -> None:
    shown = changes(3)
    assert "-    w = scores.softmax(-1)  # each row becomes weights" in shown.splitlines()
    assert "+def future_mask(n, m):  # the last n of m places -> (n, m)" in shown.splitlines()
    for step in range(1, LAST + 1):
        gone = {line[1:] for line in changes(step).splitlines() if line.startswith("-")}
        assert gone <= set(file_at(step - 1).splitlines())
    with pytest.raises(ValueError, match="expected 1 to 16, got 17"):
        changes(17)
