"""A page loads at most 100 kB of its own type."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from lxml import html

FONT = re.compile(r"_static/(fonts/song-[\w-]+\.woff2)")
MOST = 100_000
FORMULAS = "//*[contains(concat(' ', @class, ' '), ' katex-html ')]"


def test_the_fonts_of_a_page_are_small(site: Path, page_name: str) -> None:
    static = site / "_static"
    latin = sum(each.stat().st_size for each in (static / "fonts").glob("book-*.woff2"))
    headings = set(FONT.findall((site / page_name).read_text(encoding="utf8")))
    if not headings:
        pytest.skip("no heading of the page is Chinese")
    (own,) = headings
    assert latin + (static / own).stat().st_size <= MOST


def test_fonts_of_formulas_have_what_the_pages_show(site: Path, page_name: str) -> None:
    """Each is cut to the characters of the book: none that a formula shows is missing."""
    page = html.parse(str(site / page_name), html.HTMLParser(encoding="utf8"))
    shown = {letter for each in page.xpath(FORMULAS) for letter in each.text_content()}
    for whole, cut in pairs(site / "_static"):
        lost = {letter for letter in shown if ord(letter) in whole - cut}
        assert not lost


@cache
def pairs(static: Path) -> list[tuple[frozenset[int], frozenset[int]]]:
    """The characters of each of KaTeX's fonts, whole and as the pages load it."""
    found = []
    for whole in sorted((static / "katex/fonts").glob("*.woff2")):
        cut = static / "fonts" / whole.name.replace("KaTeX_", "formula-")
        if cut.is_file():
            assert cut.stat().st_size < whole.stat().st_size
            found.append(tuple(frozenset(TTFont(each).getBestCmap()) for each in (whole, cut)))
    assert found
    return found
