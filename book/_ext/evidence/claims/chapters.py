"""The claims of a chapter: the directive ``{claim}``, and whether each fits its evidence.

``::::{claim} slug`` wraps one pair of :::{zh} and :::{en}: a main claim of its chapter. In a cell
of the same chapter an assertion carries the comment ``# claim: slug`` (a law), or
``notebook.measure("slug", …)`` is called (a measurement), or both.

The cells run in the build, so a law that no longer holds fails it. A claim without evidence, an
assertion without its claim, or a slug that stands twice is a warning.
"""

from __future__ import annotations

import re
from bisect import bisect
from pathlib import Path

from bilingual.environment import PerPage, reading_order
from bilingual.nodes import language_of
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from evidence.claims.cells import Evidence, evidence
from evidence.code_cells import code_cells

logger = logging.getLogger(__name__)

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Claim:
    """A claim as its chapter made it: the words with their values, and where they stand.

    ``cell`` is the anchor of the cell with its first evidence, "" where it has none.
    """

    def __init__(self, block: nodes.container, found: list[Evidence], cell: str) -> None:
        self.slug: str = block["claim"]
        self.line: int = block.line or 0
        self.words = [detached(child) for child in block.children]
        self.section = [detached(child) for child in title_over(block)]
        self.code = "\n".join(each.code for each in found)
        self.cell = cell
        self.is_law = all(each.kind == "law" for each in found)

    def __repr__(self) -> str:
        parts = "".join(node.pformat() for node in [*self.words, *self.section])
        return f"{self.slug}\n{parts}\n{self.code}\n{self.cell}"


#: The claims of each chapter.
CLAIMS = PerPage[list[Claim]]("claims")


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


def claims_on(doctree: nodes.document) -> list[nodes.container]:
    """Return the blocks of a page that are claims."""
    return [block for block in doctree.findall(nodes.container) if "claim" in block]


def detached(node: nodes.Node) -> nodes.Node:
    """Return a copy that holds on to no document and has no ids of its own."""
    copy = node.deepcopy()
    for part in copy.findall():
        part.document = None  # type: ignore[assignment]  # so that it is pickled alone
        if isinstance(part, nodes.Element):
            part["ids"] = []
    return copy


def title_over(node: nodes.Node) -> list[nodes.Node]:
    """Return the parts of the title of the section that a node stands in.

    The boxes of sphinx-exercise are sections without a title.
    """
    above: nodes.Node | None = node
    while above is not None:
        if isinstance(above, nodes.section) and isinstance(above[0], nodes.title):
            return list(above[0].children)
        above = above.parent
    return []


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember a chapter's claims; complain where claims and evidence don't fit."""
    env = app.env
    path = str(env.doc2path(env.docname))
    text = Path(path).read_text(encoding="utf8")
    found, problems = evidence(text, path)
    blocks: dict[str, nodes.container] = {}
    for block in claims_on(doctree):
        slug, line = block["claim"], block.line or 0
        if slug in blocks:
            problems.append((line, f"the claim {slug} stands twice in this chapter"))
        blocks.setdefault(slug, block)
        if slug not in found:
            message = f"no assertion or measurement of this chapter belongs to the claim {slug}"
            problems.append((line, message))
    for slug, each in found.items():
        if slug not in blocks and any(one.kind == "law" for one in each):
            problems.append((each[0].line, f"no {{claim}} {slug} in this chapter"))
    for line, message in problems:
        logger.warning(message, location=f"{path}:{line}", type="claims")
    if blocks:
        begins = [cell.line for cell in code_cells(text, path)]
        anchors = name_cells(
            doctree, begins, {slug: found[slug] for slug in blocks if slug in found}
        )
        claims = [
            Claim(block, found.get(slug, []), anchors.get(slug, ""))
            for slug, block in blocks.items()
        ]
        CLAIMS.of(env)[env.docname] = claims


def name_cells(
    doctree: nodes.document, begins: list[int], found: dict[str, list[Evidence]]
) -> dict[str, str]:
    """Give the cell of each claim's first evidence an anchor, inside its fold if it is folded.

    Source and page list the cells in the same order; a line of the page's is not to be trusted
    where a cell has options. ``begins``: the source's lines. Where a cell is not shown at all, none
    gets an anchor.
    """
    on_page = [cell for cell in doctree.findall(nodes.container) if "cell_index" in cell]
    on_page.sort(key=lambda cell: int(cell["cell_index"]))
    if len(begins) != len(on_page):
        return {}
    anchors = {}
    for slug, (first, *_) in found.items():
        shown = on_page[bisect(begins, first.line) - 1].children[:1]
        for part in shown:
            if isinstance(part, nodes.Element):
                anchors[slug] = f"evidence-{slug}"
                part["ids"].append(anchors[slug])
    return anchors


def check_unique(app: Sphinx, env: BuildEnvironment) -> None:
    """A slug is one chapter's alone."""
    places: dict[str, str] = {}
    for page in reading_order(env):
        for claim in CLAIMS.of(env).get(page, []):
            place = f"{env.doc2path(page)}:{claim.line}"
            if claim.slug in places:
                first = Path(places[claim.slug]).name
                message = f"the claim {claim.slug} stands in {first} already"
                logger.warning(message, location=place, type="claims")
            places.setdefault(claim.slug, place)


def claims_in_order(env: BuildEnvironment) -> list[tuple[str, list[Claim]]]:
    """Return each chapter that makes claims, and these, in reading order."""
    claims = CLAIMS.of(env)
    return [(page, claims[page]) for page in reading_order(env) if page in claims]


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


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("claim", ClaimDirective)
    CLAIMS.connect(app)
    app.connect("doctree-read", collect)
    app.connect("env-check-consistency", check_unique)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
