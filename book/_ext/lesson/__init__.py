"""The parts of a chapter, what stands before the reader and the evidence behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

STATIC = Path(__file__).parent / "static"
PARTS = (
    "lesson.opening",
    "lesson.parts",
    "lesson.road",
    "lesson.lectures",
    "lesson.told_numbers",
    "lesson.badges",
    "lesson.sources",
    "lesson.chapter_lists",
    "lesson.stages",
    "lesson.own_file",
    "lesson.glossary_entries",
    "lesson.glossary_filter",
    "lesson.terms_in_place",
    "lesson.evidence_cells",
    "lesson.number_links",
    "lesson.folded_places",
    "lesson.checks",
)


def add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", add_static)
    app.add_css_file("lesson.css", priority=910)
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
