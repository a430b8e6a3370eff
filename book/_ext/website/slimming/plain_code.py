"""Code is colored without marking up what has no color of its own.

Names, punctuation and blanks are more than half of all tokens, and both of the book's code styles
(light and dark) show them in the color of plain text. Without a `span` for each of them a page has
a fifth fewer elements, which a phone need not lay out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.application import Sphinx

#: Looks like plain text, in either style.
PLAIN = frozenset({Name, Punctuation, Whitespace})
#: The languages of the book's code.
LANGUAGES = ("bash", "ipython3", "pycon", "python", "sh", "yaml")


def plain(lexer: type[Any]) -> type[Any]:
    """Return a lexer for the same language, for which a token that looks like text is text."""

    class PlainLexer(lexer):  # type: ignore[misc]  # Pygments has no types
        def get_tokens_unprocessed(self, *text: Any) -> Iterator[tuple[int, Any, str]]:
            for place, kind, value in super().get_tokens_unprocessed(*text):
                yield place, Text if kind in PLAIN else kind, value

    return PlainLexer


def setup(app: Sphinx) -> dict[str, bool]:
    for language in LANGUAGES:
        app.add_lexer(language, plain(type(get_lexer_by_name(language))))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
