"""Each page with cells as Markdown in each language, beside the page; and ``llms.txt``.

``masks.en.md`` is the page as plain text, for whoever takes it into an editor or gives it to a
language model: one language, the numbers of this build, the code in sight and the text that it
printed; neither drawings nor evidence. ``masks.en.md.js`` is the same for the page's own script,
since a page from a folder can load a text in no other way. ``llms.txt`` lists all of them.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from bilingual.environment import reading_order
from bilingual.marks import Bilingual, pick
from docutils import nodes
from sphinx.application import Sphinx

from website.metadata import address_of, title_of
from website.notebooks import HIDING, LANGUAGES, Blocks, Page, has_notebooks

FROM = Bilingual("《注意力之书》的一章：{}", "A chapter of The Attention Book: {}")
DRAWING = Bilingual("图", "Drawing")
ABOUT = (
    "An interactive textbook on attention, from a weighted average to the language models of"
    " today, in English and Chinese. Every result is computed by the code of its page, and every"
    " mechanism is a tested class of the Python package `attention_book`."
)
LISTED = {"en": "Chapters in English", "zh": "各章（中文）"}


def address(page: str, language: str) -> str:
    """Return where the Markdown of a page stands in the site."""
    return f"{page}.{language}.md"


class MarkdownPage(Page):
    """Writes one page in one language as one text."""

    def __init__(self, app: Sphinx, page: str, language: str) -> None:
        super().__init__(app, page, language)
        self.shows_numbers = True

    def question(self, node: nodes.container) -> Blocks:
        yield from self.inside(node)

    def own_step(self, node: nodes.container) -> Blocks:
        yield from self.inside(node)

    def cell(self, node: nodes.container) -> Blocks:
        """Yield a cell that the page shows, the text that it printed, and its captions."""
        found = (each for each in self.waiting if each.place == node["cell_index"])
        tags = {tag for each in found for tag in each.tags}
        if tags & {"evidence", "setup"}:
            return
        for block in node.findall(nodes.literal_block):
            if tags & HIDING and is_input(block):
                continue
            yield from self.block_literal_block(block)
        for figure in node.findall(nodes.figure):
            yield self.caption(figure)

    def code_up_to(self, place: float) -> Blocks:
        yield from ()

    def drawing(self, node: nodes.figure) -> str:
        """Return what a drawing shows, in words."""
        return f"*{self.say(DRAWING)}: {self.inline(nodes.Text(node['alt'][self.language]))}*"

    def whole(self, doctree: nodes.document, description: dict[str, str]) -> str:
        blocks = [block for block in self.blocks(doctree) if isinstance(block, str) and block]
        where = self.say(FROM).format(self.url(""))
        about = [f"> {line}" for line in (description.get(self.language, ""), where) if line]
        return "\n\n".join(chain(blocks[:1], ["\n>\n".join(about)], blocks[1:])) + "\n"


def is_input(block: nodes.literal_block) -> bool:
    parent = block.parent
    return isinstance(parent, nodes.container) and parent.get("nb_element") == "cell_code_source"


def write(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the Markdown of a page."""
    if doctree is None or not has_notebooks(app.env, page):
        return
    for language in LANGUAGES:
        text = MarkdownPage(app, page, language).whole(doctree, context["description"])
        path = Path(app.outdir, address(page, language))
        path.write_text(text, encoding="utf8", newline="\n")
        script = f"attentionBookMarkdown({json.dumps(text, ensure_ascii=False)});\n"
        path.with_name(f"{path.name}.js").write_text(script, encoding="utf8", newline="\n")


def write_list(app: Sphinx, exception: Exception | None) -> None:
    """Write ``llms.txt``; take what belongs to pages that are gone out of the site."""
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = [page for page in reading_order(app.env) if has_notebooks(app.env, page)]
    there = {address(page, language) for page in pages for language in LANGUAGES}
    for path in [*out.glob("*.md"), *out.glob("*.md.js")]:
        if path.name.removesuffix(".js") not in there:
            path.unlink()
    title = pick(str(app.config.html_title), "en")
    lines = [f"# {title}", "", f"> {ABOUT}"]
    site = address_of(app, str(app.config.root_doc))
    for language, heading in LISTED.items():
        lines += ["", f"## {heading}", ""]
        for page in pages:
            name = title_of(app, page, language)
            lines.append(f"- [{name}]({site}{address(page, language)})")
    out.joinpath("llms.txt").write_text("\n".join([*lines, ""]), encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("website.notebooks")
    app.connect("html-page-context", write, priority=940)  # when the description is known
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
