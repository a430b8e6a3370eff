"""Notes on sources: a folded box with a title that others can refer to.

``::::{sources} {zh}`…` {en}`…` `` with ``:name: sec-…`` holds one :::{zh} and one :::{en}, and
what belongs to both. The details element is the browser's own: it opens without a script, and
where the browser finds a word inside.
"""

from __future__ import annotations

from typing import ClassVar

from bilingual.environment import PerPage
from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline, language_of
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

LANGUAGES = ("zh", "en")
#: What stands before the title of a box.
PREFIX = Bilingual("考据：", "Notes on sources: ")

#: The boxes of each page in their order: the anchor and the title, with its marks.
BOXES = PerPage[list[tuple[str, str]]]("lesson_sources")


class SourcesBox(nodes.General, nodes.Element):
    """The folded box: first its title, then what it holds."""


class SourcesTitle(nodes.title):
    """The line that stays visible."""


class Sources(SphinxDirective):
    """``::::{sources} title`` with ``:name:``."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        words, messages = self.state.inline_text(self.arguments[0], self.lineno)
        title = SourcesTitle("", "", *words)
        box = SourcesBox("", title)
        self.set_source_info(box)
        self.set_source_info(title)
        self.state.nested_parse(self.content, self.content_offset, box)
        if not self.options.get("name"):
            return self.problem("notes on sources need a :name:, so that others can refer to them")
        for language in LANGUAGES:
            if language not in map(language_of, title.children):
                return self.problem(f"the title of notes on sources needs {{{language}}}`…`")
            if language not in map(language_of, box.children):
                return self.problem(f"notes on sources need a :::{{{language}}}")
        self.add_name(box)
        return [box, *messages]

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="lesson")
        return []


def note_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Have {ref} to a box give its title, as it does for sections; remember it for the list."""
    labels = app.env.get_domain("std").data["labels"]
    boxes = []
    for box in doctree.findall(SourcesBox):
        title = box[0]
        assert isinstance(title, SourcesTitle)
        box["search_title"] = title.astext()
        boxes.append((box["ids"][0], box["search_title"]))
        for name in box["names"]:
            labels[name] = (app.env.docname, *boxes[-1])
        say_what_it_is(title)
    if boxes:
        BOXES.of(app.env)[app.env.docname] = boxes


def say_what_it_is(title: SourcesTitle) -> None:
    """Write what the box is before its title, in each language."""
    for words in title.findall(LanguageInline):
        prefix = getattr(PREFIX, words["language"])
        words.insert(0, nodes.inline("", prefix, classes=["sources-word"]))


def visit_box(translator: HTML5Translator, node: SourcesBox) -> None:
    translator.body.append(translator.starttag(node, "details", CLASS="sources"))


def depart_box(translator: HTML5Translator, node: SourcesBox) -> None:
    translator.body.append("</div>\n</details>\n")


def visit_title(translator: HTML5Translator, node: SourcesTitle) -> None:
    translator.body.append("<summary>")


def depart_title(translator: HTML5Translator, node: SourcesTitle) -> None:
    translator.body.append('</summary>\n<div class="sources-text">\n')


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(SourcesBox, html=(visit_box, depart_box))
    app.add_node(SourcesTitle, html=(visit_title, depart_title))
    app.add_directive("sources", Sources)
    BOXES.connect(app)
    app.connect("doctree-read", note_titles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
