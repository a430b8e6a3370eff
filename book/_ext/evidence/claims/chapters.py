"""What the book claims, beside its evidence: an assertion, or a measurement with its bound.

* ``::::{claim} slug`` wraps one pair of :::{zh} and :::{en}: a main claim of its chapter;
* in a cell of the same chapter an assertion carries the comment ``# claim: slug`` (a law), or
  ``notebook.measure("slug", …)`` is called (a measurement), or both;
* ``{claims-list}`` lists them all in reading order: the words with their values, the evidence,
  its kind, the numbers of this build, how often the measurement held in the robustness run, and
  a link to the place. The chapter's other measurements stand folded below its claims.

The cells run in the build, so a law that no longer holds fails it. A claim without evidence, an
assertion without its claim, or a slug that stands twice is a warning.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline, language_of
from bilingual.reading_order import reading_order
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from evidence.claims.cells import Evidence, evidence
from evidence.claims.facts import facts, further
from evidence.claims.measurements import (
    Measurement,
    by_name,
    digest_of_page,
    measured_on,
    robustness,
)
from evidence.execution.keyed_execution import stored

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
EVIDENCE = Bilingual("证据", "evidence")


class Claim:
    """A claim as its chapter made it: the words with their values, and where they stand."""

    def __init__(self, block: nodes.container, found: list[Evidence]) -> None:
        self.slug: str = block["claim"]
        self.line: int = block.line or 0
        self.words = [detached(child) for child in block.children]
        self.section = [detached(child) for child in title_over(block)]
        self.code = "\n".join(each.code for each in found)
        self.is_law = all(each.kind == "law" for each in found)
        self.has_maths = any(any(word.findall(nodes.math)) for word in self.words)

    def __repr__(self) -> str:
        parts = "".join(node.pformat() for node in [*self.words, *self.section])
        return f"{self.slug}\n{parts}\n{self.code}"


class ClaimsHere(nodes.General, nodes.Element):
    """The place of the list on its page."""


class ClaimDirective(SphinxDirective):
    """``::::{claim} slug``: one claim, in both languages."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        slug = self.arguments[0]
        block = nodes.container(classes=["claim"], ids=[f"claim-{slug}"], claim=slug)
        self.set_source_info(block)
        self.state.nested_parse(self.content, self.content_offset, block)
        if not SLUG.fullmatch(slug):
            self.complain(f"the claim {slug!r} needs a slug of small letters, digits and hyphens")
        elif [language_of(child) for child in block.children] != ["zh", "en"]:
            self.complain(f"the claim {slug} must hold one :::{{zh}} and one :::{{en}}, no more")
        return [block]

    def complain(self, message: str) -> None:
        logger.warning(message, location=self.get_location(), type="claims")


class ClaimsListDirective(SphinxDirective):
    """``{claims-list}``: every claim of the book."""

    def run(self) -> list[nodes.Node]:
        stored(self.env, "claims_pages")[self.env.docname] = True
        return [ClaimsHere()]


def is_claim(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "claim" in node


def detached(node: nodes.Node) -> nodes.Node:
    """Return a copy that holds on to no document and has no ids of its own."""
    copy = node.deepcopy()
    for part in copy.findall():
        part.document = None
        if isinstance(part, nodes.Element):
            part["ids"] = []
    return copy


def title_over(node: nodes.Node) -> list[nodes.Node]:
    """Return the parts of the title of the section that a node stands in."""
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return list(node[0].children) if node is not None else []


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember a chapter's claims; complain where claims and evidence don't fit."""
    env = app.env
    path = env.doc2path(env.docname)
    found, problems = evidence(Path(path).read_text(encoding="utf8"))
    blocks: dict[str, nodes.container] = {}
    for block in doctree.findall(is_claim):
        slug = block["claim"]
        if slug in blocks:
            problems.append((block.line, f"the claim {slug} stands twice in this chapter"))
        blocks.setdefault(slug, block)
        if slug not in found:
            message = f"no assertion or measurement of this chapter belongs to the claim {slug}"
            problems.append((block.line, message))
    for slug, each in found.items():
        if slug not in blocks and any(one.kind == "law" for one in each):
            problems.append((each[0].line, f"no {{claim}} {slug} in this chapter"))
    for line, message in problems:
        logger.warning(message, location=f"{path}:{line}", type="claims")
    if blocks:
        claims = [Claim(block, found.get(slug, [])) for slug, block in blocks.items()]
        stored(env, "claims")[env.docname] = claims


def check_unique(app: Sphinx, env: BuildEnvironment) -> None:
    """A slug is one chapter's alone."""
    places: dict[str, str] = {}
    for page in reading_order(env):
        for claim in stored(env, "claims").get(page, []):
            place = f"{env.doc2path(page)}:{claim.line}"
            if claim.slug in places:
                first = Path(places[claim.slug]).name
                message = f"the claim {claim.slug} stands in {first} already"
                logger.warning(message, location=place, type="claims")
            places.setdefault(claim.slug, place)


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    for name in ("claims", "claims_pages"):
        stored(env, name).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    for name in ("claims", "claims_pages"):
        theirs = stored(other, name)
        stored(env, name).update({page: theirs[page] for page in docnames if page in theirs})


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the list again if a claim, a value or a chapter's number has changed."""
    pages = sorted(stored(env, "claims_pages"))
    for page in pages:
        outline(env, page)
        if any(claim.has_maths for _, claims in claims_in_order(env) for claim in claims):
            env.get_domain("math").data["has_equations"][page] = True  # for its stylesheet
    facts = [(page, number_of(env, page), claims) for page, claims in claims_in_order(env)]
    numbers = [measured_on(env, page) for page, _ in claims_in_order(env)]
    digest = hashlib.sha256(repr((pages, facts, numbers, robustness(app))).encode()).hexdigest()
    if digest == getattr(env, "claims_digest", None):
        return []
    env.claims_digest = digest  # type: ignore[attr-defined]
    return pages


def claims_in_order(env: BuildEnvironment) -> list[tuple[str, list[Claim]]]:
    claims = stored(env, "claims")
    return [(page, claims[page]) for page in reading_order(env) if page in claims]


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
        self.record = robustness(self.app)
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
        return nodes.section("", title, *entries, ids=[f"claims-{page}"])

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
                self.app.builder, self.env.docname, page, f"claim-{claim.slug}", title
            )
            link["classes"].append("claim-place")
            paragraph += [nodes.Text(" "), link]
        entry = nodes.container("", *words, ids=[f"claim-{claim.slug}"], classes=["claim-entry"])
        if claim.code:
            code = nodes.literal_block(claim.code, claim.code, language="python")
            entry += nodes.container("", code, classes=["claim-assertion"])
        entry += facts(claim.is_law, found, held)
        return entry


def last_paragraphs(parts: list[nodes.Node]) -> list[tuple[str, nodes.paragraph]]:
    """Return the last paragraph of each language."""
    found: dict[str, nodes.paragraph] = {}
    for part in parts:
        for block in part.findall(nodes.container):
            language = language_of(block)
            paragraphs = list(block.findall(nodes.paragraph)) if language else []
            if paragraphs:
                found[str(language)] = paragraphs[-1]
    return list(found.items())


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
    pages = sorted(stored(app.env, "claims_pages"))
    for block in list(doctree.findall(is_claim)) if pages else []:
        for language, paragraph in last_paragraphs(list(block.children)):
            word = nodes.inline("", getattr(EVIDENCE, language), classes=["claim-word"])
            link = make_refnode(app.builder, docname, pages[0], block["ids"][0], word)
            link["classes"].append("claim-mark")
            paragraph += link


def add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(ClaimsHere)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("claims-list", ClaimsListDirective)
    app.add_post_transform(ListClaims)
    app.add_css_file("claims.css")
    app.connect("config-inited", add_static)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", collect)
    app.connect("env-check-consistency", check_unique)
    app.connect("env-get-updated", pages_to_write, priority=950)  # after the numbers are given
    app.connect("doctree-resolved", link_to_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
