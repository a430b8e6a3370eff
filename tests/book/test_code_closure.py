"""What a chapter's cells can run is found by following the imports, name by name."""

import ast

import pytest
from evidence.execution.code_closure import Package, digest_of_cells
from tiny import ROOT

FILES = {
    "__init__.py": "",
    "a/__init__.py": "from pack.a.one import first\nfrom pack.a.two import second\n",
    "a/one.py": '"""One."""\nfrom pack.low import base\n\n\ndef first():\n    """Say."""\n',
    "a/two.py": "def second(): ...\n",
    "b.py": "def late():\n    from pack.a import second\n",
    "low.py": "base = 1\n",
}


@pytest.fixture
def write(tmp_path):
    """Return a function: files that differ from those above, to the package."""

    def make(**changes):
        for name, text in (
            FILES | {k.replace("__", "/") + ".py": v for k, v in changes.items()}
        ).items():
            path = tmp_path / "src/pack" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf8")
        return Package(tmp_path / "src")

    return make


@pytest.mark.parametrize(
    ("code", "reached"),
    [
        ("from pack.a import first", "a a.one low"),
        ("from pack.a import second as s", "a a.two"),
        ("import pack.a as t\nt.second()", "a a.two"),
        ("import pack.a as t\nshow(t)", "a a.one a.two low"),
        ("from pack import a\na.first, a.second", "a a.one a.two low"),
        ("from pack.a import *", "a a.one a.two low"),
        ("import pack.b", "b a a.two"),
        ("def f():\n    from pack.low import base", "low"),
        ("import math", ""),
    ],
)
def test_imports_are_followed_by_name(write, code, reached):
    expected = {"pack"} if reached else set()
    expected |= {f"pack.{name}" for name in reached.split()}
    assert write().reached(ast.parse(code)) == expected


def test_only_code_that_can_run_changes_the_key(write):
    cells = ["from pack.a import first"]
    before = write().key(cells)
    assert (
        write(a__one='"""Other words."""\n' + FILES["a/one.py"].split("\n", 1)[1]).key(cells)
        == before
    )
    assert write(a__one=FILES["a/one.py"] + "# a comment\n").key(cells) == before
    assert write(a__two="def second(): return 2\n").key(cells) == before
    assert write(low="base = 2\n").key(cells) != before


def test_a_cell_that_shows_source_depends_on_its_words(write):
    cells = ["from pack.a import first\nnotebook.show_source(first)"]
    before = write().key(cells)
    assert write(a__one=FILES["a/one.py"].replace("Say", "Tell")).key(cells) != before


def test_what_is_no_plain_python_may_run_everything(write):
    cells = ["%load_ext autoreload"]
    before = write().key(cells)
    assert write(low="base = 2\n").key(cells) != before


def test_a_training_runs_no_chapter_tools():
    package = Package(ROOT / "src")
    reached = package.reached(ast.parse("from attention_book.course.recipes import trained"))
    assert "attention_book.training.loop" in reached
    assert not {name for name in reached if name.split(".")[1:2] in (["inspection"], ["exercises"])}


def test_a_digest_of_cells_forgets_the_words_of_labels_and_the_place_of_a_legend_alone():
    cell = 'plot({L("正确", "right"): x}, label=L("位置", "place"), kind="line")'
    said_better = cell.replace("right", "correct").replace("位置", "次序")
    assert digest_of_cells([cell]) == digest_of_cells([said_better])
    assert digest_of_cells([cell]) != digest_of_cells([cell.replace("line", "bar")])
    assert digest_of_cells([cell]) != digest_of_cells([cell.replace(": x", ": y")])
    elsewhere = cell.replace("kind", 'legend="upper left", kind')
    assert digest_of_cells([cell]) == digest_of_cells([elsewhere])
    told = ['def f(x):\n    """Say."""\n    return x', 'def f(x):\n    """Tell."""\n    return x']
    assert digest_of_cells(told[:1]) == digest_of_cells(told[1:])
    assert digest_of_cells(["L(name, 'x')"]) != digest_of_cells(["L(other, 'x')"])


def test_a_digest_of_cells_knows_what_they_do_and_not_from_where_they_import():
    cells = ["from a.b import measured\nx = measured(2)  # twice", "%timeit x"]
    moved = ["from c import measured\n\nx = measured( 2 )", "%timeit x"]
    assert digest_of_cells(cells) == digest_of_cells(moved)
    assert digest_of_cells(cells) != digest_of_cells(["x = measured(3)", "%timeit x"])
    assert digest_of_cells(cells) != digest_of_cells([cells[0], "%timeit y"])
