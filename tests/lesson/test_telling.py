"""What a chapter must obey: each rule complains of its offence, and of nothing else."""

import pytest
from lesson.checks import telling
from lesson.checks.telling import offences
from tiny import HEADER, cell, make_book

SETUP = cell(
    "import torch\nfrom attention_book.plotting import heatmap\nimport matplotlib.pyplot as plt",
    tags="[setup]",
)
QUESTION = "::::{{question}} q-{}\n:role: check\n:kind: choice\n\n:::{{en}}\nWhy?\n:::\n::::\n"
EXERCISE = ":::{{exercise}} {{zh}}`{0} 算` {{en}}`{0} Sum`\nx\n:::\n"
SECTION = "## {zh}`甲` {en}`A` {core}`8`\n\n"
KEEP = "## {zh}`带走一句话` {en}`One line to keep`\n\nOne.\n\n"
EXERCISES = "## {zh}`练习` {en}`Exercises`\n\n"
BESIDE = EXERCISE.format("★")


def chapter(
    *cells, setup=SETUP, questions=telling.QUESTIONS, exercises=("● ★", "● ★★", "★★"), keep=KEEP
):
    """Return a chapter that obeys, unless it is told not to."""
    return (
        f"{HEADER}# T\n\n{setup}"
        + "".join(map(QUESTION.format, range(questions)))
        + SECTION
        + BESIDE
        + "".join(cells)
        + keep
        + EXERCISES
        + "".join(map(EXERCISE.format, exercises))
    )


def told(*cells, **parts):
    return [problem.message for problem in offences(chapter(*cells, **parts), "a.md")]


def test_a_chapter_that_obeys_is_left_in_peace():
    folded = [
        cell("import os\nheatmap(L('键', 'key'))", tags="[hide-input]"),
        cell("notebook.glue('a', 1)", tags="[evidence]"),
    ]
    assert told(cell("weights = scores.softmax(dim=-1)\nweights @ values"), *folded) == []


@pytest.mark.parametrize(
    ("code", "thing"),
    [
        ("x = 1\nimport torch", "an import"),
        ("x = 1\nfrom torch import nn", "an import"),
        ("x = 1\nheatmap(x)", "a plot, `heatmap`"),
        ("x = 1\nplt.plot(x)", "a plot, `plt.plot`"),
        ("x = 1\nprint(L('键', 'key'))", "a call of `L`"),
        ("x = 1\nnotebook.glue('x', x)", "a call of `glue`"),
        ("x = 1\nnotebook.measure('x', x)", "a call of `measure`"),
    ],
)
def test_what_no_reader_would_type(code, thing):
    text = chapter(cell(code))
    (problem,) = offences(text, "a.md")
    assert problem.message.startswith(f"{thing} in a cell that readers see")
    assert text.split("\n")[problem.line - 1] == code.split("\n")[1]


@pytest.mark.parametrize("setup", ["", cell("import torch", tags="[hide-input]"), SETUP + SETUP])
def test_the_first_cell_and_no_other_is_the_setup(setup):
    assert any("is the set-up" in each for each in told(cell("x = 1"), setup=setup))


def test_too_much_code_but_not_in_exercises():
    lines = "\n".join(f"x{n} = {n}\n" for n in range(telling.CODE_LINES))
    assert told(cell(lines)) == []
    (problem,) = told(cell(lines), cell("y = 1"))
    assert f"{telling.CODE_LINES + 1} lines of visible code" in problem
    solution = "```{solution-start} ex\n```\n{}```{solution-end}\n```\n"
    assert told(cell(lines), solution.replace("{}", cell("y = 1"))) == []


def test_one_fold_of_evidence_for_a_section():
    fold = cell("assert True", tags="[evidence]")
    assert told(fold * 3) == []
    (problem,) = told(fold * 4)
    assert "4 folds of evidence for 3 sections" in problem


def test_too_few_questions():
    assert told(questions=telling.QUESTIONS - 1) == ["3 questions, fewer than 4"]


@pytest.mark.parametrize(
    ("exercises", "problem"),
    [
        (["● ★", "● ★", "★", "★", "★", "★"], "6 exercises at the end, more than 5"),
        (["● ★", "★"], "1 exercises are marked ●"),
        (["● ★", "● ★", "● ★"], "3 exercises are marked ●"),
        ([], "0 exercises are marked ●"),
    ],
)
def test_exercises_at_the_end(exercises, problem):
    (found,) = told(exercises=exercises)
    assert problem in found


def test_no_line_to_keep():
    (found,) = told(keep="")
    assert "no section 'One line to keep'" in found


def test_the_build_holds_chapters_to_it_and_no_other_pages(tmp_path):
    text = chapter(
        cell("import os"), setup=cell("x = 1", tags="[setup]"), questions=0, exercises=()
    ).replace(BESIDE, "")
    book = make_book(
        tmp_path,
        ["bilingual", "evidence", "lesson.badges", "lesson.checks"],
        intro="# T\n",
        a=text,
        b=text,
        settings={"lesson_other_pages": ["b"]},
    )
    log = book.build(fails=True)
    for problem in ("an import in a cell that readers see", "0 questions, fewer than 4"):
        (line,) = (each for each in log.split("\n") if problem in each and "WARNING" in each)
        assert "book/a.md" in line
