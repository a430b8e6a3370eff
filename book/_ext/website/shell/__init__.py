"""The page's frame: our templates over the theme's, the book's styles and small scripts.

`templates/` replaces the theme's parts by name, `static/book.css` is how the book looks,
`static/book.js` does what a page can't do without a script: fold solutions, copy code;
`static/way.js` helps to find one's way: contents, outline, keys, links to copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent
#: The theme's line above a part of the contents.
_CAPTION = re.compile(r'<p [^>]*class="caption"[^>]*>(.*?)</p>', re.S)


def configure(app: Sphinx, config: Config) -> None:
    config.templates_path.insert(0, str(HERE / "templates"))
    config.html_static_path.append(str(HERE / "static"))
    config.html_use_index = False  # the reference pages list every name
    config.html_domain_indices = False
    app.add_css_file("book.css", priority=900)
    app.add_js_file("book.js", loading_method="defer")
    app.add_js_file("way.js", loading_method="defer")
    app.add_js_file("markdown.js", loading_method="defer")


def fold_sidebar(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Fold the parts of the contents but the page's own; name the bare arrows of the theme."""
    generate = context.get("generate_toctree_html")
    if generate is not None:
        label = app.translator.gettext("Show or hide the pages below")
        context["generate_toctree_html"] = lambda *args, **options: "".join(
            folded_parts(
                str(generate(*args, **options)).replace(
                    "<summary>", f'<summary aria-label="{label}">'
                )
            )
        )


def folded_parts(contents: str) -> Iterator[str]:
    """Yield the contents with each part in a fold, open where it holds the page itself.

    >>> page = '<p class="caption">A</p><li class="current"><p class="caption">B</p><li>'
    >>> print(*folded_parts(page), sep="\\n")
    <BLANKLINE>
    <details class="part" open><summary class="caption">A</summary>
    <li class="current"></details>
    <details class="part"><summary class="caption">B</summary>
    <li></details>
    """
    before, *rest = _CAPTION.split(contents)
    yield before
    for caption, pages in zip(rest[::2], rest[1::2], strict=True):
        is_open = " open" if re.search(r'<li class="[^"]*\bcurrent\b', pages) else ""
        yield f'<details class="part"{is_open}><summary class="caption">{caption}</summary>'
        yield f"{pages}</details>"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure, priority=850)
    app.connect("html-page-context", fold_sidebar, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
