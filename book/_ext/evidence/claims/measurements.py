"""The measurements of the chapters: a note where one did not come out, a line at the end.

A measurement (``notebook.measure``) depends on a training or a draw, and may come out differently
on a reader's machine. Then the page says so, at its claim or below its cell, in both languages
and with the number found here; everything else goes on. With ``BOOK_STRICT=1`` it is an error.
How often each one held in `make robustness` stands in ``benchmarks/robustness.json``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.console import bold

from evidence.execution.code_closure import digest_of_cells
from evidence.execution.kept_outputs import code_of
from evidence.execution.keyed_execution import MEASURED, RESULTS_KEYS

logger = logging.getLogger(__name__)

STRICT_VARIABLE = "BOOK_STRICT"
SIGNS = {"above": ">", "at_least": "≥", "below": "<", "at_most": "≤"}
RECORD = Path("benchmarks/robustness.json")


class Measurement(NamedTuple):
    """One comparison of this build, and where it stands."""

    name: str
    value: float
    relation: str
    bound: float
    draws: int
    came_out: bool
    line: int
    cell: int

    @property
    def margin(self) -> float:
        difference = self.value - self.bound
        return difference if self.relation in ("above", "at_least") else -difference

    @property
    def comparison(self) -> str:
        return f"{self.value:.4g} {SIGNS[self.relation]} {self.bound:.4g}"


def measured_on(env: BuildEnvironment, page: str) -> list[Measurement]:
    """Return what a page's cells measured, in their order."""
    names = Measurement._fields
    found = MEASURED.of(env).get(page, [])
    return [Measurement(**{name: each[name] for name in names}) for each in found]


def by_name(found: list[Measurement]) -> dict[str, list[Measurement]]:
    names: dict[str, list[Measurement]] = {}
    for each in found:
        names.setdefault(each.name, []).append(each)
    return names


def robustness_text(env: BuildEnvironment) -> str:
    """Return the record of the robustness run as it is written; "" where there was none."""
    path = Path(env.srcdir).parent / RECORD
    return path.read_text(encoding="utf8") if path.is_file() else ""


def robustness(env: BuildEnvironment) -> dict[str, Any]:
    """Return the record of the robustness run; empty where there was none."""
    record: dict[str, Any] = json.loads(robustness_text(env) or "{}")
    return record


def both(zh: str, en: str) -> list[nodes.Node]:
    """Return a text in both languages; what stands in backticks is code."""
    return [
        LanguageInline("", "", *with_code(zh), language="zh"),
        LanguageInline("", "", *with_code(en), language="en"),
    ]


def with_code(text: str) -> list[nodes.Node]:
    kinds = (nodes.Text, lambda part: nodes.literal("", part))
    return [kinds[n % 2](part) for n, part in enumerate(text.split("`")) if part]


def note(missed: list[Measurement]) -> nodes.paragraph:
    """Return the words that say what did not come out on this machine."""
    numbers = "; ".join(each.comparison for each in missed)
    zh = f"在构建这一版的机器上没有得到这个结果：测得的是 {numbers}（不成立）。"
    en = f"This did not come out on the machine that built this copy: {numbers} is false here."
    return nodes.paragraph("", "", *both(zh, en), classes=["measurement-missed"])


def annotate(app: Sphinx, doctree: nodes.document) -> None:
    """Say at the claim, or below the cell, what did not come out."""
    missed = [each for each in measured_on(app.env, app.env.docname) if not each.came_out]
    claims = {n["claim"]: n for n in doctree.findall(nodes.container) if "claim" in n}
    cells = [n for n in doctree.findall(nodes.container) if n.get("nb_element") == "cell_code"]
    for name, each in by_name(missed).items():
        if name in claims:
            claims[name] += note(each)
        else:
            cell = cells[each[0].cell - 1]
            cell.parent.insert(cell.parent.index(cell) + 1, note(each))


def check_unique(app: Sphinx, env: BuildEnvironment) -> None:
    """A name is one chapter's alone."""
    places: dict[str, str] = {}
    for page in sorted(MEASURED.of(env)):
        for name, each in by_name(measured_on(env, page)).items():
            if name in places:
                logger.warning(
                    "the measurement %s stands in %s already", name, places[name],
                    location=f"{env.doc2path(page)}:{each[0].line}", type="measurements",
                )  # fmt: skip
            places[name] = page


def report(app: Sphinx, exception: Exception | None) -> None:
    """Say in one line what did not come out; with BOOK_STRICT=1 let the build fail for it."""
    if exception is not None:
        return
    env = app.env
    pages = [page for page in MEASURED.of(env) if page in env.found_docs]
    found = {
        (page, name): [each for each in all_of_it if not each.came_out]
        for page in pages
        for name, all_of_it in by_name(measured_on(env, page)).items()
    }
    missed = {place: each for place, each in found.items() if each}
    if os.environ.get(STRICT_VARIABLE) == "1":
        for (page, name), each in missed.items():
            logger.warning(
                "the measurement %s did not come out here: %s",
                name, "; ".join(m.comparison for m in each),
                location=f"{env.doc2path(page)}:{each[0].line}", type="measurements",
            )  # fmt: skip
    elif missed:
        parts = (f"{name} ({each[0].comparison})" for (_, name), each in missed.items())
        line = f"{len(missed)} of {len(found)} measurements did not come out here: "
        logger.info(bold(line + ", ".join(parts)))
    elif found:
        logger.info("all %d measurements came out here", len(found))


def digest_of_page(env: BuildEnvironment, page: str) -> str:
    """Return the digest of a page's cells, as scripts/robustness.py records it."""
    cells, _ = RESULTS_KEYS.of(env).get(page, ([], ""))
    return digest_of_cells(code_of(cells))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", annotate)
    app.connect("env-check-consistency", check_unique)
    app.connect("build-finished", report)  # before strict_build judges
    return {"parallel_read_safe": True, "parallel_write_safe": True}
