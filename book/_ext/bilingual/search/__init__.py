"""The search in two languages: an index of sections, each with its words in both.

Sphinx's own index can't find two-character Chinese words and lists a heading in all
languages at once.  Ours is a list of sections with their text; the browser searches it:
Chinese by substring, English by stem, results in the reader's language (static/search.js).
It is loaded on the search page alone, once somebody searches.

What a page shows only when it is opened, such as a folded cell, is a place of its own within its
section (the attribute ``search_inside``): whoever searches is led there only for words that the
section does not show, and the link opens it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment

from bilingual.environment import PerPage, reading_order
from bilingual.marks import is_marked, pick
from bilingual.nodes import language_of
from bilingual.search.formulas import readable
from bilingual.search.references import fenced_label, with_words
from bilingual.search.spellings import variants

SILENT = (nodes.comment, nodes.raw, nodes.title, nodes.target, nodes.system_message, addnodes.index,
          addnodes.toctree, addnodes.desc_signature)  # fmt: skip
FORMULAS = (nodes.math, nodes.math_block)
BREAKS = (nodes.TextElement, nodes.Structural, nodes.Body)


#: The sections of each page, as the browser gets them.
SECTIONS = PerPage[list[list[str]]]("bilingual_search")


class Section:
    """What can be found at one place of the book."""

    def __init__(self, anchor: str, title: str, *, inside: bool = False) -> None:
        self.anchor = anchor
        self.inside = inside
        self.title = {language: pick(title, language).strip() for language in ("zh", "en")}
        self.text: dict[str, list[str]] = {"zh": [], "en": [], "": []}

    def add(self, text: str, language: str) -> None:
        """Words of one language, of both (""), or a label that holds both languages in marks."""
        if is_marked(text):
            for own in ("zh", "en"):
                self.text[own].append(pick(text, own))
        else:
            self.text[language].append(text)

    def entry(self) -> list[str]:
        """As the browser gets it: anchor, titles, texts in zh, in en, in both; "inside"."""
        texts = [" ".join("".join(self.text[key]).split()) for key in ("zh", "en", "")]
        inside = ["inside"] if self.inside else []
        return [self.anchor, self.title["zh"], self.title["en"], *texts, *inside]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the sections of a chapter that was just read."""
    sections: list[Section] = []
    _walk(doctree, None, "", sections)
    SECTIONS.of(app.env)[app.env.docname] = [section.entry() for section in sections]


def _walk(node: nodes.Node, section: Section | None, language: str, found: list[Section]) -> None:
    if isinstance(node, nodes.Text):
        if section is not None:
            section.add(str(node), language)
        return
    if isinstance(node, SILENT):
        return
    words = readable(node.astext()) if isinstance(node, FORMULAS) else fenced_label(node)
    if words is not None:
        if section is not None:
            section.add(words, language)
            if isinstance(node, nodes.math_block):
                section.add(" ", language)
        return
    opened = _open(node)
    if opened is not None:
        section = opened
        found.append(section)
    language = language or language_of(node) or ""
    for child in node.children:
        _walk(child, section, language, found)
    if section is not None and isinstance(node, BREAKS) and not isinstance(node, nodes.Inline):
        # What stands in no language of its own, such as a table's cell, parts the words of both.
        for own in [language] if language else section.text:
            section.text[own].append(" ")


def _open(node: nodes.Node) -> Section | None:
    """Does a section, the entry of a documented name, or a box with a title begin here?"""
    if isinstance(node, nodes.Element) and "search_title" in node:
        anchor = node.get("search_anchor") or node["ids"][0]
        return Section(anchor, node["search_title"], inside="search_inside" in node)
    if isinstance(node, nodes.section) and node.children and isinstance(node[0], nodes.title):
        top = isinstance(node.parent, nodes.document)
        return Section("" if top else node["ids"][0], node[0].astext())
    if isinstance(node, addnodes.desc):
        signature = next(iter(node.findall(addnodes.desc_signature)), None)
        if signature is not None and signature.get("ids"):
            return Section(signature["ids"][0], signature.get("fullname") or signature.astext())
    return None


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index if it changed."""
    if exception or app.builder.format != "html":
        return
    store = SECTIONS.of(app.env)
    pages = [
        [app.builder.get_target_uri(name), [_in_words(app.env, entry) for entry in store[name]]]
        for name in reading_order(app.env)
        if store.get(name)
    ]
    text = _as_json(pages)
    spellings = _as_json({"characters": variants(text), "words": app.config.bilingual_other_words})
    script = f"window.bookIndex={text};\nwindow.bookSpellings={spellings};\n"
    _write_if_new(Path(app.outdir) / "search-index.js", script)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _in_words(env: BuildEnvironment, entry: list[str]) -> list[str]:
    """Write the references of a section in words; what belongs to both languages, in English."""
    anchor, title_zh, title_en, zh, en, both, *inside = entry
    texts = (with_words(env, zh, "zh"), with_words(env, en, "en"), with_words(env, both, "en"))
    return [anchor, title_zh, title_en, *texts, *inside]


def _write_if_new(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")


def search_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "search", {"title": app.translator.gettext("Search")}, "search.html"


def replace_sphinx_search(app: Sphinx) -> None:
    """Switch off Sphinx's own index and its search page."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("bilingual_other_words", {}, "html", dict)
    app.connect("builder-inited", replace_sphinx_search)
    app.connect("doctree-read", collect, priority=950)
    SECTIONS.connect(app)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
