"""Notes on sources: a folded box with a title that others can refer to.

``::::{sources} {zh}`…` {en}`…` `` with ``:name: sec-…`` holds one :::{zh} and one :::{en}, and
what belongs to both.
"""

from __future__ import annotations

from typing import ClassVar

from bilingual.marks import Bilingual
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

#: What stands before the title of a box.
PREFIX = Bilingual("考据：", "Notes on sources: ")


class SourcesBox(nodes.General, nodes.Element):
    """The folded box: first its title, then what it holds."""


class SourcesTitle(nodes.Part, nodes.TextElement):
    """The line that stays visible."""


class Sources(SphinxDirective):
    """``::::{sources} title`` with ``:name:``."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        words, messages = self.state.inline_text(self.arguments[0], self.lineno)
        title = SourcesTitle("", "", *words)
        box = SourcesBox("", title)
        self.set_source_info(box)
        self.set_source_info(title)
        self.add_name(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box, *messages]


def note_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Have {ref} to a box give its title, as it does for sections."""
    labels = app.env.get_domain("std").data["labels"]
    for box in doctree.findall(SourcesBox):
        for name in box["names"]:
            labels[name] = (app.env.docname, box["ids"][0], box[0].astext())


def visit_box(translator: HTML5Translator, node: SourcesBox) -> None:
    translator.body.append(translator.starttag(node, "details", CLASS="sources"))


def depart_box(translator: HTML5Translator, node: SourcesBox) -> None:
    translator.body.append("</div></details>\n")


def visit_title(translator: HTML5Translator, node: SourcesTitle) -> None:
    translator.body.append(f'<summary><span class="sources-word">{PREFIX}</span>')


def depart_title(translator: HTML5Translator, node: SourcesTitle) -> None:
    translator.body.append('</summary>\n<div class="sources-text">\n')


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(SourcesBox, html=(visit_box, depart_box))
    app.add_node(SourcesTitle, html=(visit_title, depart_title))
    app.add_directive("sources", Sources)
    app.connect("doctree-read", note_titles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
