"""Chapters keep to the rules that make them readable; the build checks and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the register of chapters first: the checks write into it."""
    for part in ("problems", "visible_cells", "counts", "telling"):
        app.setup_extension(f"lesson.checks.{part}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
