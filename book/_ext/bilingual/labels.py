"""Every word that the machinery writes, in both languages.

Sphinx and its extensions fetch their words from message catalogues.  We put a catalogue in
their place that answers with both languages at once (see `bilingual.marks`), so "Note",
"Theorem", "Fig." or a tooltip follow the reader's language like the prose does.
"""

from __future__ import annotations

from gettext import NullTranslations
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import locale
from sphinx.application import Sphinx
from sphinx.config import Config

from bilingual.marks import Bilingual, mark
from bilingual.nodes import LanguageInline

WORDS: dict[str, str] = yaml.safe_load((Path(__file__).with_name("words.yml")).read_text("utf8"))
FIGURE_FORMATS = {
    "figure": Bilingual("图 ", "Fig. ") + "%s",
    "table": Bilingual("表 ", "Table ") + "%s",
    "code-block": Bilingual("代码 ", "Listing ") + "%s",
    "exercise": Bilingual("练习 ", "Exercise ") + "%s",
    "section": mark("zh", "第 ") + mark("en", "Section ") + "%s" + mark("zh", " 节"),
}
HIDDEN_CELLS = {  # myst-nb's summary over a folded cell: what is folded, in both languages
    "nb_code_prompt_show": Bilingual("显示代码", "Show the code"),
    "nb_code_prompt_hide": Bilingual("隐藏代码", "Hide the code"),
}


class BilingualCatalogue(NullTranslations):
    """A message catalogue that answers with both languages."""

    def gettext(self, message: str) -> str:
        zh = WORDS.get(message)
        return message if zh is None else Bilingual(zh, message)

    def ngettext(self, singular: str, plural: str, count: int) -> str:
        return self.gettext(singular if count == 1 else plural)


def install(app: Sphinx, config: Config) -> None:
    """Replace every page catalogue; the console keeps its own language."""
    catalogue = BilingualCatalogue()
    for namespace, name in list(locale.translators):
        if namespace == "general":
            locale.translators[namespace, name] = catalogue
    app.translator = catalogue  # the templates' `_`
    config.numfig_format = {**config.numfig_format, **FIGURE_FORMATS}
    for name, prompt in HIDDEN_CELLS.items():
        config[name] = prompt


def author_in_both_languages(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if "author" in context:
        context["author"] = locale._(context["author"])


def unique_ids(app: Sphinx, doctree: nodes.document) -> None:
    """Give the boxes of sphinx-exercise and sphinx-proof, and their contents, ids of their own.

    Both packages repeat fixed ids: "exercise-content" for each exercise, "proof" for each proof.
    """
    for number, proof in enumerate(doctree.findall(nodes.admonition), start=1):
        if proof["ids"] == ["proof"]:
            proof["ids"] = [f"proof-{number}"]
    fixed = ("exercise-content", "solution-content", "proof-content")
    for number, section in enumerate(doctree.findall(nodes.section), start=1):
        if section["ids"] and section["ids"][0] in fixed:
            label = (section.parent.get("ids") or [f"box-{number}"])[0]
            section["ids"] = [f"{label}-content"]


def label_fields(app: Sphinx, doctree: nodes.document) -> None:
    """Sphinx's Python domain fetches "Raises" and its like before any catalogue is in place."""
    for name in doctree.findall(nodes.field_name):
        zh = WORDS.get(name.astext())
        if zh is not None:
            en = name.astext()
            name.children = []
            name += LanguageInline("", zh, language="zh")
            name += LanguageInline("", en, language="en")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", install, priority=950)  # after every extension's catalogue
    app.connect("doctree-read", unique_ids)
    app.connect("doctree-read", label_fields)
    app.connect("html-page-context", author_in_both_languages, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
