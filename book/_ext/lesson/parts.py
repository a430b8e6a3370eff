"""What the parts of a chapter are is said in the page, by classes and not by titles alone.

``part-hook`` is the scene between the opening and the first section, ``part-keep`` the section
with the line to keep, ``part-exercises`` and ``part-reading`` are the last two. Other editions
(slides, paper, EPUB) know the parts by these classes.
"""

from __future__ import annotations

from bilingual.marks import mark
from docutils import nodes
from sphinx.application import Sphinx

KEEP, EXERCISES, READING = "One line to keep", "Exercises", "Further reading"
#: The sections that every chapter has, by their English titles: their classes.
SECTIONS = {EXERCISES: "part-exercises", KEEP: "part-keep", READING: "part-reading"}
HOOK = "part-hook"


def name_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Name each closing section; one that the source has named already stays as it is."""
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is None or title.parent is not section:
            continue
        words = title.astext()
        for english, name in SECTIONS.items():
            if words.endswith(mark("en", english)) and name not in section["classes"]:
                section["classes"].append(name)


def name_hook(app: Sphinx, doctree: nodes.document) -> None:
    """Name the prose between a chapter's opening and its first section."""
    for opening in doctree.findall(is_opening):
        after = opening.parent.children[opening.parent.index(opening) + 1 :]
        for block in after:
            if isinstance(block, nodes.section):
                break
            if isinstance(block, nodes.container) and "bl-pair" in block["classes"]:
                block["classes"].append(HOOK)


def is_opening(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "opening" in node["classes"]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", name_sections)
    app.connect("doctree-read", name_hook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
