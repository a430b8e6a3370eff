"""The line at the head of a chapter: how long it takes; unfolded, what it needs and teaches.

``::::{opening}`` holds one :::{zh} and one :::{en}, each with three bold lines and a list under
each of them.  On the page the minutes are a line, in which the road finds its place, and the three
parts stand side by side in its fold.
"""

from __future__ import annotations

import re
from html import escape

from bilingual.marks import Bilingual
from bilingual.nodes import language_of
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

#: The three parts, by the bold line over each.
PARTS = {
    "zh": ("需要", "学完之后，你能", "时间"),
    "en": ("You need", "Afterwards you can", "Time"),
}
#: The line: the minutes, what others say in it, and what its fold holds.
LINE = '<details class="opening-more"><summary>{time}'
REST = '<span class="opening-rest"> · {more}</span></summary>'
MORE = Bilingual("需要什么，学完能做什么", "what you need, what you will be able to do")


class Opening(SphinxDirective):
    """``::::{opening}`` … ``::::`` around both languages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        found = [child for child in holder.children if isinstance(child, nodes.container)]
        blocks = {language_of(child) or "": child for child in found}
        box = nodes.container(classes=["opening"], search_silent=True)
        self.set_source_info(box)
        if len(holder) != 2 or set(blocks) != set(PARTS):
            return self.problem("an opening holds one :::{zh} and one :::{en}, and nothing else")
        for language, block in blocks.items():
            if not is_in_parts(block, PARTS[language]):
                wanted = "; ".join(f"**{title}** and a list" for title in PARTS[language])
                return self.problem(f"the :::{{{language}}} of an opening needs {wanted}")
        time = Bilingual(*(escape(time_of(blocks[language])) for language in PARTS))
        box += nodes.raw("", LINE.format(time=time), format="html")
        box += nodes.raw("", REST.format(more=MORE), format="html")
        for number, key in enumerate(("need", "goal", "time")):
            part = nodes.container(classes=["opening-part", f"opening-{key}"])
            for language in PARTS:
                block = blocks[language]
                column = block.copy()  # without its children
                title, items = block.children[2 * number : 2 * number + 2]
                assert isinstance(title, nodes.Element)  # as is_in_parts has seen
                title["classes"].append("opening-title")
                column += [title, items]
                part += column
            box += part
        box += nodes.raw("", "</details>", format="html")
        return [box]

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="lesson")
        return []


def time_of(block: nodes.Element) -> str:
    """Return the minutes that a block names first, those of the text."""
    return re.split("[,，;；]", next(iter(block[-1].findall(nodes.paragraph))).astext())[0]


def is_in_parts(block: nodes.Element, titles: tuple[str, ...]) -> bool:
    """Does the block hold these bold lines, in this order, each with a list under it?"""
    if len(block) != 2 * len(titles):
        return False
    pairs = zip(block.children[::2], block.children[1::2], titles, strict=True)
    return all(
        is_bold(line) and line.astext() == title and isinstance(items, nodes.bullet_list)
        for line, items, title in pairs
    )


def is_bold(line: nodes.Node) -> bool:
    """Is all the line's text bold?  MyST leaves empty texts before and after it."""
    return isinstance(line, nodes.paragraph) and all(
        isinstance(child, nodes.strong) for child in line.children if child.astext()
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("opening", Opening)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
