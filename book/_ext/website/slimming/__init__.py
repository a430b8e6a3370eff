"""Pages load one stylesheet, the scripts that they use and the icons that they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the one module here that knows Sphinx."""
    app.setup_extension("website.slimming.slim_site")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
