"""Which pages are chapters, and what the checks found in them.

A chapter is a page with cells. Each check notes what it finds in every chapter; the end of the
build complains of all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bilingual.environment import PerPage, reading_order
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Problem(NamedTuple):
    """What a check found in a chapter, and at which line of its file."""

    line: int
    message: str


#: What is wrong with each chapter; the chapters are the pages that have an entry here.
PROBLEMS = PerPage[list[Problem]]("lesson_problems")


def register(app: Sphinx, doctree: nodes.document) -> None:
    """Note that a page with cells is a chapter."""
    if "kernelspec" in app.env.metadata[app.env.docname]:
        PROBLEMS.of(app.env)[app.env.docname] = []


def is_chapter(env: BuildEnvironment, page: str) -> bool:
    return page in PROBLEMS.of(env)


def chapters(env: BuildEnvironment) -> list[str]:
    """Return the chapters in reading order."""
    return [page for page in reading_order(env) if is_chapter(env, page)]


def judge(app: Sphinx, exception: Exception | None) -> None:
    """Complain of what is wrong in the chapters."""
    if exception is not None:
        return
    for page in chapters(app.env):
        for problem in sorted(PROBLEMS.of(app.env)[page]):
            place = f"{app.env.doc2path(page)}:{problem.line}"
            logger.warning("%s", problem.message, location=place, type="lesson")


def setup(app: Sphinx) -> dict[str, Any]:
    PROBLEMS.connect(app)
    app.connect("doctree-read", register, priority=100)  # before the checks
    app.connect("build-finished", judge, priority=600)  # before strict_build judges
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
