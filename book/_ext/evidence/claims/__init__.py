"""Claims stand beside their evidence, an assertion or a measurement, and on a list of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the measurements first: their notes stand inside the claims."""
    for part in ("measurements", "chapters", "list_page"):
        app.setup_extension(f"evidence.claims.{part}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
