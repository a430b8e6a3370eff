"""A folder of notebooks: marks are the expected ones, what is none is said to be none."""

import csv
import io
import json
import re

import pytest
import torch
from graded_cells import CAN_GRADE, WAY, graded, view
from student_notebooks import make, make_broken, notebook

from attention_book.course.exercises.core import exercise, probe, wrong
from attention_book.course.grading import folder as whole
from attention_book.course.grading.folder import Plan, private_exercises
from attention_book.course.grading.grader import Clock, Grader, Report, Result, unconfined
from attention_book.course.grading.jail import Settings, _without
from attention_book.course.grading.notebooks import NotANotebook, cells_of, notebooks_in
from attention_book.course.grading.scores import names_in, page, table

on_linux = pytest.mark.skipif(not CAN_GRADE, reason="children are forked on Linux alone")
CHECK = "import torch\nfrom attention_book.course.exercises import check\n"


def test_what_is_no_notebook_is_said_to_be_none(tmp_path):
    readable = make_broken(tmp_path)
    read, refused = {}, {}
    for path in notebooks_in(tmp_path):
        try:
            read[path.name] = cells_of(path)
        except NotANotebook as error:
            refused[path.name] = error.why
    assert set(read) == readable
    assert read["bom.ipynb"] == read["old.ipynb"] == ["print(1)"]
    assert read["markdown.ipynb"] == read["none.ipynb"] == []
    assert "link.ipynb" in refused
    assert "pipe.ipynb" in refused
    assert all(why.zh and why.en for why in refused.values())
    assert not set(read) & set(refused)
    assert len(read) + len(refused) == 15


@on_linux
def test_marks_are_the_expected_ones_and_a_second_run_asks_nobody_again(tmp_path, monkeypatch):
    expected = make(tmp_path / "handed in", 5)
    plan = Plan(Settings(view(), WAY), Clock(cell=30.0, check=25.0), (0, 7))
    first = list(whole.graded(tmp_path / "handed in", plan, tmp_path / "results", workers=1))
    for _, total, report in first:
        assert total == len(expected)
        for name, good in expected[report.notebook].items():
            got = report.last()[name]
            assert good is None or got.passed is good, (report.notebook, name, got.text)
    seeds = json.loads((tmp_path / "results" / "run.json").read_text())["seeds"]
    assert seeds == [0, 7]

    def refuse(*_):
        raise AssertionError("graded again")

    monkeypatch.setattr(whole.multiprocessing, "get_context", refuse)
    again = list(whole.graded(tmp_path / "handed in", plan, tmp_path / "results"))
    by_name = {report.notebook: report for _, _, report in first}
    assert {r.notebook: r for _, _, r in again} == by_name
    # Another notebook under the same name is another one; so are other seeds.
    changed = tmp_path / "handed in" / next(iter(expected))
    changed.write_text(notebook(["1"]), encoding="utf8")
    with pytest.raises(AssertionError, match="graded again"):
        list(whole.graded(tmp_path / "handed in", plan, tmp_path / "results"))


def test_nothing_that_may_be_read_leads_to_what_is_hidden(tmp_path):
    hidden = tmp_path / "env" / "lib" / "site-packages" / "attention_book"
    neighbor = hidden.with_name("torch")
    for folder in (hidden / "course", neighbor, tmp_path / "env" / "bin"):
        folder.mkdir(parents=True)
    (tmp_path / "env" / "lib64").symlink_to("lib")
    (hidden.with_name("book")).symlink_to(hidden / "course")
    read, listed = _without(hidden, [tmp_path / "env", hidden.parent, tmp_path / "env" / "bin"])
    assert read == sorted(map(str, (neighbor, tmp_path / "env" / "bin")))
    assert listed == sorted(map(str, (hidden.parents[2], hidden.parents[1], hidden.parents[0])))


@on_linux
def test_a_layer_that_fails_is_told(monkeypatch):
    settings = Settings(view(), WAY)
    assert unconfined(settings) == {}
    monkeypatch.setattr(
        Grader, "grade_cells", lambda *_: Report("x", confined={"landlock": "no: OSError"})
    )
    wanted = {} if WAY == "bwrap" else {"landlock": "no: OSError", "seccomp": "no"}
    assert unconfined(settings) == wanted


@on_linux
def test_nothing_is_told_to_the_notebook():
    cells = [CHECK + "v = check('attention-pooling', lambda scores, values: values)", "print(v)"]
    report = graded(cells)
    assert not report.last()["attention-pooling"].passed
    assert "handed in" in report.output
    assert "Expected" not in report.output


@on_linux
def test_an_error_names_the_line_of_the_students_own_function():
    cells = [CHECK + "def pool(scores, values):\n    return scores @ valeus\n"]
    report = graded([*cells, "check('attention-pooling', pool)"])
    assert "(line 4: `return scores @ valeus`)" in report.last()["attention-pooling"].text


@on_linux
def test_private_checks_are_tried_besides():
    stricter = exercise(
        "attention-pooling",
        "大的分数。",
        "Large scores.",
        solution=lambda scores, values: scores.softmax(-1) @ values,
        probes=lambda: [probe((torch.full((1, 2), 1000.0), torch.eye(2)))],
        mistakes={"overflow": wrong("溢出了。", "It overflows.", lambda scores, values: values)},
    )
    naive = "lambda scores, values: (scores.exp() / scores.exp().sum(-1, keepdim=True)) @ values"
    cells = [CHECK + f"check('attention-pooling', {naive})"]
    kept = graded(cells, private=(stricter,))
    assert not kept.last()["attention-pooling"].passed
    own = exercise(
        "double",
        "加倍。",
        "Double.",
        solution=lambda x: 2 * x,
        probes=lambda: [probe((3,))],
        mistakes={},
    )
    report = graded([CHECK + "check('double', lambda x: x + x)"], private=(own,))
    assert report.last()["double"].passed
    assert "no exercise" in graded([CHECK + "check('double', abs)"]).last()["double"].text


def test_a_private_file_has_to_list_exercises(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("EXERCISES = 3\n", encoding="utf8")
    with pytest.raises(ValueError, match="expected a list EXERCISES of exercises, got int"):
        private_exercises(str(file))
    assert private_exercises("") == ()


@on_linux
def test_without_the_book_there_is_check_alone():
    cells = [
        CHECK + "check('attention-pooling', lambda s, v: s.softmax(-1) @ v)",
        "from attention_book.attention import masked_softmax",
    ]
    report = graded(cells, book=False)
    assert report.last()["attention-pooling"].passed
    assert "attention_book.attention" in report.errors[1]


@on_linux
def test_data_may_be_read_and_not_written(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "prices.csv").write_text("1,2", encoding="utf8")
    cells = ["print(open('data/prices.csv').read())", "open('data/prices.csv', 'w')"]
    child = Grader(Settings(view(), WAY, data=str(tmp_path)))
    report = child.grade_cells(cells, "test")
    child.close()
    assert "1,2" in report.output
    assert 0 not in report.errors
    assert "PermissionError" in report.errors[1] or "Read-only" in report.errors[1]
    assert (tmp_path / "prices.csv").read_text(encoding="utf8") == "1,2"


def a_report():
    results = {
        (0, 0): Result("masked-softmax", False, "✗ early"),
        (1, 0): Result("rotary", True, "✓ <b>right</b>", used=("attention_book.x.f",)),
        (2, 0): Result("masked-softmax", True, "✓ at last"),
    }
    return Report("=cmd|calc.ipynb", results, {3: "NameError: x"}, ["@sum"])


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_table_has_the_last_answers_weighed_and_no_formula(language):
    names = names_in([a_report()])
    assert names == ["masked-softmax", "rotary"]  # the book's order
    text = table([a_report()], names, language, {"rotary": 2.5})
    head, row = csv.reader(io.StringIO(text))
    assert row[:4] == ["'=cmd|calc.ipynb", "1", "1", "3.5"]
    assert "rotary: attention_book.x.f" in row
    assert any("'@sum" in each for each in row)
    assert bool(re.search("[一-鿿]", "".join(head))) is (language == "zh")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_page_is_in_one_language_and_runs_nothing(language):
    text = page(a_report(), ["masked-softmax", "rotary", "bleu"], language)
    assert "&lt;b&gt;right" in text
    assert "<script" not in text
    assert "✗ early" not in text
    visible = re.sub(r"<style>.*?</style>|<[^>]*>", "", text, flags=re.DOTALL)
    assert ("没有交" in visible) is (language == "zh")
    assert ("not handed in" in visible) is (language == "en")
