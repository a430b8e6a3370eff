"""The pages of the built site, each parsed once for all tests that read it."""

import os
from collections import Counter
from functools import cache
from pathlib import Path

from lxml import html

#: The folder of the built site; `BOOK_HTML` names another.
SITE = Path(os.environ.get("BOOK_HTML", Path(__file__).parents[2] / "book" / "_build" / "html"))


@cache
def tree(path: Path) -> html.HtmlElement:
    """The root of a page."""
    return html.parse(str(path), html.HTMLParser(encoding="utf8", huge_tree=True)).getroot()


@cache
def ids(path: Path) -> Counter[str]:
    """The ids of a page, and how often each is there."""
    return Counter(tree(path).xpath("//@id"))
