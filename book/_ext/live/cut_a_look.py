"""``::::{cut-a-look} NAME``: a sentence and its translation whose looks the reader can cut.

NAME is a trained model of the book. The sentences are those that the package has chosen for what
their cuts show (``live/cuts.py``); the first stands in the page as a drawing, with three cuts for
readers without scripts. With a caption it is a numbered figure; on the front page it has none.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from live.bundler import sources
from live.drawing import still_widget
from live.live_figure import LiveFigure
from live.models import NAMED, cuts_of
from live.translator import skip

WIDGET = "cut"


class place_of_cut(nodes.General, nodes.Element):  # as docutils names nodes
    """Where it stands: it is drawn once the model has been exported."""


class CutALook(LiveFigure):
    """A figure with one of the book's translators.

    The option ``moved`` names a figure that stood on this page and the page where it is now:
    links to it lead there.
    """

    option_spec: ClassVar = LiveFigure.option_spec | {"moved": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        if not self.options.get("name"):
            return self.problem("cut-a-look needs a name")
        for path in sources():
            self.env.note_dependency(str(path))
        found = NAMED.of(self.env)
        model = self.arguments[0]
        found[self.env.docname] = [*found.get(self.env.docname, []), model]
        place = nodes.make_id(self.options["name"]) + "-live"
        here = place_of_cut(model=model, place=place, moved=self.options.get("moved", ""))
        if self.content:
            return [self.numbered(here, WIDGET)]
        box = nodes.container("", here, classes=["front-picture"], live=WIDGET)
        self.add_name(box)
        return [box]


def visit(writer: Any, node: place_of_cut) -> None:
    """Write the first sentence as a drawing, and all that the scripts need to go on from there."""
    path = cuts_of(writer.builder, node["model"])
    if path.is_file():  # otherwise the failed export has its warning
        text = path.read_text(encoding="utf8")
        begin, drawing = still_widget(WIDGET, f"[{text}]", node["place"])
        data = escape(json.dumps(begin, ensure_ascii=False, separators=(",", ":")))
        place = f'id="{node["place"]}" data-live="{WIDGET}"'
        moved = f' data-moved="{escape(node["moved"])}"' if node["moved"] else ""
        writer.body.append(f'<div {place}{moved} data-begin="{data}">{drawing}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(place_of_cut, html=(visit, None), **formats)
    app.add_directive("cut-a-look", CutALook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
