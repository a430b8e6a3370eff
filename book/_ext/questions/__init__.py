"""Questions in the page: asked before the text answers, each with a reply to every answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

STATIC = Path(__file__).parent / "static"


def add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", add_static)
    app.add_css_file("questions.css", priority=910)  # over the book's own styles
    app.add_css_file("today.css", priority=910)
    app.setup_extension("questions.directive")
    app.setup_extension("questions.today")
    app.setup_extension("questions.scripts")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
