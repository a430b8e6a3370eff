"""A widget that a cell shows: its start is drawn into its place, as that of a figure.

In the book's build the package writes ``<div data-live="heads">`` with the widget's data as JSON
(``attention_book.live.viewer``). Here the place gets the name of the figure that it stands in, so
that an address can name it, and the drawing that stands there without scripts.
"""

from __future__ import annotations

import json
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from live.bundler import bundler, sources
from live.drawing import still

logger = logging.getLogger(__name__)

PLACE = re.compile(
    r'<div data-live="([\w-]+)">(<script type="application/json">(.*?)</script>)</div>', re.DOTALL
)


def draw_places(app: Sphinx, doctree: nodes.document) -> None:
    """Complete the places of all widgets of a page."""
    for raw in list(doctree.findall(nodes.raw)):
        place = PLACE.fullmatch(raw.astext().strip())
        if place is None:
            continue
        widget, data, state = place.groups()
        figure = next((each for each in ancestors(raw) if isinstance(each, nodes.figure)), None)
        if widget not in bundler().widgets() or figure is None or not figure["names"]:
            logger.warning(
                "the widget %s needs a figure with a name around it (mystnb: figure:)",
                widget,
                location=raw if raw.line else app.env.docname,
                type="live",
            )
            continue
        name = f"{nodes.make_id(figure['names'][0])}-live"
        drawing = still(widget, json.loads(state), name)
        markup = f'<div id="{name}" data-live="{widget}">{data}{drawing}</div>'
        raw.replace_self(nodes.raw("", markup, format="html", live=widget))
        figure["classes"].append("live-figure")
        for path in sources():
            app.env.note_dependency(str(path))


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    """Return what a node stands in, the nearest first."""
    found = []
    while (parent := node.parent) is not None:
        found.append(parent)
        node = parent
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", draw_places)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
