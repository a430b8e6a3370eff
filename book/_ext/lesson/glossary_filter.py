"""A glossary has a field that finds entries as one types, and on a Chinese page pinyin's order.

An entry's first term says how it is spelled (``data-pinyin``, with the tones as digits); the script
behind the list reads that. It stands in the page, so that nothing is drawn in another order first.
Without scripts there is no field, and the list is whole.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from bilingual.marks import Bilingual
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from lesson.glossary_entries import entries

SCRIPT = Path(__file__).parent / "templates" / "glossary.js"
#: What the library reads otherwise than the field does.
READ = {"微调": [["wēi"], ["tiáo"]], "重置": [["chóng"], ["zhì"]]}
FIND = Bilingual("找词条", "Find a term")
FIELD = """<form class="glossary-filter" role="search">
<label>{find} <input type="search" autocomplete="off" autocapitalize="off" spellcheck="false"
 placeholder="汉字、拼音或英文" data-bl="placeholder"
 data-zh-placeholder="汉字、拼音或英文" data-en-placeholder="attention"></label>
<span role="status"></span>
</form>"""


@cache
def spelling() -> Any:
    """Return the library's function, taught how the field reads some words."""
    from pypinyin import Style, lazy_pinyin, load_phrases_dict  # slow to import

    load_phrases_dict(READ)
    return lambda term: lazy_pinyin(term, style=Style.TONE3)


def pinyin(term: str) -> str:
    """Return a term in pinyin, a space between syllables, with the digits of the tones.

    >>> pinyin("长度惩罚"), pinyin("BLEU 分数")
    ('chang2 du4 cheng2 fa2', 'bleu fen1 shu4')
    """
    return " ".join(" ".join(spelling()(term)).lower().split())


class FilterField(SphinxPostTransform):
    """Put the field before each glossary and its script behind it; spell the entries."""

    default_priority = 3
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for _, terms in list(entries(self.document)):
            terms[0]["pinyin"] = pinyin(terms[0].astext())
        for glossary in list(self.document.findall(addnodes.glossary)):
            at = glossary.parent.index(glossary)
            script = f"<script>\n{SCRIPT.read_text('utf8')}</script>"
            glossary.parent.insert(at + 1, nodes.raw("", script, format="html"))
            glossary.parent.insert(at, nodes.raw("", FIELD.format(find=FIND), format="html"))


def visit_term(translator: Any, node: nodes.term) -> None:
    spelled = {"data-pinyin": node["pinyin"]} if "pinyin" in node else {}
    translator.body.append(translator.starttag(node, "dt", "", **spelled))


def depart_term(translator: Any, node: nodes.term) -> None:
    HTML5Translator.depart_term(translator, node)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(FilterField)
    app.add_node(nodes.term, override=True, html=(visit_term, depart_term))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
