"""``:::{today}``: the page of today's questions, which a script makes.

What stands in the directive is for readers without scripts: what the page would do.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Today(SphinxDirective):
    """The place of what is due, of progress, of the reader's file."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        place = nodes.container(classes=["today"])
        place["formulas"] = True  # those of the questions that come here
        self.set_source_info(place)
        self.state.nested_parse(self.content, self.content_offset, place)
        return [place]


def is_today(doctree: nodes.document) -> bool:
    """Return whether this is the page of today's questions."""
    return any("today" in each["classes"] for each in doctree.findall(nodes.container))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("today", Today)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
