"""A number in the prose leads to the cell that it comes from.

Every ``{glue:text}`key` `` becomes a quiet link to the cell that glued the value; if the cell is
folded, as evidence is, the link opens it. This holds in claims, tables, captions and solutions,
and on other pages too: where a page repeats a number of another one, the link leads there.

Who gives MyST-NB the outputs (``evidence.execution``) notes each value's cell in its metadata.
"""

from __future__ import annotations

import re
from typing import Any

from bilingual.environment import PerPage, builder_of
from bilingual.marks import Bilingual
from bilingual.nodes import language_of
from docutils import nodes
from myst_nb.ext.glue.crossref import read_glue_cache
from myst_nb.ext.glue.roles import PasteTextRole
from myst_nb.ext.glue.utils import PendingGlueReference, retrieve_glue_data
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from lesson.evidence_cells import code_cells

TITLE = Bilingual("这个数的出处", "Where this number comes from")
#: The attributes of a number: the page and the cell that it comes from, and its name there.
SOURCE, NAME = "glued_in", "glued"
#: The anchors of each page's cells.
ANCHORS = PerPage[list[str]]("cell_anchors")


def anchor(metadata: dict[str, Any]) -> str:
    """Return the anchor of the cell that a glued value comes from."""
    return f"cell-{metadata['scrapbook']['cell']}"


class NumberRole(PasteTextRole):
    """``{glue:text}`key:format` ``: the value, with a note of its cell."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        result, messages = super().run()
        for node in result:
            if isinstance(node, nodes.inline):
                node[NAME] = self.text.rpartition(":")[0] or self.text
                value = retrieve_glue_data(self.document, node[NAME])
                page = self.document.settings.env.docname
                node[SOURCE] = (page, anchor(value.metadata))
                # A glued text is as its cell made it: no curly "’", as wide as a character.
                node["support_smartquotes"] = False
        return result, messages


def set_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Give each cell an anchor, inside its fold: on its code, or on its output without code."""
    found = []
    for cell in code_cells(doctree):
        if cell.children and isinstance(cell[0], nodes.Element):
            found.append(f"cell-{cell['cell_index']}")
            cell[0]["ids"].append(found[-1])
    if found:
        ANCHORS.of(app.env)[app.env.docname] = found


class NoteOtherPages(SphinxPostTransform):
    """A number of another page is filled in by myst-nb now: note its cell before."""

    default_priority = 4

    def run(self, **kwargs: Any) -> None:
        folder = self.env.mystnb_config.output_folder  # type: ignore[attr-defined]
        for pending in list(self.document.findall(PendingGlueReference)):
            value = read_glue_cache(folder, pending.refdoc).get(pending.key)
            if value and pending.inline:
                number = nodes.inline(classes=["pasted-text"])
                number[SOURCE] = (pending.refdoc, anchor(value["metadata"]))
                number[NAME] = pending.key
                pending.replace_self(number)
                number += pending


class LinkNumbers(SphinxPostTransform):
    """Link each number that is noted to have a cell with that cell."""

    default_priority = 8
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for number in list(self.document.findall(nodes.inline)):
            if SOURCE not in number or any(isinstance(a, NO_LINK) for a in ancestors(number)):
                continue
            page, target = number[SOURCE]
            if target in ANCHORS.of(self.env).get(page, []):
                words, here = re.sub(r"^-(?=\d)", "−", number.astext()), self.env.docname
                text = nodes.Text(words)
                link = make_refnode(builder_of(self.env), here, page, target, text, title(number))
                link["classes"].append("number-link")
                link[NAME] = number[NAME]
                number.replace_self(link)


#: A link holds no other; a heading is an address itself.
NO_LINK = (nodes.reference, nodes.title)


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    """Return what a node stands in, from near to far."""
    found: list[nodes.Node] = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def title(number: nodes.Node) -> str:
    """Return what the link says of itself, in the language around it."""
    languages = (language_of(node) for node in ancestors(number))
    language = next(filter(None, languages), None)
    return str(getattr(TITLE, language)) if language else TITLE


def setup(app: Sphinx) -> dict[str, Any]:
    done = {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
    if "myst_nb" not in app.extensions:
        return done  # a project without cells
    app.setup_extension("bilingual.environment")
    app.setup_extension("lesson.evidence_cells")
    app.add_role_to_domain("glue", "text", NumberRole(), override=True)
    ANCHORS.connect(app)
    app.connect("doctree-read", set_anchors)
    app.add_post_transform(NoteOtherPages)
    app.add_post_transform(LinkNumbers)
    return done
