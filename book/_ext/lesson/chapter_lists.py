"""Pages that list what stands in the chapters, chapter by chapter.

``{sources-list}`` lists the notes on sources, ``{hard-exercises}`` the exercises of three stars.
"""

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

STARS = "★★★"
#: What sphinx-exercise calls its boxes.
EXERCISE = {"exercise", "exercise-start"}

#: The exercises of three stars on each page, in their order: the anchor and the title.
HARD = PerPage[list[tuple[str, str]]]("lesson_hard_exercises")

#: What each directive lists, and what it says where there is nothing.
LISTED = {"sources-list": BOXES, "hard-exercises": HARD}
EMPTY = {
    "sources-list": {
        "zh": "目前还没有哪一章有考据。",
        "en": "No chapter has notes on sources yet.",
    },
    "hard-exercises": {
        "zh": "目前还没有哪一章有三星的练习。",
        "en": "No chapter has an exercise of three stars yet.",
    },
}

#: The pages with lists, each with the names of its directives.
LISTS = PerPage[list[str]]("lesson_chapter_lists")
#: Of all that the lists show.
LISTS_DIGEST = PerBook("lesson_chapter_lists_digest", "")


class ListHere(nodes.General, nodes.Element):
    """The place of a list on its page; ``what`` names its directive."""


class ChapterList(SphinxDirective):
    """``{sources-list}`` and ``{hard-exercises}``, for the whole book."""

    def run(self) -> list[nodes.Node]:
        LISTS.of(self.env).setdefault(self.env.docname, []).append(self.name)
        return [ListHere(what=self.name)]


def note_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the exercises of three stars of a page."""
    found = []
    for exercise in doctree.findall(nodes.Element):
        title = "".join(each.astext() for each in exercise.findall(nodes.subtitle))
        if EXERCISE & set(exercise["classes"]) and STARS in title:
            found.append((exercise["ids"][0], title))
    if found:
        HARD.of(app.env)[app.env.docname] = found


def in_order(env: BuildEnvironment, what: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the pages that have any, in reading order, each with its anchors and titles."""
    listed = LISTED[what].of(env)
    return [(page, listed[page]) for page in reading_order(env) if page in listed]


def number_of(env: BuildEnvironment, page: str) -> tuple[int, ...] | None:
    return env.toc_secnumbers.get(page, {}).get("")


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the lists again if a title, a place or a chapter's number has changed."""
    pages = LISTS.of(env)
    shown = [
        (page, env.titles[page].pformat(), number_of(env, page), listed)
        for what in sorted({each for names in pages.values() for each in names})
        for page, listed in in_order(env, what)
    ]
    digest = hashlib.sha256(repr((sorted(pages.items()), shown)).encode()).hexdigest()
    return sorted(pages) if LISTS_DIGEST.update(env, digest) else []


class FillLists(SphinxPostTransform):
    """Fill in the lists."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        for here in list(self.document.findall(ListHere)):
            what = here["what"]
            chapters = [node for each in in_order(self.env, what) for node in self.chapter(*each)]
            here.replace_self(chapters or [nothing(what)])

    def chapter(self, page: str, listed: list[tuple[str, str]]) -> list[nodes.Node]:
        words = [child.deepcopy() for child in self.env.titles[page].children]
        link = self.link(page, "", words)
        if number := number_of(self.env, page):
            link["secnumber"] = number
        items = [
            nodes.list_item(
                "", nodes.paragraph("", "", self.link(page, anchor, [nodes.Text(title)]))
            )
            for anchor, title in listed
        ]
        name = nodes.paragraph("", "", link, classes=["listed-chapter"])
        return [name, nodes.bullet_list("", *items)]

    def link(self, page: str, anchor: str, words: list[nodes.Node]) -> nodes.reference:
        inside = nodes.inline("", "", *words)
        return make_refnode(builder_of(self.env), self.env.docname, page, anchor, inside)


def nothing(what: str) -> nodes.paragraph:
    words = [LanguageInline("", text, language=name) for name, text in EMPTY[what].items()]
    return nodes.paragraph("", "", *words)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_node(ListHere)
    for name in LISTED:
        app.add_directive(name, ChapterList)
    app.add_post_transform(FillLists)
    LISTS.connect(app)
    HARD.connect(app)
    app.connect("doctree-read", note_exercises)
    app.connect("env-get-updated", pages_to_write, priority=950)  # after the numbers are given
    return {"parallel_read_safe": True, "parallel_write_safe": True}
