import inspect

import nbformat
import numpy as np
import pytest
import torch
from myst_nb.core.variables import format_plain_text
from myst_nb.ext.glue import extract_glue_data_cell
from nbclient import NotebookClient

from attention_book.attention import masked_softmax
from attention_book.course import notebook
from attention_book.foundations import L
from attention_book.foundations.environment import BUILD_VARIABLE

CELLS = [
    "from attention_book.course import notebook\nfrom attention_book.foundations import L\n"
    "from attention_book.plotting import curves\nnotebook.setup(%s)",
    "curves([0, 1], {L('损失', 'loss'): [1, 0]});",
    "import torch\nnotebook.glue('demo_error', torch.tensor(1 / 3))\n"
    "notebook.glue('demo_word', '键')",
    "notebook.show_source(notebook.glue)",
    "1e7 / 3, [2.0, 1 - 1e-5], 0.1 + 0.2, 10**9",
]


@pytest.fixture
def in_book(monkeypatch):
    monkeypatch.setenv(BUILD_VARIABLE, "1")


def run(language=""):
    """Run the cells in a real kernel; return the outputs of each."""
    cells = [nbformat.v4.new_code_cell(CELLS[0] % language)]
    cells += [nbformat.v4.new_code_cell(source) for source in CELLS[1:]]
    book = nbformat.v4.new_notebook(cells=cells)
    return NotebookClient(book, kernel_name="python3", timeout=120).execute().cells


@pytest.mark.filterwarnings("default")  # the Jupyter clients' own deprecations
def test_a_kernel_of_the_book_shows_svg_and_hides_glued_values(in_book):
    setup, figure, glue, source, numbers = run()
    assert setup.outputs == []
    (picture,) = figure.outputs
    assert set(picture["data"]) == {"image/svg+xml", "text/plain"}
    svg = picture["data"]["image/svg+xml"]
    assert "损失\u2009loss" in svg
    assert "<dc:date>" not in svg
    assert "fill: #ffffff" not in svg.split('id="axes_1"')[0], "the page must show through"
    values = dict(extract_glue_data_cell(glue))
    assert format_plain_text(values["demo_error"]["data"]["text/plain"], ".3f") == "0.333"
    assert format_plain_text(values["demo_word"]["data"]["text/plain"], "s") == "键"
    assert glue.outputs == []
    shown = "(3333330.0, [2.0, 0.99999], 0.3, 1000000000)"
    assert numbers.outputs[0]["data"]["text/plain"] == shown
    assert source.outputs[0]["data"]["text/markdown"].startswith("~~~python\ndef glue")


@pytest.mark.filterwarnings("default")
def test_a_readers_kernel_speaks_one_language_and_prints(monkeypatch):
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)
    _, figure, glue, *_ = run("language='zh'")
    svg = figure.outputs[0]["data"]["image/svg+xml"]
    assert "损失" in svg
    assert "loss" not in svg
    assert glue.outputs[0]["text"] == "demo_error = 0.333333\ndemo_word = 键\n"


def test_setup_fixes_the_language_of_labels():
    notebook.setup("en")
    assert L("键", "Key") == "Key"


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="language must be"):
        notebook.setup("fr")


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (torch.tensor(0.25), "demo = 0.25"),
        (torch.tensor([[3]]), "demo = 3"),
        (torch.tensor(0.5, dtype=torch.bfloat16, requires_grad=True), "demo = 0.5"),
        (2, "demo = 2"),
        ("键", "demo = 键"),
    ],
)
def test_glue_prints_name_and_value_for_a_reader(value, printed, capsys, monkeypatch):
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)
    notebook.glue("demo", value)
    assert capsys.readouterr().out == printed + "\n"


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("a:b", 1, ValueError, "name must be letters, digits and underscores, got 'a:b'"),
        ("a b", 1, ValueError, "name must be"),
        ("demo", torch.ones(3), ValueError, r"value must be a single number, got shape \(3,\)"),
        ("demo", np.ones(2), ValueError, r"value must be a single number, got shape \(2,\)"),
        ("demo", None, TypeError, "value must be a number or a string, got NoneType"),
        ("demo", [1], TypeError, "value must be a number or a string, got list"),
    ],
)
def test_wrong_values_get_one_clear_error(name, value, error, message):
    with pytest.raises(error, match=message):
        notebook.glue(name, value)


def test_the_source_shown_is_the_one_that_runs():
    source = notebook.show_source(masked_softmax)
    assert repr(source).startswith("def masked_softmax(")
    assert source._repr_markdown_() == f"~~~python\n{source}\n~~~"


def test_a_whole_module_can_be_shown():
    assert "def masked_softmax(" in repr(notebook.show_source(inspect.getmodule(masked_softmax)))


def test_something_without_source_is_refused():
    with pytest.raises(TypeError):
        notebook.show_source(len)


def test_timings_can_be_hidden_from_a_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATTENTION_BOOK_TIMINGS", "0")
    notebook.glue("timing_epoch", 3.25)
    notebook.glue("epochs", 3)
    assert capsys.readouterr().out == "timing_epoch = 0\nepochs = 3\n"
