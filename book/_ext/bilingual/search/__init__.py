"""The search in two languages: an index of sections, each with its words in both.

Sphinx's own index can't find two-character Chinese words and lists a heading in all
languages at once.  Ours is a list of sections with their text; the browser searches it:
Chinese by substring, English by stem, results in the reader's language
(static/search-engine.js finds, static/search.js shows).
It comes in parts, once somebody searches: the headings, the text of the reader's language, and
only where these do not do the rest.

What a page shows only when it is opened, such as a folded cell, is a place of its own within its
section (the attribute ``search_inside``): whoever searches is led there only for words that the
section does not show, and the link opens it. A box with the attribute ``search_silent`` is in no
excerpt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment

from bilingual.environment import PerBook, PerPage, reading_order
from bilingual.marks import is_marked, pick
from bilingual.nodes import language_of
from bilingual.search.formulas import readable
from bilingual.search.references import fenced_label, with_words
from bilingual.search.spellings import variants

SILENT = (nodes.comment, nodes.raw, nodes.title, nodes.target, nodes.system_message, addnodes.index,
          addnodes.toctree, addnodes.desc_signature)  # fmt: skip
FORMULAS = (nodes.math, nodes.math_block)
BREAKS = (nodes.TextElement, nodes.Structural, nodes.Body)


FOLDER = "search-index"
#: The parts of the index beside its headings: the texts of each language, and of both.
TEXTS = ("zh", "en", "both")
#: The group of a page with a number, and of one that `bilingual_search_kinds` does not name.
CHAPTER, PAGE = "chapter", "page"

#: The sections of each page.
SECTIONS = PerPage[list[list[str]]]("bilingual_search")
#: What a section is the first to explain, by page and anchor: an extension may tell.
EXPLAINED = PerBook[dict[tuple[str, str], list[str]]]("bilingual_search_explained", {})


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
        """Return anchor, titles, texts in zh, in en, in both; "inside"."""
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
    if isinstance(node, SILENT) or (isinstance(node, nodes.Element) and "search_silent" in node):
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
    """Write the parts of the index that changed."""
    if exception or app.builder.format != "html":
        return
    store, explained = SECTIONS.of(app.env), EXPLAINED.of(app.env)
    names = [name for name in reading_order(app.env) if store.get(name)]
    pages = {name: [_in_words(app.env, entry) for entry in store[name]] for name in names}
    heads = {
        "pages": [
            [
                app.builder.get_target_uri(name),
                kind_of(app, name),
                [_head(entry, explained.get((name, entry[0]), [])) for entry in entries],
            ]
            for name, entries in pages.items()
        ],
        "characters": variants(_as_json(pages)),
        "words": app.config.bilingual_other_words,
        **word_lists(app),
    }
    folder = Path(app.outdir) / FOLDER
    for number, part in enumerate(("heads", *TEXTS)):
        value = [[entry[2 + number] for entry in entries] for entries in pages.values()]
        text = _as_json(value if number else heads)
        script = f"(window.bookIndex ??= {{}}).{part}={text};\n"
        _write_if_new(folder / f"{part}.js", script)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _head(entry: list[str], names: list[str]) -> list[Any]:
    """What is loaded first: anchor, titles; whether it is folded away, what it explains."""
    anchor, zh, en, _, _, _, *inside = entry
    more = [1 if inside else 0, names] if names else [1] if inside else []
    return [anchor, zh, en, *more]


def kind_of(app: Sphinx, page: str) -> str:
    """Return the group of results that a page belongs to."""
    for pattern, kind in app.config.bilingual_search_kinds.items():
        if fnmatch(page, pattern):
            return str(kind)
    return CHAPTER if app.env.toc_secnumbers.get(page, {}).get("") else PAGE


def word_lists(app: Sphinx) -> Mapping[str, Any]:
    """Return what the project's file says: words that mean the same, that say nothing, that a page
    is about though its title does not have them.
    """
    name = app.config.bilingual_search_words
    if not name:
        return {"same": [], "silent": [], "about": {}}
    found = yaml.safe_load(Path(app.srcdir, name).read_text(encoding="utf8"))
    return {
        "same": [[str(word) for word in line] for line in found.get("same", [])],
        "about": {
            app.builder.get_target_uri(page): words
            for page, words in found.get("about", {}).items()
        },
        "silent": [
            word for line in found.get("silent", []) for word in re.split(r"[,，、]\s*", line)
        ],
    }


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
    app.add_config_value("bilingual_search_kinds", {}, "html", dict)
    app.add_config_value("bilingual_search_words", "", "html", str)
    app.connect("builder-inited", replace_sphinx_search)
    app.connect("doctree-read", collect, priority=950)
    SECTIONS.connect(app)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
