"""Cells with the tag ``evidence`` or ``setup`` are run as any other, and shown as one folded line.

In such a cell a chapter gives its numbers to the prose and asserts its claims. A reader who asks
where a number comes from opens it; nobody else need see it. The first cell of a chapter, its
set-up with the imports, is folded in the same way. myst-nb folds whole cells
(``hide-cell``); here the fold only gets a name of its own, in both languages. On paper, where
nothing can be opened, it is left out: the numbers are in the text, and the code is on the site.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bilingual.marks import Bilingual
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from lesson.parts import is_opening

STATIC = Path(__file__).parent / "static"
#: The line that is left of a cell, by its tag.
LABELS = {"evidence": Bilingual("证据", "Evidence"), "setup": Bilingual("准备", "Set-up")}
#: What else is folded is the code of a figure, or of what stands below it.
FIGURE = Bilingual("画这幅图的代码", "The code of this figure")
OUTPUT = Bilingual("算出这些的代码", "The code behind this")


def code_cells(doctree: nodes.document) -> Iterator[nodes.container]:
    """Yield the code cells of a page, as myst-nb marks them."""
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            yield node


def tags_of(cell: nodes.container) -> list[str]:
    """Return the tags of a code cell."""
    tags: list[str] = list(cell["cell_metadata"].get("tags", []))
    return tags


def label_of(cell: nodes.container) -> Bilingual | None:
    """Return the line that a folded cell of ours shows; None for other cells."""
    return next((LABELS[tag] for tag in tags_of(cell) if tag in LABELS), None)


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Fold code and output of the cells with such a tag; name what other cells fold."""
    for cell in list(code_cells(doctree)):
        label = label_of(cell)
        if label:
            cell["hide_mode"] = "all"
        else:
            is_figure = "figure" in cell["cell_metadata"].get("mystnb", {})
            label = FIGURE if is_figure else OUTPUT
        if label is LABELS["setup"]:
            label = with_lines(label, next(cell.findall(nodes.literal_block)).astext())
            put_below_opening(cell)
        cell["prompt_show"] = cell["prompt_hide"] = label


def with_lines(label: Bilingual, code: str) -> Bilingual:
    """Say how many lines are folded."""
    count = len(code.splitlines())
    return Bilingual(f"{label.zh} · {count} 行", f"{label.en} · {count} line{'s'[: count - 1]}")


def put_below_opening(cell: nodes.container) -> None:
    """Let a chapter open with its words; its first cell is the first all the same."""
    opening = next(iter(cell.parent.findall(is_opening)), None)
    if opening is not None and opening.parent is cell.parent:
        cell.parent.remove(cell)
        opening.parent.insert(opening.parent.index(opening) + 1, cell)


def configure(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))
    app.add_css_file("evidence_cells.css", priority=910)  # over the book's own styles


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure)
    app.connect("doctree-read", fold)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
