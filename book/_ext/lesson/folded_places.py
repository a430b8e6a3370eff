"""What a page shows only when it is opened has an address, and the search leads there.

A folded cell, a solution, a hint: their words are no words of the section that a reader sees. Each
is a place of its own within its section, and a link to it opens it.
"""

from __future__ import annotations

from typing import Any

from bilingual.marks import Bilingual
from docutils import nodes
from sphinx.application import Sphinx

from lesson.evidence_cells import label_of

CODE = Bilingual("代码", "Code")
SOLUTION = Bilingual("解答", "Solution")


def name_places(app: Sphinx, doctree: nodes.document) -> None:
    """Tell the search of each folded place of a page: its address and its title."""
    for number, box in enumerate(filter(is_folded, doctree.findall(nodes.Element))):
        if not (ids := ids_in(box)):
            ids = [f"folded-{number}"]
            box["ids"] += ids
        box["search_title"] = f"{section_title(box)} · {label(box)}"
        box["search_anchor"] = ids[0]
        box["search_inside"] = True


def is_folded(node: nodes.Element) -> bool:
    return bool(node.get("hide_mode")) or "dropdown" in node.get("classes", ())


def ids_in(box: nodes.Element) -> list[str]:
    """Return the ids of a box, or of what stands first in it, as in a folded cell."""
    first = [child for child in box.children[:1] if isinstance(child, nodes.Element)]
    return [each for node in (box, *first) for each in node["ids"]]


def label(box: nodes.Element) -> str:
    """Return what is folded, in both languages."""
    if isinstance(box, nodes.container):
        return (label_of(box) if "cell_metadata" in box else None) or CODE
    if type(box).__name__ == "solution_node":
        return SOLUTION
    title = next(iter(box.findall(nodes.title)), None)
    return title.astext() if title is not None else CODE


def section_title(node: nodes.Node) -> str:
    """Return the title of the section that a node stands in, with its marks."""
    while (parent := node.parent) is not None:
        if isinstance(parent, nodes.section) and isinstance(parent[0], nodes.title):
            return parent[0].astext()
        node = parent
    return ""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", name_places, priority=940)  # before the search collects
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
