"""Which cells can be changed and run in a page: those that need nothing but themselves."""

import ast
from pathlib import Path

import pytest
from docutils import nodes
from page_python import cells
from page_python.names import names_of, print_options

NAMES = {
    "torch": ("torch", ""),
    "F": ("torch.nn", "functional"),
    "ab": ("attention_book", ""),
    "trained": ("attention_book.course.recipes", "trained"),
}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x = 1\nprint(x)", set()),
        ("print(x)\nx = 1", {"x"}),
        ("x += 1", {"x"}),
        ("x = x + 1", {"x"}),
        ("for i in range(3): y = i\ny", set()),
        ("[i + j for i in range(3)]", {"j"}),
        ("def f(n): return n + m\nm = 1\nf(2)", set()),
        ("def f(n): return n + m", {"m"}),
        ("class A:\n    b = 1\n    c = b + d", {"d"}),
        ("def f():\n    def g(): return h\n    return g", {"h"}),
        ("import math\nmath.pi", set()),
        ("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print(error)", set()),
        ("@decorated\ndef f(x=default): pass", {"decorated", "default"}),
        ("print(f'{x:.2f}')", {"x"}),
    ],
)
def test_the_names_that_a_cell_takes_from_elsewhere(code, names):
    assert cells.needed(code) == names


@pytest.mark.parametrize(
    ("code", "alone"),
    [
        ("torch.ones(2)", True),
        ("F.relu(torch.ones(2))", True),
        ("ab.causal_mask(2, 2)", True),
        ("import math\nmath.pi", True),
        ("import os\nos.getcwd()", False),
        ("trained('bahdanau')", False),
        ("scores.softmax(-1)", False),
    ],
)
def test_a_cell_stands_alone_with_what_a_page_has(code, alone):
    assert cells.stands_alone(code, ast.parse(code), NAMES) == alone


def cell(code, *outputs, tags=()):
    """A cell as MyST-NB hands it on: the code, then what it shows."""
    source = nodes.container("", nodes.literal_block(code, code))
    shown = nodes.container("", *outputs)
    metadata = {"tags": list(tags)}
    return nodes.container(
        "", source, shown, nb_element="cell_code", cell_metadata=metadata, classes=["cell"]
    )


def printed(text):
    return nodes.literal_block(text, text, classes=["output", "stream"])


def value(text, *others):
    forms = [nodes.container("", nodes.Text(text), mime_type=m) for m in ("text/plain", *others)]
    return nodes.container("", *forms, nb_element="mime_bundle")


def marked(node):
    page = nodes.section("", node)
    cells.mark(page, NAMES)
    return cells.MARK in node["classes"]


def test_a_cell_that_shows_text_is_marked():
    assert marked(cell("print(1)", printed("1")))
    assert marked(cell("1", value("1")))
    assert not marked(cell("x = 1"))
    assert not marked(cell("1", value("1", "text/html")))
    assert not marked(cell("1", value("1", "image/png")))
    assert not marked(cell("1", nodes.literal_block("", "", classes=["output", "stderr"])))


@pytest.mark.parametrize("tag", ["evidence", "setup", "hide-input", "remove-output"])
def test_a_cell_that_is_folded_is_not(tag):
    assert not marked(cell("print(1)", printed("1"), tags=[tag]))


@pytest.mark.parametrize(
    ("code", "text", "is_marked"),
    [
        ("torch.rand(2)", "tensor([0.1, 0.2])", False),
        ("torch.manual_seed(1)\ntorch.rand(2)", "tensor([0.1, 0.2])", True),
        ("torch.manual_seed(1)\ntorch.ones(2).multinomial(9)", "tensor([0.1])", False),
        ("torch.equal(torch.rand(2) * 0, torch.zeros(2))", "True", True),
        ("torch.ones(2)", "tensor([1., 1.])", True),
    ],
)
def test_drawn_numbers_are_those_of_the_page_or_not_shown(code, text, is_marked):
    assert marked(cell(code, value(text))) == is_marked


def test_the_check_belongs_to_the_function_that_was_defined_last():
    shown = cell("def f(x):\n    return x\nprint(1)", printed("1"))
    other = cell("def f(x):\n    return 2 * x\nprint(12)", printed("12"))
    call = cell('check("name", f)', tags=["evidence"])
    page = nodes.section("", shown, other, call)
    assert cells.mark(page, NAMES) == ["", 'check("name", f)']


def test_a_cell_that_checks_its_own_function_checks_no_other():
    shown = cell("def f(x):\n    return x\nprint(1)", printed("1"))
    answer = cell('def f(x):\n    return 2 * x\ncheck("name", f)', tags=["evidence"])
    assert cells.mark(nodes.section("", shown, answer), NAMES) == [""]


def test_what_a_cell_printed_is_no_code():
    told = cell("print(1)", printed('call check("name", f) again'))
    assert [code for _, code, _ in cells.cells_of(nodes.section("", told))] == ["print(1)"]


def test_an_answer_is_no_such_cell():
    class solution_node(nodes.container):
        pass

    answer = cell("print(1)", printed("1"))
    cells.mark(nodes.section("", solution_node("", answer)), NAMES)
    assert cells.MARK not in answer["classes"]


def test_a_comment_takes_the_cell_below_it_out():
    def after(*above):
        below = cell("print(1)", printed("1"))
        cells.mark(nodes.section("", *above, below), NAMES)
        return cells.MARK in below["classes"]

    why = nodes.comment("", "notebook-only: it takes too long")
    assert not after(why)
    assert after(why, nodes.paragraph("", "Words."))
    assert after(nodes.comment("", "Nothing."))


def test_a_page_is_printed_as_its_first_cell_says(tmp_path):
    page = tmp_path / "page.md"
    book = Path(__file__).resolve().parents[2] / "book"
    assert print_options(book / "find-the-bug.md").startswith("torch.set_printoptions(precision=3")
    assert print_options(book / "masks.md") == ""
    page.write_text("# A\n", encoding="utf8")
    assert print_options(page) == ""
    assert names_of(page) == {}
