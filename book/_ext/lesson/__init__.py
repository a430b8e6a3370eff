"""The parts of a chapter: its opening, its sections' weight, notes on sources, staged drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = ("lesson.opening", "lesson.badges", "lesson.sources", "lesson.stages")


def setup(app: Sphinx) -> dict[str, Any]:
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
