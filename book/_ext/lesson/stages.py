"""A drawing in stages: whole at first, in print and without scripts, and one at a time if asked.

``:::{stages} name`` with the options of ``{diagram}`` holds a caption and an ordered list, one
sentence for each stage. In the drawing ``data-stage="3"`` stands from stage 3 on, and
``data-stage="2-4"`` in these stages only; what ends before the last is not in the whole drawing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from bilingual.marks import Bilingual
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

FEWEST, MOST = 4, 8
STAGE = re.compile(r'data-stage="([^"]*)"')
#: The buttons and the place of the sentence; shown where there are scripts (lesson.css).
CONTROLS = """<div class="stages-panel">
<div class="stages-controls">
<button type="button" data-step="-1" aria-disabled="true">
<span aria-hidden="true">‹</span> {before}</button>
<span class="stages-count"><span class="stages-now">0</span> / {last}</span>
<button type="button" data-step="1">{after} <span aria-hidden="true">›</span></button>
</div>
<p class="stages-sentence" aria-live="polite">{begin}</p>
</div>"""
BEFORE, AFTER = Bilingual("上一步", "Previous"), Bilingual("下一步", "Next")
BEGIN = Bilingual(
    "这是全图。点“下一步”，一步一步看。", "This is the whole. Press Next to see it step by step."
)


class Stages(SphinxDirective):
    """``:::{stages} name``: a drawing of ``book/figures/``, numbered, with its stages."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        "alt-zh": directives.unchanged_required,
        "alt-en": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        if [type(child) for child in holder.children] != [nodes.paragraph, nodes.enumerated_list]:
            return self.problem("stages hold a caption, then an ordered list, and nothing else")
        words, sentences = holder.children
        figure = self.diagram()
        if figure is None:
            return []  # {diagram} has said why
        if wrong := self.wrong_stages(len(sentences.children)):
            return self.problem(wrong)
        panel = CONTROLS.format(
            before=BEFORE, after=AFTER, begin=BEGIN, last=len(sentences.children)
        )
        caption = nodes.caption("", "", *words.children)
        self.set_source_info(caption)
        # One node with the drawing: docutils opens the legend's place by its number in the figure.
        figure[0] = nodes.raw("", panel + figure[0].astext(), format="html")
        figure += [caption, nodes.legend("", sentences)]
        figure["classes"].append("stages")
        return [figure]

    def diagram(self) -> nodes.figure | None:
        """Return the drawing as ``{diagram}`` shows it, without a caption."""
        directive: Any
        directive, _ = directives.directive(
            "diagram", self.state.memo.language, self.state.document
        )
        found = directive(
            "diagram", self.arguments, self.options, StringList(), self.lineno,
            self.content_offset, self.block_text, self.state, self.state_machine,
        ).run()  # fmt: skip
        return found[0] if found else None

    def wrong_stages(self, sentences: int) -> str:
        """Say what is wrong between the sentences and the drawing's stages; "" if nothing."""
        name = self.arguments[0]
        text = Path(self.env.srcdir, "figures", f"{name}.svg").read_text(encoding="utf8")
        written = STAGE.findall(text)
        if unknown := [each for each in written if not re.fullmatch(r"[1-9](-[1-9])?", each)]:
            return f'figures/{name}.svg: data-stage="{unknown[0]}" is neither "3" nor "2-4"'
        stages = {int(number) for each in written for number in each.split("-")}
        if max(stages, default=0) != sentences:
            return (
                f"the list has {sentences} sentences, "
                f"figures/{name}.svg has {max(stages, default=0)} stages"
            )
        if not FEWEST <= sentences <= MOST:
            return f"a drawing has {FEWEST} to {MOST} stages, {name} has {sentences}"
        return ""

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="lesson")
        return []


def add_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script on pages with stages."""
    figures = doctree.findall(nodes.figure) if doctree else ()
    if any("stages" in figure["classes"] for figure in figures):
        app.add_js_file("stages.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("stages", Stages)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
