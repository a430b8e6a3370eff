"""Accessibility of the markup, and axe where it is installed.

`make audit` runs axe in every language and color mode, and Lighthouse.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from parsed import tree
from playwright.sync_api import expect

#: The page that is checked whole, in both views; on the others see the two lists below.
WHOLE = "masks.html"
#: Formulas, drawings, code and the list of all chapters are made alike on every page, and are most
#: of all elements: the other pages are checked with a letter in place of each, and with the first
#: chapters alone, for axe walks through what it is told to leave out.
LEAVE_OUT = """() => {
  const leaveOut = (element, place) => { element.replaceWith(place); return [place, element]; };
  const letter = () => Object.assign(document.createElement("span"), {textContent: "x"});
  window.leftOut = [
    ...[...document.querySelectorAll(".katex, article svg, .highlight pre")]
      .filter((element) => !element.parentElement.closest(".katex, svg"))
      .map((element) => leaveOut(element, letter())),
    ...[...document.querySelectorAll(".bd-sidebar-primary li:nth-child(n + 3)")]
      .map((element) => leaveOut(element, document.createComment("chapter"))),
  ];
}"""
PUT_BACK = "leftOut.reverse().forEach(([place, element]) => place.replaceWith(element))"
#: What another language, color mode or width can change; the rest is the same markup. The style
#: sheets, which `preload` reads, are the same on every page.
SEEN = ["color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable"]
VIEWS = [("zh", "light", 1280, {}), ("en", "dark", 390, {"runOnly": SEEN})]

#: What is left for a figure on a telephone 390 px wide, and the smallest text to read there.
PHONE_FIGURE = 342
SMALLEST = 9.0


def test_one_title_and_no_skipped_heading(site: Path, page_name: str) -> None:
    levels = [
        int(heading.tag[1])
        for heading in tree(site / page_name).xpath(
            "//article//*[self::h1 or self::h2 or self::h3 or self::h4]"
        )
    ]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_pictures_have_a_description(site: Path, page_name: str) -> None:
    for picture in tree(site / page_name).xpath("//img"):
        assert picture.get("alt") is not None, html.tostring(picture)[:200]
    for figure in tree(site / page_name).xpath(
        "//article//figure//svg[not(@aria-hidden) and not(ancestor::*[contains(@class, 'katex')])]"
    ):
        named = figure.get("aria-label") or figure.get("aria-labelledby")
        assert named, html.tostring(figure)[:200]
        assert figure.get("role") == "img"


def test_text_in_figures_can_be_read_on_a_phone(site: Path, page_name: str) -> None:
    """A drawing shrinks to the page, and its text with it."""
    small = []
    for svg in tree(site / page_name).xpath("//svg[contains(@class, 'figure-svg')]"):
        width = float((svg.get("viewbox") or svg.get("viewBox")).split()[2])  # points
        shrink = min(PHONE_FIGURE / width, 4 / 3)
        for text in svg.xpath(".//text"):
            size = re.search(r"font(?:-size)?:[^;]*?([\d.]+)px", text.get("style") or "")
            if size and float(size[1]) * shrink < SMALLEST:
                small.append((text.text_content(), round(float(size[1]) * shrink, 1)))
    assert not small


def test_buttons_have_a_name(site: Path, page_name: str) -> None:
    for button in tree(site / page_name).xpath("//button | //summary"):
        name = button.get("aria-label") or button.get("title") or button.text_content().strip()
        assert name, html.tostring(button)[:200]


def test_languages_are_declared(site: Path, page_name: str) -> None:
    for text in tree(site / page_name).xpath(
        "//*[not(self::a)][contains(concat(' ', @class, ' '), ' bl ')]"
    ):
        expected = "zh-Hans" if "bl-zh" in text.get("class") else "en"
        assert text.get("lang") == expected


def test_landmarks(site: Path, page_name: str) -> None:
    page = tree(site / page_name)
    assert len(page.xpath("//main")) == 1
    assert page.xpath("//nav[@aria-label]")
    assert page.xpath("//a[@href='#main-content']")


def test_description_for_search_engines(site: Path, page_name: str) -> None:
    (content,) = tree(site / page_name).xpath("//meta[@name='description']/@content")
    assert content.strip()


@pytest.mark.browser
def test_axe(laid_out: Any, root: Path, page_name: str) -> None:
    """In each language and color mode, wide and narrow; the page is loaded once for both.

    `make audit` checks every page whole, in all twelve views.
    """
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix audit")
    page = laid_out
    page.evaluate(axe.read_text(encoding="utf8"))  # a script element would be refused
    found = []
    whole = page_name == WHOLE
    if not whole:
        page.evaluate(LEAVE_OUT)
    for language, theme, width, chosen in VIEWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.evaluate(f"document.querySelector('[data-set-language={language}]').click()")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        violations = page.evaluate(
            """chosen => axe.run({
              resultTypes: ['violations'], ...chosen
            }).then(found => found.violations)""",
            {} if whole else {"preload": False, **chosen},
        )
        found += [(language, v["id"], v["nodes"][0]["html"][:200]) for v in violations]
    if not whole:
        page.evaluate(PUT_BACK)
    assert not found
