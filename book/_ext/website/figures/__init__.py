"""Figures stand in the page itself, so that they follow its language and its colors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the one module here that knows Sphinx."""
    app.setup_extension("website.figures.inline_svg")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
