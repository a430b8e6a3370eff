"""Each entry of a glossary is a result of the search, and leads to where the term is introduced.

A term is introduced by the first section, in reading order, that links to its entry; exercises and
further reading introduce only what no other section names. Pages without
a chapter's number (the glossary itself, the notation, lists) use terms and introduce none, except
those that the setting `lesson_introductions` names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from bilingual.environment import PerBook, PerPage, builder_of, reading_order
from bilingual.marks import mark
from bilingual.nodes import LanguageInline
from bilingual.search import EXPLAINED
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from lesson.parts import EXERCISES, READING, SECTIONS

INTRODUCED = {"zh": "见：", "en": "See: "}
_CHINESE = re.compile("[\u3400-\u9fff]")


class Use(NamedTuple):
    """A term in the text: its name, the section that it stands in, and whether that one tells."""

    term: str
    anchor: str
    title: str
    telling: bool


#: Sections that use terms, and are no place to look one up.
APART = {SECTIONS[EXERCISES], SECTIONS[READING]}
#: The first use of each term on each page, in the order of the page; a telling one before others.
USES = PerPage[list[Use]]("lesson_term_uses")
#: The names of all entries on each page that has a glossary.
ENTRIES = PerPage[list[tuple[str, ...]]]("lesson_glossary_entries")
DIGEST = PerBook("lesson_glossary_digest", "")


def entries(
    doctree: nodes.document,
) -> Iterator[tuple[nodes.definition_list_item, list[nodes.term]]]:
    """Yield each entry of the glossaries on a page, with its terms."""
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            yield item, [child for child in item.children if isinstance(child, nodes.term)]


def names_of(terms: list[nodes.term]) -> tuple[str, ...]:
    return tuple(term.astext() for term in terms)


def search_title(names: tuple[str, ...]) -> str:
    """Return the entry's title, in both languages; a name without Chinese may serve for both."""
    chinese = [name for name in names if _CHINESE.search(name)]
    others = [name for name in names if name not in chinese]
    return mark("zh", "、".join(chinese or others)) + mark("en", ", ".join(others or chinese))


def read_page(app: Sphinx, doctree: nodes.document) -> None:
    """Name the entries for the search; remember them, and the terms that the page uses."""
    page, found = app.env.docname, list(entries(doctree))
    for item, terms in found:
        item["search_title"] = search_title(names_of(terms))
        item["search_anchor"] = terms[0]["ids"][0]
    if found:
        ENTRIES.of(app.env)[page] = [names_of(terms) for _, terms in found]
    uses: dict[str, Use] = {}
    for reference in doctree.findall(addnodes.pending_xref):
        if reference.get("reftype") == "term":
            term = reference["reftarget"].lower()
            use = Use(term, *_section_of(reference))
            if term not in uses or (use.telling and not uses[term].telling):
                uses[term] = use
    USES.of(app.env)[page] = list(uses.values())


def _section_of(node: nodes.Node) -> tuple[str, str, bool]:
    """Return the anchor and the title of the section around a node, and whether it tells."""
    while not (isinstance(node, nodes.section) and isinstance(node[0], nodes.title)):
        if node.parent is None:
            return "", "", True
        node = node.parent
    is_top = isinstance(node.parent, nodes.document)
    return "" if is_top else node["ids"][0], node[0].astext(), not APART & set(node["classes"])


def introductions(env: BuildEnvironment) -> dict[str, tuple[str, Use]]:
    """Return, for each term, the page and the place where it is introduced."""
    named = env.config.lesson_introductions
    pages = [
        page
        for page in reading_order(env)
        if page in named or env.toc_secnumbers.get(page, {}).get("")
    ]
    uses = [(page, use) for page in pages for use in USES.of(env).get(page, [])]
    first: dict[str, tuple[str, Use]] = {}
    for page, use in sorted(uses, key=lambda found: not found[1].telling):
        first.setdefault(use.term, (page, use))
    return first


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write a glossary again if a term is introduced elsewhere than before."""
    pages = sorted(ENTRIES.of(env))
    tell_search(env)
    digest = hashlib.sha256(repr((pages, introductions(env))).encode()).hexdigest()
    return pages if DIGEST.update(env, digest) else []


def tell_search(env: BuildEnvironment) -> None:
    """Have a search for a term find the section that introduces it, by each of its names."""
    first = introductions(env)
    found: dict[tuple[str, str], list[str]] = {}
    for entries_of_page in ENTRIES.of(env).values():
        for names in entries_of_page:
            places = [first[name.lower()] for name in names if name.lower() in first]
            if places:
                page, use = places[0]
                found.setdefault((page, use.anchor), []).extend(names)
    EXPLAINED.update(env, found)


class LinkIntroductions(SphinxPostTransform):
    """Add to each entry the link to the section that introduces the term."""

    default_priority = 2

    def run(self, **kwargs: object) -> None:
        first = None
        for item, terms in list(entries(self.document)):
            first = introductions(self.env) if first is None else first
            names = [name.lower() for name in names_of(terms)]
            places = [first[name] for name in names if name in first]
            if places:
                definition = next(item.findall(nodes.definition))
                definition += self.link(*places[0])

    def link(self, page: str, use: Use) -> nodes.paragraph:
        words = [
            LanguageInline("", text, language=language) for language, text in INTRODUCED.items()
        ]
        inside = nodes.inline("", "", nodes.Text(use.title))
        link = make_refnode(builder_of(self.env), self.env.docname, page, use.anchor, inside)
        return nodes.paragraph("", "", *words, link, classes=["glossary-introduced"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_config_value("lesson_introductions", [], "env", types=[list])
    app.connect("doctree-read", read_page, priority=900)  # before the search collects
    app.add_post_transform(LinkIntroductions)
    USES.connect(app)
    ENTRIES.connect(app)
    app.connect("env-get-updated", pages_to_write, priority=950)  # after the numbers are given
    return {"parallel_read_safe": True, "parallel_write_safe": True}
