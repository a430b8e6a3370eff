"""A page loads at most 100 kB of its own type."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

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


def drawn_in(page: Any, selector: str) -> list[str]:
    """The names of the fonts in which the first element of that kind is drawn."""
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
    node = session.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    fonts = session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    return [font["familyName"] for font in fonts]


@pytest.mark.browser
@pytest.mark.parametrize("late", [False, True], ids=["arrived", "late"])
def test_an_apostrophe_is_no_full_width_sign(page: Any, base_url: str, late: bool) -> None:
    """In an English heading whose own font comes late, and in foreign words in Chinese text."""
    if late:
        page.route("**/book-*.woff2*", lambda route: route.fulfill(status=204, body=""))
    page.goto(f"{base_url}/today.html?lang=en")
    page.wait_for_timeout(300)
    assert "’" in page.locator("h1 .bl-en").inner_text()
    assert "Book Song" not in drawn_in(page, "h1 .bl-en")
    page.goto(f"{base_url}/bahdanau-results.html?lang=zh")
    words = page.locator(".bl-zh em.latin", has_text="’").first
    words.evaluate("words => { words.id = 'foreign'; words.scrollIntoView(); }")
    assert len(drawn_in(page, "#foreign")) == 1
