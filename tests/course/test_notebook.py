"""What chapters need of Jupyter: numbers for the prose, measurements, recorded trainings."""

from __future__ import annotations

import inspect
import json
import math
import shlex
import sys
from itertools import product
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from myst_nb.core.variables import format_plain_text
from myst_nb.ext.glue import extract_glue_data_cell
from nbclient import NotebookClient

from attention_book.attention import masked_softmax
from attention_book.cli.program import program
from attention_book.course import notebook
from attention_book.course.measurement import Measurement, measured
from attention_book.course.recorded import RECORDS, recorded_run
from attention_book.foundations import L
from attention_book.foundations.environment import BUILD_VARIABLE
from attention_book.runs import RunSettings
from attention_book.runs.language.settings import LanguageSettings

# --- the notebook ------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (torch.tensor(0.25), "demo = 0.25"),
        (torch.tensor([[3]]), "demo = 3"),
        (torch.tensor(0.5, dtype=torch.bfloat16, requires_grad=True), "demo = 0.5"),
        (2, "demo = 2"),
        ("键", "demo = 键"),
        ([torch.tensor(1), 0.5], "demo = [1, 0.5]"),
        ({"n": [1, 2]}, "demo = {'n': [1, 2]}"),
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
        ("demo", [{1}], TypeError, "value must be a number or a string, got set"),
    ],
)
def test_wrong_values_get_one_clear_error(name, value, error, message):
    with pytest.raises(error, match=message):
        notebook.glue(name, value)


def test_the_source_shown_is_the_one_that_runs():
    source = notebook.show_source(masked_softmax)
    assert repr(source).startswith("def masked_softmax(")
    assert source._repr_markdown_() == f"~~~python\n{source}\n~~~"
    assert "def masked_softmax(" in repr(notebook.show_source(inspect.getmodule(masked_softmax)))


@pytest.mark.usefixtures("unchecked")
def test_what_there_is_not_is_refused():
    with pytest.raises(TypeError):
        notebook.show_source(len)
    with pytest.raises(ValueError, match="language must be"):
        notebook.setup("fr")
    with pytest.raises(
        ValueError, match=r"name: expected one of .*multi30k-en-de, .*got 'nothing'"
    ):
        recorded_run("nothing")


def test_timings_can_be_hidden_from_a_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATTENTION_BOOK_TIMINGS", "0")
    notebook.glue("timing_epoch", 3.25)
    notebook.glue("epochs", 3)
    assert capsys.readouterr().out == "timing_epoch = 0\nepochs = 3\n"


# --- measurements ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "margin", "came_out"),
    [
        ({"above": 0.5}, 0.25, True),
        ({"above": 0.75}, 0.0, False),
        ({"at_least": 0.75}, 0.0, True),
        ({"at_least": 1}, -0.25, False),
        ({"below": 1}, 0.25, True),
        ({"below": 0.75}, 0.0, False),
        ({"at_most": 0.75}, 0.0, True),
        ({"at_most": 0.5}, -0.25, False),
    ],
)
def test_each_relation_and_its_edge(bounds, margin, came_out):
    (found,) = measured("demo", 0.75, **bounds)
    assert (found.margin, found.came_out) == (margin, came_out)
    assert found.to_dict()["came_out"] == came_out


def test_of_several_numbers_the_worst_counts():
    values = torch.tensor([[0.9, 0.6], [0.8, 0.7]])
    low, high = measured("demo", values, above=torch.tensor([0.5, 0.55]), below=1, draws=4)
    assert (low.value, low.bound) == pytest.approx((0.6, 0.55))
    assert high.value == pytest.approx(0.9)
    assert low.draws == high.draws == 4
    (found,) = measured("demo", [torch.tensor(3.0), 5.0], below=[4, 5.5])  # a bound for each
    assert (found.value, found.bound) == (5.0, 5.5)


@pytest.mark.parametrize("value", [math.nan, torch.tensor([1.0, math.nan])])
def test_nan_keeps_no_bound(value):
    for relation in ("above", "at_least", "below", "at_most"):
        (found,) = measured("demo", value, **{relation: 0.5})
        assert math.isnan(found.value)
        assert not found.came_out


@pytest.mark.parametrize(("value", "came_out"), [(True, True), ([True, False], False)])
def test_a_truth_value_is_to_be_true(value, came_out):
    (found,) = measured("demo", value)
    assert found.came_out == came_out
    assert (found.relation, found.bound) == ("at_least", 1)
    assert measured("demo", torch.tensor(value)) == (found,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Demo_1", 1.0), "name: expected small letters"),
        (("demo", 1.0), "expected a bound such as above=0.5 beside a number, got none"),
        (("demo", []), "expected at least one number, got none"),
    ],
)
def test_what_says_nothing_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        measured(*arguments)
    with pytest.raises(ValueError, match="got over"):
        measured("demo", 1.0, over=2)
    with pytest.raises(ValueError, match="draws: expected 1 or more, got 0"):
        measured("demo", 1.0, above=0, draws=0)


def test_a_measurement_never_raises_and_tells_a_reader(capsys, monkeypatch):
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)
    notebook.measure("demo", 0.4, below=0.1)
    assert capsys.readouterr().out == "demo: 0.4 < 0.1 did not come out here\n"
    notebook.setup(language="zh")
    notebook.measure("demo", 0.4, below=0.1)
    notebook.setup()
    assert "在这里没有得到" in capsys.readouterr().out


def test_in_the_book_the_numbers_are_stored_and_not_shown(monkeypatch):
    shown = []
    monkeypatch.setenv(BUILD_VARIABLE, "1")
    monkeypatch.setattr(notebook, "display", lambda data, raw: shown.append(data))
    notebook.measure("demo", [0.25, 0.5], above=0.75, below=2, draws=2)
    stored = [json.loads(data[notebook.MEASUREMENT_TYPE]) for data in shown]
    assert [each["relation"] for each in stored] == ["above", "below"]
    assert [each["came_out"] for each in stored] == [False, True]
    fields = Measurement.__dataclass_fields__
    again = Measurement(**{name: stored[0][name] for name in fields})
    assert (again.value, again.draws) == (0.25, 2)


# --- recorded trainings ------------------------------------------------------------------------


#: Many small trainings, of no run's folder, and what tells them apart.
GRIDS = {
    "multi30k-en-scaling": ("width", "budget", "seed"),
    "grammar-en-experts": ("kind", "seed"),
    "grammar-en-diffusion": ("kind", "seed"),
    "recall-hybrids": ("stack", "steps", "seed"),
}
#: What was trained besides the product of all that tells them apart: the delta rules, longer.
BESIDE = {"recall-hybrids": {("dddd", 6400)}}
#: Language models that write in a page: texts of the public domain, and what `train` printed.
WRITERS = ("austen", "tang-poems")
NAMES = sorted({path.stem for path in RECORDS.glob("*.json")} - {*GRIDS, *WRITERS})


@pytest.fixture(params=NAMES)
def record(request):
    return recorded_run(request.param)


def test_its_line_gives_its_settings(record):
    assert {"multi30k-en-de", "multi30k-en-de-bahdanau", "tatoeba-eng-fra"} <= set(NAMES)
    name, *line = shlex.split(record["command"])
    assert name == "attention-book"
    found = CliRunner().invoke(program, [*line, "--print-settings"])
    assert found.exit_code == 0, found.stderr
    assert RunSettings.from_toml(found.stdout) == RunSettings.from_dict(record["settings"])


@pytest.mark.parametrize("name", WRITERS)
def test_the_line_of_a_writer_gives_its_settings(name):
    record = recorded_run(name)
    found = CliRunner().invoke(program, [*shlex.split(record["command"])[1:], "--print-settings"])
    assert found.exit_code == 0, found.stderr
    printed = LanguageSettings.from_toml(found.stdout)
    assert printed == LanguageSettings.from_dict(record["settings"])
    test_it_says_where_it_was_made(record)
    quality = record["quality"]
    assert 0 < quality["bits"] < quality["ngram_bits"] < quality["xz_bits"]


def test_it_says_where_it_was_made(record):
    for made in record["made"]:
        assert len(made["commit"]) == 40
        assert made["processor"]
        assert made["date"].startswith("20")
        assert made["threads"] >= 1


@pytest.mark.parametrize("name", GRIDS)
def test_small_trainings_are_complete_and_say_how_they_were_made(name):
    record = recorded_run(name)
    python, script, *_, to = shlex.split(record["command"])
    assert (python, to) == ("python", f"{name}.json")
    assert (Path(__file__).parents[2] / script).is_file()
    test_it_says_where_it_was_made(record)
    grid = {tuple(run[each] for each in GRIDS[name]) for run in record["runs"]}
    kinds, seeds = {key[:-1] for key in grid}, {key[-1] for key in grid}
    beside = BESIDE.get(name, set())
    assert beside <= kinds
    full = kinds - beside
    assert full == set(product(*map(set, zip(*full, strict=True))))
    assert len(grid) == len(record["runs"]) == len(kinds) * len(seeds)
    assert len(seeds) >= 3
    assert not [each for each in _texts(record["runs"]) if len(each.split()) > 3]


def test_what_it_says_adds_up(record):
    steps = [line["step"] for line in record["log"]]
    assert steps == sorted(set(steps))
    minutes = [line["minutes"] for line in record["log"]]
    assert minutes == sorted(minutes)
    assert sum(count for _, _, count in record["text"]["lengths"]) <= record["text"]["pairs"]
    assert sum(record["time"].values()) == pytest.approx(1, abs=0.001)
    assert all(each["found"] <= each["asked"] for each in record["faults"]["words"])
    for scores in record["scores"].values():
        assert scores["num_sentences"] == record["text"]["test"]
        assert sum(each["count"] for each in scores["by_length"]) == record["text"]["test"]


def test_no_sentence_of_a_corpus_is_in_it(record):
    """A licence may forbid it: all text in a record is our own."""
    own = {sentence for pair in record["sentences"] for sentence in pair}
    texts = [each for each in _texts(record) if len(each.split()) > 3]
    assert set(texts) - own <= {record["command"]}


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def test_it_comes_with_the_package_wherever_one_is(monkeypatch, tmp_path):
    """No network, no repository near, no copy of another day: it is of one commit with the code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert recorded_run("multi30k-en-de")["name"] == "multi30k-en-de"
