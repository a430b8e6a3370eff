"""Python in the page: exercises are written, run and checked there, by the book's own ``check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up the parts."""
    app.setup_extension("page_python.files")
    app.setup_extension("page_python.boxes")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
