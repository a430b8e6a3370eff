"""Homework: every exercise belongs to the chapter that sets it, and a notebook has no solution."""

import inspect
import re
from pathlib import Path

import nbformat
import pytest
import yaml
from graded_cells import CAN_GRADE, graded

from attention_book.course.exercises import EXERCISES
from attention_book.course.grading.assign import assignment, chapter_of, function_of, written
from attention_book.course.grading.chapters import CHAPTERS

BOOK = Path(__file__).parents[3] / "book"
# They show an exercise that another page sets.
SHOWN_ONLY = ("how-to-read", "for-lecturers")


def pages():
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf8"))
    return [each["file"] for part in toc["parts"] for each in part["chapters"]]


def test_the_chapters_are_those_of_the_book():
    first, titles = {}, {}
    for name in pages():
        text = (BOOK / f"{name}.md").read_text(encoding="utf8")
        if title := re.search(r"^# \{zh\}`(.+?)` \{en\}`(.+?)`", text, re.MULTILINE):
            titles[name] = title.groups()
        for called in re.findall(r'check\("([a-z0-9-]+)", ', text):
            if called in EXERCISES and name not in SHOWN_ONLY:
                first.setdefault(called, name)
    assert {name: chapter_of(name) for name in EXERCISES} == first
    assert list(CHAPTERS) == [name for name in pages() if name in set(first.values())]
    for name, chapter in CHAPTERS.items():
        assert (chapter.title.zh, chapter.title.en) == titles[name], name


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("nbgrader", [False, True])
def test_a_notebook_is_one_and_holds_no_solution(language, nbgrader):
    found = assignment(list(EXERCISES), "All", language, nbgrader=nbgrader)
    notebook = nbformat.reads(written(found).decode(), as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    for name, exercise in EXERCISES.items():
        assert f'check("{name}"' in text
        assert exercise.task.text(language) in text
        body = inspect.getsource(exercise.solution).strip().splitlines()[-1].strip()
        assert len(body) < 25 or body not in text
    graded_cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert len(graded_cells) == (len(EXERCISES) if nbgrader else 0)


def test_what_nbgrader_takes_away_is_the_body_and_never_the_name():
    for name, exercise in EXERCISES.items():
        cells = assignment([name], "One", "en", nbgrader=True)["cells"]
        (cell,) = [c for c in cells if c["metadata"].get("nbgrader", {}).get("solution")]
        head, begin, body, end = ("\n" + cell["source"]).rsplit("\n", 3)
        assert (begin.strip(), end.strip()) == ("### BEGIN SOLUTION", "### END SOLUTION")
        assert "..." in body
        if exercise.parameters:
            asked = f"{function_of(exercise)}({', '.join(exercise.parameters)})"
            assert head.strip() == f"def {asked}:"
            assert all(f"`{asked}`" in exercise.task.text(each) for each in ("zh", "en"))


@pytest.mark.skipif(not CAN_GRADE, reason="children are forked on Linux alone")
def test_an_empty_notebook_gets_no_point_and_a_filled_one_all():
    names = CHAPTERS["masks"].exercises
    cells = [
        cell["source"]
        for cell in assignment(names, "Masks", "en")["cells"]
        if cell["cell_type"] == "code"
    ]
    empty = graded(cells).last()
    assert set(empty) == set(names)
    assert not any(result.passed for result in empty.values())
    right = "    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)"
    filled = [cell.replace("    return ...  # write it here", right) for cell in cells]
    assert graded(filled).last()["masked-softmax"].passed


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="expected exercises, got \\['no-such'\\]"):
        assignment(["rotary", "no-such"], "x", "en")
