"""The words that Sphinx, its extensions and the theme write, in both languages.

They fetch their words from message catalogs.  We put a catalog in their place that answers
with both languages at once (see `bilingual.marks`), so that "Note", "Theorem", "Fig." or a tooltip
follow the reader's language as the prose does.  A project adds words of its own to `words.yml`
with the setting `bilingual_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from gettext import NullTranslations
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import locale
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

from bilingual.marks import Bilingual, mark
from bilingual.nodes import LanguageInline

#: English to Chinese.
WORDS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("words.yml").read_text("utf8"))
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


class BilingualCatalog(NullTranslations):
    """A message catalog that answers with both languages."""

    def __init__(self, words: Mapping[str, str] = WORDS) -> None:
        super().__init__()
        self.words = words

    def gettext(self, message: str) -> str:
        zh = self.words.get(message)
        return message if zh is None else Bilingual(zh, message)

    def ngettext(self, singular: str, plural: str, count: int) -> str:
        return self.gettext(singular if count == 1 else plural)


def words_of(config: Config) -> dict[str, str]:
    """Return the words that a project knows: ours and its own."""
    own: dict[str, str] = config.bilingual_words
    return {**WORDS, **own}


def install(app: Sphinx, config: Config) -> None:
    """Replace every page catalog; the console keeps its own language."""
    catalog = BilingualCatalog(words_of(config))
    for namespace, name in list(locale.translators):
        if namespace == "general":
            locale.translators[namespace, name] = catalog
    app.translator = catalog  # the templates' `_`
    config.numfig_format = {**config.numfig_format, **FIGURE_FORMATS}
    for name, prompt in HIDDEN_CELLS.items():
        if name in config:  # myst-nb is there
            config[name] = prompt


class OpenTitles(SphinxPostTransform):
    """Take away the brackets around an exercise's title, which are those of one language alone."""

    default_priority = 25  # sphinx-exercise has put them there

    def run(self, **kwargs: Any) -> None:
        for title in self.document.findall(nodes.title):
            if "exercise" in title.parent.get("classes", ()) and title.astext().startswith(" ("):
                title.children = [nodes.Text(" "), *title[1:-1]]


def author_in_both_languages(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Translate the author's name, if the project's words hold it."""
    if "author" in context:
        context["author"] = locale._(context["author"])


def label_fields(app: Sphinx, doctree: nodes.document) -> None:
    """Translate "Raises" and its like, which Sphinx fetches before any catalog is in place."""
    words = words_of(app.config)
    for name in doctree.findall(nodes.field_name):
        zh = words.get(name.astext())
        if zh is not None:
            en = name.astext()
            name.children = []
            name += LanguageInline("", zh, language="zh")
            name += LanguageInline("", en, language="en")


def setup(app: Sphinx) -> dict[str, Any]:
    """Set the catalog up after every extension's own."""
    app.add_config_value("bilingual_words", {}, "env", dict)
    app.connect("config-inited", install, priority=950)
    app.add_post_transform(OpenTitles)
    app.connect("doctree-read", label_fields)
    app.connect("html-page-context", author_in_both_languages, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
