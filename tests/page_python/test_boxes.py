"""The boxes of a built page: which listings become editors, and what holds without scripts."""

import json
from types import SimpleNamespace

import nbformat
import pytest
from bilingual.marks import pick
from docutils import nodes
from docutils.utils import new_document
from exercise_pages import STUB
from lxml import html
from page_python import boxes
from sphinx_exercise.nodes import exercise_node


@pytest.fixture(scope="module")
def site(tiny_book):
    return html.fromstring(tiny_book.page("a"))


def box(site, name):
    (found,) = site.xpath(f"//div[@class='page-python'][@data-name='{name}']")
    return found


def test_the_listing_of_an_exercise_stands_in_a_box(site):
    found = box(site, "masked-softmax")
    assert found.getparent().getparent().get("id") == "ex-write"
    assert found.xpath("string(.//pre)").rstrip() == STUB


def test_an_exercise_without_a_listing_begins_as_its_solution_does(site):
    text = box(site, "causal-with-cache").xpath("string(.//pre)")
    words = 'def causal(num_queries, num_keys): return ... check("causal-with-cache", causal)'
    assert " ".join(text.split()) == words


def test_without_scripts_the_notebook_does_it(site, tiny_book):
    links = box(site, "masked-softmax").xpath(".//noscript//a/@href")
    assert links == ["_notebooks/zh/a.ipynb", "_notebooks/en/a.ipynb"]
    assert all((tiny_book.html / link).is_file() for link in links)


def test_only_a_page_with_a_box_loads_anything_and_may_run_it(site, tiny_book):
    other = html.fromstring(tiny_book.page("intro"))
    policy = "string(//meta[@http-equiv='Content-Security-Policy']/@content)"
    assert "'wasm-unsafe-eval'" in site.xpath(policy)
    assert "'wasm-unsafe-eval'" not in other.xpath(policy)
    loaded = "//script[contains(@src, 'page_python')]"
    assert len(site.xpath(loaded)) == 1
    assert not other.xpath(loaded)


def test_the_editor_is_told_what_the_cells_of_a_page_import(tiny_book):
    text = (tiny_book.html / "_static" / "page_python" / "pages.js").read_text(encoding="utf8")
    known = json.loads(text.removeprefix("pagePython.pages = ").rstrip(";\n"))
    assert set(known) == {"a"}
    assert known["a"]["names"] == {
        "causal_mask": ["attention_book.attention", "causal_mask"],
        "math": ["math", ""],
    }


def test_a_function_with_a_mistake_in_a_cell_that_hangs_on_others_stands_in_a_box(site):
    text = box(site, "causal-in-both-modes").xpath("string(.//pre)").rstrip()
    call = 'check("causal-in-both-modes", decode)'
    assert text == f"def decode(x, training):\n    return x\n\n\n{call}"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_notebook_has_the_listing_as_before(tiny_book, language):
    cells = nbformat.read(tiny_book.html / "_notebooks" / language / "a.ipynb", as_version=4).cells
    text = "\n\n".join(each.source for each in cells)
    assert f"```python\n{STUB}\n```" in text
    assert "JavaScript" not in text


def test_an_exercise_too_large_for_a_page_says_why(monkeypatch, tmp_path):
    table = tmp_path / "not_in_page.yml"
    table.write_text("masked-softmax:\n  zh: 太大。\n  en: It is too large.\n", encoding="utf8")
    monkeypatch.setattr(boxes, "NOT_IN_PAGE", table)
    listing = nodes.literal_block(STUB, STUB)
    exercise = exercise_node("", nodes.section("", listing))
    document = new_document("a.md")
    document += exercise
    (tmp_path / "a.md").write_text("# A\n")
    env = SimpleNamespace(docname="a", doc2path=lambda name: tmp_path / f"{name}.md")
    boxes.make_boxes(SimpleNamespace(env=env), document)
    (box,) = document.findall(boxes.PagePython)
    writer = SimpleNamespace(body=[], builder=SimpleNamespace(current_docname="a"))
    boxes.visit(writer, box)
    boxes.depart(writer, box)
    text = "".join(writer.body)
    assert "data-name" not in text  # no script makes an editor of it
    assert 'It is too large. Use <a href="_notebooks/en/a.ipynb">' in pick(text, "en")
    assert '太大。到<a href="_notebooks/zh/a.ipynb">' in pick(text, "zh")
