"""The page's frame: our templates over the theme's, the book's styles and small scripts.

`templates/` replaces the theme's parts by name, `static/book.css` is how the book looks,
`static/book.js` does what a page can't do without a script: fold solutions, copy code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent


def configure(app: Sphinx, config: Config) -> None:
    config.templates_path.insert(0, str(HERE / "templates"))
    config.html_static_path.append(str(HERE / "static"))
    config.html_use_index = False  # the reference pages list every name
    config.html_domain_indices = False
    app.add_css_file("book.css", priority=900)
    app.add_js_file("book.js", loading_method="defer")


def name_sidebar_folds(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """The theme folds parts of the sidebar under a bare arrow: say what the arrow does."""
    generate = context.get("generate_toctree_html")
    if generate is not None:
        label = app.translator.gettext("Show or hide the pages below")
        context["generate_toctree_html"] = lambda *args, **options: str(
            generate(*args, **options)
        ).replace("<summary>", f'<summary aria-label="{label}">')


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure, priority=850)
    app.connect("html-page-context", name_sidebar_folds, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
