"""``::::{walk} NAME``: one pass through a trained Transformer, from the model to one number."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from live.bundler import sources
from live.drawing import still_walk
from live.live_figure import LiveFigure
from live.models import NAMED, folder_of
from live.translator import object_in, skip

WIDGET = "walk"


class place_of_walk(nodes.General, nodes.Element):  # as docutils names nodes
    """Where a walk stands: it is drawn once its model has been exported."""


class Walk(LiveFigure):
    """A numbered figure with one of the book's trained Transformers.

    The build chooses its sentence and its word. The option ``begin`` says where it starts, as YAML:
    ``:begin: {at: dec.3, level: 1}``.
    """

    def run(self) -> list[nodes.Node]:
        if not self.options.get("name") or not self.content:
            return self.problem("a walk needs a name and a caption")
        for path in sources():
            self.env.note_dependency(str(path))
        found = NAMED.of(self.env)
        found[self.env.docname] = [*found.get(self.env.docname, []), self.arguments[0]]
        place = nodes.make_id(self.options["name"]) + "-live"
        begin = yaml.safe_load(self.options.get("begin", "{}"))
        node = place_of_walk(model=self.arguments[0], place=place, begin=begin)
        return [self.numbered(node, WIDGET)]


def visit(writer: Any, node: place_of_walk) -> None:
    """Draw the start, and write what the scripts need to go on from there."""
    folder, name = folder_of(writer.builder), node["model"]
    binary, example = folder / f"{name}.bin", folder / f"{name}.example.js"
    if binary.is_file() and example.is_file():  # otherwise the failed export has its warning
        text = object_in(example.read_text(encoding="utf8"))
        begin, drawing = still_walk(binary.read_bytes(), text, node["begin"], node["place"])
        data = escape(json.dumps(begin, ensure_ascii=False))
        place = f'id="{node["place"]}" data-live="{WIDGET}"'
        writer.body.append(f'<div {place} data-begin="{data}">{drawing}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(place_of_walk, html=(visit, None), **formats)
    app.add_directive(WIDGET, Walk)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
