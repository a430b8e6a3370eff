"""No page is stale: whatever a page can depend on is changed, one thing at a time.

The kind: a build that keeps what it has made must know all that it was made of. Here each page of
a tiny book depends on one thing, of every sort that the real book has. Each change must reach its
page and leave all others as they are; and where nothing has changed, nothing is read.
"""

import os
import re
import shutil

import pytest
import torch
from live.models import key_of
from tiny import HEADER, ROOT, TinyBook, cell, make_book

from attention_book.live import HeadViewer
from attention_book.live.viewer.page import place

EXTENSIONS = ["bilingual", "evidence", "website", "live"]
RUNS = ROOT / "book" / "data" / "runs"
MODEL = "tatoeba-eng-fra"
MODEL_PAGE = f"""# Translator

::::{{translator}} {MODEL}
:name: live-one

It translates.
::::
"""


def viewer():
    heads = HeadViewer(torch.eye(2).expand(1, 1, 2, 2), tokens=["a", "b"])
    return place(heads.script, heads.state)


DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 90"><text>%s</text></svg>\n'
DIAGRAM = """# Drawing

```{diagram} one
:name: fig-one
:alt-zh: 图
:alt-en: a drawing

A drawing.
```
"""

#: What a cell shows of a viewer: its page depends on the viewer's scripts, which it learns late.
SHOWN = """from IPython.display import HTML
HTML({place!r})"""
FIGURE = "---\nmystnb:\n  figure:\n    name: fig-heads\n    caption: Heads\n---\n"

#: Each page, and the file that it depends on: its first contents and others.
PAGES = {
    "intro": "# Plain\n\nfirst words\n",
    "loads": HEADER + "# Load\n\n" + cell("", load="loaded.py"),
    "data": HEADER
    + "# Data\n\n"
    + cell("from pathlib import Path\nprint(Path('data/numbers.csv').read_text())"),
    "package": HEADER + "# Package\n\n" + cell("import tiny\nprint('answer', tiny.ANSWER)"),
    "includes": "# Include\n\n```{include} part.txt\n```\n",
    "source": "# Source\n\n```{literalinclude} shown.py\n```\n",
    "diagram": DIAGRAM,
    "cites": "# Citation\n\n{cite}`who`\n\n```{bibliography}\n```\n",
    "model": MODEL_PAGE,
    "viewer": HEADER + "# Viewer\n\n" + cell(FIGURE + SHOWN.format(place=viewer())),
    "fails": HEADER + "# Failure\n\n" + cell("1 / 0", tags="[raises-exception]"),
}
BOOK = "@book{who, author={Who, A.}, title={What}, publisher={P}, year={%s}}\n"
#: The file, before and after, and the pages whose text says so.
CHANGES = {
    "a page": ("book/intro.md", "first words", "other words", ["intro"]),
    "a cell's file": ("book/loaded.py", "'loaded once'", "'loaded twice'", ["loads"]),
    "data of a cell": ("book/data/numbers.csv", "1,2,3", "1,2,4", ["data"]),
    "the package": ("src/tiny/__init__.py", "42", "43", ["package"]),
    "an included text": ("book/part.txt", "first part", "other part", ["includes"]),
    "source that is shown": ("book/shown.py", "first = 1", "other = 1", ["source"]),
    "a drawing": ("book/figures/one.svg", "first mark", "other mark", ["diagram"]),
    "the bibliography": ("book/references.bib", "1917", "2017", ["cites"]),
    "a model": (
        f"book/data/runs/{MODEL}.example.js",
        '"rate":0.724',
        '"rate":0.725',
        ["model"],
    ),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    book = make_book(tmp_path_factory.mktemp("fresh"), EXTENSIONS, **PAGES)
    files = {path: f"{before}\n" for path, before, _, _ in CHANGES.values()}
    files["book/loaded.py"] = "print('loaded once')\n"
    files["src/tiny/__init__.py"] = "ANSWER = 42\n"
    files["book/figures/one.svg"] = DRAWING % "first mark"
    files["book/references.bib"] = BOOK % "1917"
    del files["book/intro.md"]
    for path, text in files.items():
        (book.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (book.repo / path).write_text(text, encoding="utf8")
    for end in (".bin", ".example.js"):
        shutil.copy(RUNS / f"{MODEL}{end}", book.book / "data" / "runs")
    config = book.book / "_config.yml"
    settings = config.read_text(encoding="utf8")
    config.write_text(f"bibtex_bibfiles: [references.bib]\n{settings}", encoding="utf8")
    book.build()
    return book


def pages_of(book):
    """Return the text of each page, without what only tells a browser that a file is new."""
    return {name: re.sub(r"\?v=\w+", "", book.page(name)) for name in PAGES}


def read_in(log):
    """Return the pages that a build has read."""
    plain = re.sub("\x1b\\[[0-9;]*m", "", log)
    return set(re.findall(r"reading sources\.\.\. \[ *\d+%\] ([\w-]+)", plain))


def test_an_unchanged_book_reads_nothing(book):
    before = pages_of(book)
    log = book.build()
    assert read_in(log) == set()
    assert "executing" not in log
    assert pages_of(book) == before


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_reaches_its_pages_and_no_other(book, what):
    file, old, new, changed = CHANGES[what]
    before = pages_of(book)
    path = book.repo / file
    text = path.read_text(encoding="utf8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf8")
    log = book.build()
    after = pages_of(book)
    assert [name for name in PAGES if after[name] != before[name]] == changed
    assert set(changed) <= read_in(log)


def test_the_weights_of_a_model_reach_the_site(book):
    model = book.book / "data" / "runs" / f"{MODEL}.bin"
    other = model.read_bytes()[:-1] + b"\x07"
    model.write_bytes(other)
    log = book.build()
    assert read_in(log) == {"model"}
    assert (book.html / f"_static/live/models/{MODEL}.bin").read_bytes() == other


def test_what_only_the_build_needs_is_not_published(book):
    static = book.html / "_static"
    models = {path.name for path in (static / "live" / "models").iterdir()}
    assert models == {f"{MODEL}{end}" for end in (".bin", ".js", ".example.js")}
    assert not list(static.rglob("*.key"))


def test_the_verdict_on_a_cell_follows_its_tags(book):
    """A cell that fails is fine while its tag says so; the text of the cell stays the same."""
    book.write(fails=PAGES["fails"].replace("[raises-exception]", "[hide-input]"))
    assert "ZeroDivisionError" in book.build(fails=True)
    book.write(fails=PAGES["fails"].replace("[raises-exception]", "[skip-execution]"))
    book.build()
    assert "ZeroDivisionError" not in book.page("fails")
    book.write(fails=PAGES["fails"])
    book.build()
    assert "ZeroDivisionError" in book.page("fails")


def test_a_package_that_readers_lack_is_missed_at_once(tiny_book):
    """What cells may import is part of the verdict, too: the setting is changed, no page is."""
    book = tiny_book(
        ["evidence.execution", "evidence.strict_build"],
        intro=HEADER + "# T\n\n" + cell("import sacrebleu"),
    )
    book.build()
    config = book.book / "_config.yml"
    text = config.read_text(encoding="utf8")
    readers = "keyed_execution_readers: [ipykernel]"
    config.write_text(text.replace("    language: en", f"    language: en\n    {readers}"), "utf8")
    assert "No module named 'sacrebleu'" in book.build(fails=True)


def test_a_book_that_is_moved_or_copied_keeps_its_work(book, tmp_path):
    """Wherever it lies and whatever the clock says: the same contents are read once."""
    shutil.copytree(book.repo, tmp_path / "elsewhere", copy_function=shutil.copyfile)
    moved = TinyBook(tmp_path / "elsewhere")
    log = moved.build()
    assert read_in(log) <= {"cites"}
    assert "executing" not in log
    assert pages_of(moved) == pages_of(book)
    moved.write(intro="# Plain\n\nmoved words\n")
    assert read_in(moved.build()) == {"intro"}


def test_an_exported_model_is_known_by_its_recipe_not_by_the_clock(tmp_path):
    """A copied tree, or a cache that keeps no times, exports nothing again."""
    trained = tmp_path / "trained-code"
    trained.mkdir()
    weights = trained / "small-0123abcd.safetensors"
    weights.write_bytes(b"weights")
    key = key_of("small", trained)
    os.utime(weights, (1, 1))
    assert key_of("small", trained) == key
    weights.rename(trained / "small-4567abcd.safetensors")  # another recipe
    assert key_of("small", trained) != key
