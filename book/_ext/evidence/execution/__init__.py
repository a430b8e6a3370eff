"""Cells are executed when their results could have changed, and at no other time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the one module here that knows Sphinx."""
    app.setup_extension("evidence.execution.keyed_execution")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
