"""The page of the notes on sources: ``{sources-list}`` lists them all, chapter by chapter."""

from __future__ import annotations

import hashlib
from typing import Any

from bilingual.environment import PerBook, PerPage, builder_of, reading_order
from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from lesson.sources import BOXES

EMPTY = {
    "zh": "目前还没有哪一章有考据。",
    "en": "No chapter has notes on sources yet.",
}

#: The pages with a list.
LISTS = PerPage[bool]("lesson_sources_lists")
#: Of all that the list shows.
LIST_DIGEST = PerBook("lesson_sources_digest", "")


class SourcesHere(nodes.General, nodes.Element):
    """The place of the list on its page."""


class SourcesListDirective(SphinxDirective):
    """``{sources-list}``: the notes on sources of the whole book."""

    def run(self) -> list[nodes.Node]:
        LISTS.of(self.env)[self.env.docname] = True
        return [SourcesHere()]


def in_order(env: BuildEnvironment) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the pages with notes on sources in reading order, each with its boxes."""
    boxes = BOXES.of(env)
    return [(page, boxes[page]) for page in reading_order(env) if page in boxes]


def number_of(env: BuildEnvironment, page: str) -> tuple[int, ...] | None:
    return env.toc_secnumbers.get(page, {}).get("")


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the list again if a title, a place or a chapter's number has changed."""
    pages = sorted(LISTS.of(env))
    chapters = [
        (page, env.titles[page].pformat(), number_of(env, page), boxes)
        for page, boxes in in_order(env)
    ]
    digest = hashlib.sha256(repr((pages, chapters)).encode()).hexdigest()
    return pages if LIST_DIGEST.update(env, digest) else []


class ListSources(SphinxPostTransform):
    """Fill in the list."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        for here in list(self.document.findall(SourcesHere)):
            chapters = [node for each in in_order(self.env) for node in self.chapter(*each)]
            here.replace_self(chapters or [self.nothing()])

    def chapter(self, page: str, boxes: list[tuple[str, str]]) -> list[nodes.Node]:
        words = [child.deepcopy() for child in self.env.titles[page].children]
        link = self.link(page, "", words)
        if number := number_of(self.env, page):
            link["secnumber"] = number
        items = [
            nodes.list_item(
                "", nodes.paragraph("", "", self.link(page, anchor, [nodes.Text(title)]))
            )
            for anchor, title in boxes
        ]
        name = nodes.paragraph("", "", link, classes=["sources-chapter"])
        return [name, nodes.bullet_list("", *items)]

    def link(self, page: str, anchor: str, words: list[nodes.Node]) -> nodes.reference:
        inside = nodes.inline("", "", *words)
        return make_refnode(builder_of(self.env), self.env.docname, page, anchor, inside)

    def nothing(self) -> nodes.paragraph:
        words = [LanguageInline("", text, language=language) for language, text in EMPTY.items()]
        return nodes.paragraph("", "", *words)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_node(SourcesHere)
    app.add_directive("sources-list", SourcesListDirective)
    app.add_post_transform(ListSources)
    LISTS.connect(app)
    app.connect("env-get-updated", pages_to_write, priority=950)  # after the numbers are given
    return {"parallel_read_safe": True, "parallel_write_safe": True}
