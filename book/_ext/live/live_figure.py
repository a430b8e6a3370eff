"""``::::{live} name``: a numbered figure that answers the reader."""

from __future__ import annotations

import json
from difflib import get_close_matches
from html import escape
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from live.bundler import bundler, sources
from live.drawing import WrongState, still

logger = logging.getLogger(__name__)


class LiveFigure(SphinxDirective):
    """A figure of ``live/modules/figures`` with its caption.

    The option ``begin`` holds what differs from the figure's own start, as YAML:
    ``:begin: {step: 2, hidden: "00010"}``.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        "begin": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        for path in sources():
            self.env.note_dependency(str(path))
        known = bundler().figures()
        if name not in known:
            close = get_close_matches(name, known, n=3, cutoff=0.5)
            return self.problem(f"no live figure {name}; there are {', '.join(close or known)}")
        if not self.options.get("name") or not self.content:
            return self.problem(f"the live figure {name} needs a name and a caption")
        begin = yaml.safe_load(self.options.get("begin", "{}"))
        place = nodes.make_id(self.options["name"]) + "-live"
        try:
            drawing = still(name, begin, place)
        except WrongState as error:
            return self.problem(f"the live figure {name}: begin: {error}")
        return [
            self.numbered(nodes.raw("", markup(name, place, begin, drawing), format="html"), name)
        ]

    def numbered(self, drawing: nodes.Node, script: str) -> nodes.figure:
        """Return a figure with a number and the directive's caption, whose page loads a script."""
        figure = nodes.figure("", drawing)
        figure["classes"].append("live-figure")
        figure["live"] = script
        self.set_source_info(figure)
        self.add_name(figure)
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        caption = nodes.caption("", "", *holder.children[0].children)
        self.set_source_info(caption)
        figure += caption
        if len(holder.children) > 1:
            figure += nodes.legend("", *holder.children[1:])
        return figure

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="live")
        return []


def markup(name: str, place: str, begin: dict[str, Any], drawing: str) -> str:
    """Return the element that the scripts bring to life."""
    start = f' data-begin="{escape(json.dumps(begin, ensure_ascii=False))}"' if begin else ""
    return f'<div id="{place}" data-live="{name}"{start}>{drawing}</div>'


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("live", LiveFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
