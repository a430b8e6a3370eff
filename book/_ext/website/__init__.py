"""How the book's pages look and what they load: frame, formulas, figures, buttons, small files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (
    "website.accessible_markup",
    "website.katex",
    "website.figures",
    "website.notebooks",
    "website.launch_notebooks",
    "website.shell",
    "website.typefaces",
    "website.slimming",
    "website.policy",
    "website.metadata",
    "website.social_cards",
    "website.front_door",
    "website.downloads",
    "website.quick_build",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the parts; each can also be used as an extension of its own."""
    for part in PARTS:
        app.setup_extension(part)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
