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

STATIC = Path(__file__).parent / "static"
#: The line that is left of a cell, by its tag.
LABELS = {"evidence": Bilingual("证据", "Evidence"), "setup": Bilingual("准备", "Set-up")}


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
    """Fold code and output of the cells with such a tag, whatever else they hide."""
    for cell in code_cells(doctree):
        if label := label_of(cell):
            cell["hide_mode"] = "all"
            cell["prompt_show"] = cell["prompt_hide"] = label


def configure(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))
    app.add_css_file("evidence_cells.css", priority=910)  # over the book's own styles


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure)
    app.connect("doctree-read", fold)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
