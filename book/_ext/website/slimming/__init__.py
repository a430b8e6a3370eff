"""Pages load one stylesheet, the scripts and icons they use, short ones; code is marked sparely."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the modules here that know Sphinx."""
    app.setup_extension("website.slimming.slim_site")
    app.setup_extension("website.slimming.plain_code")
    app.setup_extension("website.slimming.short_scripts")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
