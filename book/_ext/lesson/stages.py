"""A drawing in stages: one after the other on the page, all of them in print and without scripts.

``:::{stages} name`` with the options of ``{diagram}`` holds a caption and an ordered list, one
item for each stage.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


class Stages(SphinxDirective):
    """``:::{stages} name``: a drawing of ``book/figures/``, numbered, with its stages."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        "alt-zh": directives.unchanged_required,
        "alt-en": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        kinds = [type(child) for child in holder.children]
        if kinds != [nodes.paragraph, nodes.enumerated_list]:
            return self.problem("stages hold a caption, then an ordered list, and nothing else")
        figure = self.diagram()
        if figure is None:
            return []
        caption, items = holder.children
        line = nodes.caption("", "", *caption.children)
        line.source, line.line = caption.source, caption.line
        figure += [line, nodes.legend("", items)]
        figure["classes"].append("stages")
        return [figure]

    def diagram(self) -> nodes.figure | None:
        """Return the drawing as ``{diagram}`` shows it, without a caption."""
        directive: Any = directives.directive(
            "diagram", self.state.memo.language, self.state.document
        )[0]
        found = directive(
            "diagram", self.arguments, self.options, StringList(), self.lineno,
            self.content_offset, self.block_text, self.state, self.state_machine,
        ).run()  # fmt: skip
        return found[0] if found else None

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="lesson")
        return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("stages", Stages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
