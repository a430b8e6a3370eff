"""Code is colored without marking up what has no color of its own.

Names, punctuation and blanks are more than half of all tokens, and both of the book's code styles
(light and dark) show them in the color of plain text. Without a `span` for each of them a page has
a fifth fewer elements, which a phone need not lay out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

#: Looks like plain text, in either style.
PLAIN = frozenset({Name, Punctuation, Whitespace})


class PlainNames(HtmlFormatter):  # type: ignore[misc]  # Pygments has no types
    """Sphinx's formatter; a token that looks like text is text."""

    def format(self, tokensource: Iterable[tuple[Any, str]], outfile: Any) -> None:
        super().format(((Text if t in PLAIN else t, value) for t, value in tokensource), outfile)


def setup(app: Sphinx) -> dict[str, bool]:
    PygmentsBridge.html_formatter = PlainNames
    return {"parallel_read_safe": True, "parallel_write_safe": True}
