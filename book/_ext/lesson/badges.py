"""The weight of a section, in its heading: {core}`8` is "core · 8 min", {optional}`5` optional.

The heading as others repeat it (sidebar, references, titles, search) stays without the badge: it
is taken out of the heading while the page is read, and put back when the page is written.
"""

from __future__ import annotations

from typing import Any

from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)

#: The words of each role.
WORDS = {
    "core": Bilingual("必读 · {} 分钟", "core · {} min"),
    "optional": Bilingual("选读 · {} 分钟", "optional · {} min"),
}


class Badge(nodes.inline):
    """A badge in a heading; its plain text is nothing, as names and ids are made of that."""

    def astext(self) -> str:
        return ""


class BadgeRole(SphinxRole):
    """``{core}`8` `` or ``{optional}`5` ``: the minutes that a section takes."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        badge = Badge(weight=self.name, minutes=self.text.strip())
        self.set_source_info(badge)
        if not badge["minutes"].isdecimal() or badge["minutes"] == "0":
            logger.warning(
                "{%s}`%s`: expected the section's minutes, a whole number", self.name, self.text,
                location=badge, type="lesson",
            )  # fmt: skip
            return [], []
        return [badge], []


class TakeBadgesOut(SphinxTransform):
    """Note the badge at the heading's node, and take it out of the heading's words."""

    default_priority = 4

    def apply(self) -> None:
        for badge in list(self.document.findall(Badge)):
            title = badge.parent
            is_last = title.index(badge) == len(title) - 1
            title.remove(badge)
            if not isinstance(title, nodes.title) or not is_last or "badge" in title:
                logger.warning(
                    "{%s} belongs at the end of a heading, once", badge["weight"],
                    location=badge, type="lesson",
                )  # fmt: skip
                continue
            title["badge"] = (badge["weight"], badge["minutes"])
            if title.children and isinstance(title[-1], nodes.Text):
                title[-1] = nodes.Text(title[-1].rstrip())


class PutBadgesBack(SphinxPostTransform):
    """Write each heading's badge on its own page."""

    default_priority = 30

    def run(self, **kwargs: Any) -> None:
        for title in self.document.findall(nodes.title):
            if "badge" in title:
                weight, minutes = title["badge"]
                words = WORDS[weight]
                badge = nodes.inline(classes=["section-weight", f"weight-{weight}"])
                for language in ("zh", "en"):
                    text = getattr(words, language).format(minutes)
                    badge += LanguageInline("", text, language=language)
                title += [nodes.Text(" "), badge]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(Badge)
    for weight in WORDS:
        app.add_role(weight, BadgeRole())
    app.add_transform(TakeBadgesOut)
    app.add_post_transform(PutBadgesBack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
