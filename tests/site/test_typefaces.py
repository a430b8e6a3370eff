"""A page loads at most 100 kB of fonts, and these have every character that it shows."""

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
#: KaTeX's rules for a class alone: a family, a weight, a style.
RULE = re.compile(r"(\.katex \.\w+(?:,\.katex \.\w+)*)\{([^}]*font-[^}]*)\}")
LOADED = """async () => {
  await document.fonts.ready;
  const all = performance.getEntriesByType("resource").filter(({name}) => name.includes(".woff2"));
  return Object.fromEntries(all.map(({name, encodedBodySize}) => [name, encodedBodySize]));
}"""


def test_the_fonts_of_a_page_are_small(site: Path, page_name: str) -> None:
    static = site / "_static"
    latin = sum(each.stat().st_size for each in (static / "fonts").glob("book-*.woff2"))
    headings = set(FONT.findall((site / page_name).read_text(encoding="utf8")))
    if not headings:
        pytest.skip("no heading of the page is Chinese")
    (own,) = headings
    assert latin + (static / own).stat().st_size <= MOST


@pytest.mark.browser
def test_all_that_a_page_loads_is_small(laid_out: Any) -> None:
    """The fonts of text, headings, formulas and icons, with both languages in sight."""
    laid_out.evaluate("document.querySelector('[data-set-language=both]').click()")
    sizes = laid_out.evaluate(LOADED)
    assert sizes
    assert sum(sizes.values()) <= MOST, sizes


def test_fonts_of_formulas_have_what_the_pages_show(site: Path, page_name: str) -> None:
    """Each is cut to the characters of the book: none that a formula shows in it is missing."""
    page = html.parse(str(site / page_name), html.HTMLParser(encoding="utf8"))
    whole, cut = fonts(site / "_static")
    named = classes(site / "_static")
    lost = set()
    for formula in page.xpath(FORMULAS):
        for element in formula.iter():
            text = "".join([element.text or "", *(child.tail or "" for child in element)])
            for font in fonts_of(element, named):
                lost |= {(font, each) for each in text if ord(each) in whole[font] - cut[font]}
    assert not lost


def fonts_of(element: Any, named: dict[str, str]) -> set[str]:
    """The fonts that an element of a formula has, by KaTeX's rules."""
    own, around = (
        set((each.get("class") or "").split()) for each in (element, element.getparent())
    )
    found = {named[each] for each in own & named.keys()}
    for size in "1234":
        if {"delimsizing", f"size{size}"} <= own or f"delim-size{size}" in around:
            found.add(f"Size{size}-Regular")
    if "op-symbol" in own:
        found.add("Size1-Regular" if "small-op" in own else "Size2-Regular")
    return found or {"Main-Regular"}


@cache
def classes(static: Path) -> dict[str, str]:
    """The font that each class of a formula stands for, as KaTeX's own style has it."""
    found = {}
    css = (static / "katex" / "katex.min.css").read_text(encoding="utf8")
    for selectors, rule in RULE.findall(css):
        family = re.search(r"font-family:KaTeX_(\w+)", rule)
        style = ("Bold" if "font-weight:700" in rule else "") + ("Italic" * ("italic" in rule))
        name = f"{family[1] if family else 'Main'}-{style or 'Regular'}"
        found |= {selector.rpartition(".")[2]: name for selector in selectors.split(",")}
    assert found["mathbf"] == found["textbf"] == "Main-Bold"
    assert (found["mathnormal"], found["boldsymbol"]) == ("Math-Italic", "Math-BoldItalic")
    return found


@cache
def fonts(static: Path) -> tuple[dict[str, frozenset[int]], dict[str, frozenset[int]]]:
    """The characters of each of KaTeX's fonts, whole and as the pages load it."""
    whole, cut = {}, {}
    for each in sorted((static / "katex/fonts").glob("*.woff2")):
        small = static / "fonts" / each.name.replace("KaTeX_", "formula-")
        if small.is_file():
            assert small.stat().st_size < each.stat().st_size
            name = each.stem.removeprefix("KaTeX_")
            whole[name] = frozenset(TTFont(each).getBestCmap())
            cut[name] = frozenset(TTFont(small).getBestCmap())
    assert whole
    return whole, cut


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
