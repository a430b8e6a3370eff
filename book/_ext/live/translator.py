"""``::::{translator} NAME …``: translators in the reader's browser, the first shown first."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from live.bundler import sources
from live.drawing import still_widget
from live.live_figure import LiveFigure
from live.models import NAMED, folder_of

WIDGET = "translator"


class place_of_translator(nodes.General, nodes.Element):  # as docutils names nodes
    """Where a translator stands: its example is drawn once it has been exported."""


class Translator(LiveFigure):
    """A numbered figure with one or more of the book's trained models."""

    required_arguments = 1
    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        if not self.options.get("name") or not self.content:
            return self.problem("a translator needs a name and a caption")
        for path in sources():
            self.env.note_dependency(str(path))
        names = " ".join(self.arguments).split()
        found = NAMED.of(self.env)
        found[self.env.docname] = [*found.get(self.env.docname, []), *names]
        place = nodes.make_id(self.options["name"]) + "-live"
        return [self.numbered(place_of_translator(models=names, place=place), WIDGET)]


def visit(writer: Any, node: place_of_translator) -> None:
    """Write the example of the first model, and what the scripts need to go on from there."""
    folder = folder_of(writer.builder)
    files = [folder / f"{name}.example.js" for name in node["models"]]
    texts = [object_in(path.read_text(encoding="utf8")) for path in files if path.is_file()]
    if len(texts) == len(files):  # otherwise the failed export has its warning
        begin, drawing = still_widget(WIDGET, f"[{','.join(texts)}]", node["place"])
        data = escape(json.dumps(begin, ensure_ascii=False))
        place = f'id="{node["place"]}" data-live="{WIDGET}"'
        writer.body.append(f'<div {place} data-begin="{data}">{drawing}</div>')
    raise nodes.SkipNode


def object_in(script: str) -> str:
    """Return the object that an example's script hands over."""
    return script[script.index("{") : script.rindex("}") + 1]


def skip(writer: Any, node: place_of_translator) -> None:
    """Leave it out where there are no scripts."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(place_of_translator, html=(visit, None), **formats)
    app.add_directive(WIDGET, Translator)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
