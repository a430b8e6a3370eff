"""The pages of the built site, each parsed once for all tests that read it."""

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

from lxml import html

#: The folder of the built site; `BOOK_HTML` names another.
SITE = Path(os.environ.get("BOOK_HTML", Path(__file__).parents[2] / "book" / "_build" / "html"))
#: Of Markdown: what would still be MyST.
RESIDUE = re.compile(
    r"^:{3,}|\{[a-z][\w:+-]*\}(?:`|\Z)|^\([\w-]+\)=$|\{\{|\]\{[.#]|^\{[.#][\w-]|^\s*:[\w-]+: ",
    re.M,
)
#: And what is code or formula.
CODE = re.compile(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$", re.S)


@cache
def tree(path: Path) -> html.HtmlElement:
    """The root of a page."""
    return html.parse(str(path), html.HTMLParser(encoding="utf8", huge_tree=True)).getroot()


@cache
def ids(path: Path) -> Counter[str]:
    """The ids of a page, and how often each is there."""
    return Counter(tree(path).xpath("//@id"))
