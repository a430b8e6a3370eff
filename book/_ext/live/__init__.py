"""Live figures: each is drawn while the book is built, and comes alive where there are scripts.

``::::{live} steps`` names a figure of the package's ``live/modules/figures``. What it draws at its
start stands in the page as it is: it teaches untouched, in print and without scripts. A page loads
the scripts of the figures that it has, and no others. So does what a cell shows with a widget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (
    "live.live_figure",
    "live.cell_outputs",
    "live.translator",
    "live.cut_a_look",
    "live.walk",
    "live.next_word",
    "live.models",
    "live.scripts",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up the parts."""
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
