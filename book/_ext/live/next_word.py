"""``::::{next-word} NAME …``: language models that write in the page, the first shown first."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from live.bundler import sources
from live.drawing import still_next_word
from live.live_figure import LiveFigure
from live.models import NAMED, folder_of
from live.translator import skip

WIDGET = "next-word"
#: How the figure begins: as ``attention-book write`` draws, with a few tokens written already.
USUAL = {"t": 0.8, "p": 0.95, "written": 4}


class place_of_next_word(nodes.General, nodes.Element):  # as docutils names nodes
    """Where the models write: it is drawn once they have been copied."""


class NextWord(LiveFigure):
    """A numbered figure with one or more recorded language models.

    The option ``begin`` says of each what it goes on with, as YAML: ``:begin: {austen: It was}``.
    """

    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        if not self.options.get("name") or not self.content:
            return self.problem("next-word needs a name and a caption")
        for path in sources():
            self.env.note_dependency(str(path))
        names = " ".join(self.arguments).split()
        prompts = yaml.safe_load(self.options.get("begin", "{}"))
        if missing := [name for name in names if name not in prompts]:
            return self.problem(f"next-word: begin: no text for {missing[0]}")
        found = NAMED.of(self.env)
        found[self.env.docname] = [*found.get(self.env.docname, []), *names]
        place = nodes.make_id(self.options["name"]) + "-live"
        begins = {name: {**USUAL, "prompt": prompts[name]} for name in names}
        return [self.numbered(place_of_next_word(begins=begins, place=place), WIDGET)]


def visit(writer: Any, node: place_of_next_word) -> None:
    """Draw the start, and write what the scripts need to go on from there."""
    folder, begins = folder_of(writer.builder), node["begins"]
    files = [folder / f"{name}.bin" for name in begins]
    if all(path.is_file() for path in files):  # otherwise what is missing has its warning
        models = [(path.read_bytes(), begins[path.stem]) for path in files]
        begin, drawing = still_next_word(models, node["place"])
        data = escape(json.dumps(begin, ensure_ascii=False, separators=(",", ":")))
        place = f'id="{node["place"]}" data-live="{WIDGET}"'
        writer.body.append(f'<div {place} data-begin="{data}">{drawing}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(place_of_next_word, html=(visit, None), **formats)
    app.add_directive(WIDGET, NextWord)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
