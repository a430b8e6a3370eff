"""What stands on a page is so: cells are run, claims carry evidence, a warning is a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (
    "evidence.fresh_pages",
    "evidence.execution",
    "evidence.strict_build",
    "evidence.written_pages",
    "evidence.claims",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the parts; each can also be used as an extension of its own."""
    for part in PARTS:
        app.setup_extension(part)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
