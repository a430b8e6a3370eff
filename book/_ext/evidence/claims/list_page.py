"""The page of claims: ``{claims-list}`` becomes the list of all of them beside their evidence.

In reading order: the words with their values, the evidence, its kind, the numbers of this build,
how often the measurement held in the robustness run, and a link to the place. The chapter's other
measurements stand folded below its claims. In its chapter, each claim has a mark that leads here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from bilingual.environment import PerBook, PerPage, builder_of
from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from evidence.claims.chapters import Claim, claims_in_order, claims_on, last_paragraphs
from evidence.claims.facts import facts, further
from evidence.claims.measurements import (
    Measurement,
    both,
    by_name,
    digest_of_page,
    measured_on,
    robustness,
    robustness_text,
)

STATIC = Path(__file__).parent / "static"
CELL = Bilingual("看这个单元格", "See the cell")
EVIDENCE = Bilingual("证据", "evidence")

#: The pages with a list, and the digest of the robustness run's record when each was read.
LISTS = PerPage[str]("claims_pages")
#: Of all that the list shows.
LIST_DIGEST = PerBook("claims_digest", "")


class ClaimsHere(nodes.General, nodes.Element):
    """The place of the list on its page."""


class ClaimsListDirective(SphinxDirective):
    """``{claims-list}``: every claim of the book."""

    def run(self) -> list[nodes.Node]:
        LISTS.of(self.env)[self.env.docname] = record_digest(self.env)
        return [ClaimsHere()]


def record_digest(env: BuildEnvironment) -> str:
    """Return a digest of the robustness run's record."""
    return hashlib.sha256(robustness_text(env).encode()).hexdigest()


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read a list again after another robustness run."""
    now = record_digest(env)
    return [page for page, digest in LISTS.of(env).items() if digest != now]


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the list again if a claim, a value or a chapter's number has changed."""
    pages = sorted(LISTS.of(env))
    for page in pages:
        outline(env, page)
    facts = [(page, number_of(env, page), claims) for page, claims in claims_in_order(env)]
    numbers = [measured_on(env, page) for page, _ in claims_in_order(env)]
    digest = hashlib.sha256(repr((pages, facts, numbers, robustness(env))).encode()).hexdigest()
    return pages if LIST_DIGEST.update(env, digest) else []


def number_of(env: BuildEnvironment, page: str) -> tuple[int, ...] | None:
    return env.toc_secnumbers.get(page, {}).get("")


def outline(env: BuildEnvironment, page: str) -> None:
    """Put the chapters into the outline of the list's page, as if they were its sections."""
    entries = nodes.bullet_list()
    for chapter, _ in claims_in_order(env):
        link = nodes.reference(
            "", "", *chapter_title(env, chapter), internal=True, refuri=page,
            anchorname=f"#claims-{chapter}", secnumber=number_of(env, chapter),
        )  # fmt: skip
        entries += nodes.list_item("", addnodes.compact_paragraph("", "", link))
    top = env.tocs[page].children[0] if env.tocs[page].children else None
    if isinstance(top, nodes.list_item):
        top[1:] = [entries] if entries.children else []


def chapter_title(env: BuildEnvironment, page: str) -> list[nodes.Node]:
    return [child.deepcopy() for child in env.titles[page].children]


class ListClaims(SphinxPostTransform):
    """Fill in the list."""

    default_priority = 2  # before glued values of other pages and references are resolved

    def run(self, **kwargs: Any) -> None:
        self.record = robustness(self.env)
        for here in list(self.document.findall(ClaimsHere)):
            chapters = [self.chapter(*each) for each in claims_in_order(self.env)]
            here.replace_self(chapters)

    def chapter(self, page: str, claims: list[Claim]) -> nodes.section:
        title = nodes.title("", "", *chapter_title(self.env, page))
        if number := number_of(self.env, page):
            title["secnumber"] = number
        found = by_name(measured_on(self.env, page))
        record = self.record.get(page, {})
        if record.get("cells") != digest_of_page(self.env, page):
            record = {}  # of other cells than these
        held = record.get("measurements", {})
        entries: list[nodes.Node] = [
            self.entry(page, claim, found.pop(claim.slug, []), held.get(claim.slug))
            for claim in claims
        ]
        if found:
            entries += further(found, held)
        return nodes.section(
            "", title, *entries, ids=[f"claims-{page}"], classes=["titles-of-others"]
        )

    def entry(
        self, page: str, claim: Claim, found: list[Measurement], held: dict[str, Any] | None
    ) -> nodes.container:
        words = [child.deepcopy() for child in claim.words]
        for word in words:
            for reference in word.findall(addnodes.pending_xref):
                reference["refdoc"] = self.env.docname  # resolved as seen from this page
        for language, paragraph in last_paragraphs(words):
            title = in_language(claim.section, language)
            link = make_refnode(
                builder_of(self.env), self.env.docname, page, f"claim-{claim.slug}", title
            )
            link["classes"].append("claim-place")
            paragraph += [nodes.Text(" "), link]
        entry = nodes.container("", *words, ids=[f"claim-{claim.slug}"], classes=["claim-entry"])
        if claim.code:
            code = nodes.literal_block(claim.code, claim.code, language="python")
            entry += nodes.container("", code, classes=["claim-assertion"])
        if claim.cell:
            entry += self.link_to_cell(page, claim.cell)
        entry += facts(claim.is_law, found, held)
        return entry

    def link_to_cell(self, page: str, target: str) -> nodes.paragraph:
        words = nodes.inline("", "", *both(CELL.zh, CELL.en))
        link = make_refnode(builder_of(self.env), self.env.docname, page, target, words)
        return nodes.paragraph("", "", link, classes=["claim-cell"])


def in_language(title: list[nodes.Node], language: str) -> nodes.inline:
    """Return a title in one language."""
    kept = nodes.inline()
    for part in title:
        if not isinstance(part, LanguageInline):
            kept += part.deepcopy()
        elif part["language"] == language:
            kept += [child.deepcopy() for child in part.children]
    return kept


def link_to_list(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the discreet mark at the end of each claim of a chapter."""
    pages = sorted(LISTS.of(app.env))
    for block in claims_on(doctree) if pages else []:
        for language, paragraph in last_paragraphs(list(block.children)):
            word = nodes.inline("", getattr(EVIDENCE, language), classes=["claim-word"])
            link = make_refnode(app.builder, docname, pages[0], block["ids"][0], word)
            link["classes"].append("claim-mark")
            paragraph += link


def add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_node(ClaimsHere)
    app.add_directive("claims-list", ClaimsListDirective)
    app.add_post_transform(ListClaims)
    app.add_css_file("claims.css")
    app.connect("config-inited", add_static)
    LISTS.connect(app)
    app.connect("env-get-outdated", outdated)
    app.connect("env-get-updated", pages_to_write, priority=950)  # after the numbers are given
    app.connect("doctree-resolved", link_to_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
