"""The package's reference: every public name once, linked with the chapters both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = ("reference.short_source", "reference.entries")


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the parts; each can also be used as an extension of its own."""
    for part in PARTS:
        app.setup_extension(part)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
