"""Whatever palette, text size, paper or storage a reader has, the page can be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

LARGE = "html { font-size: 200% !important; }"
#: One page of each kind, and what has the widest controls.
SIX = ["intro", "masks", "looking-inside", "api/attention", "glossary", "today"]


@pytest.mark.parametrize("name", SIX)
def test_text_twice_as_large_fits_a_phone(page: Any, base_url: str, name: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/{name}.html?lang=en")
    page.add_style_tag(content=LARGE)
    for language in ("zh", "en"):
        page.locator(f"[data-set-language={language}]").click()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, language
    for button in page.locator(".bd-header-article button:visible").all():
        box = button.bounding_box()
        assert box["x"] + box["width"] <= 390


def test_the_readers_own_text_size_counts(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/masks.html?lang=en")
    rules = page.evaluate(
        """[...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
           .flatMap(rule => rule.cssRules?.length ? [...rule.cssRules] : [rule])
           .filter(rule => rule.selectorText?.split(",").some(each => each.trim() === "html"))
           .map(rule => rule.style.fontSize).filter(Boolean)"""
    )
    assert rules
    assert not [size for size in rules if size.endswith("px")]


@pytest.fixture
def forced(page: Any) -> Any:
    """A page in the system's palette, a dark one, whose reader once chose the light mode."""
    page.add_init_script("localStorage.mode = 'light'; localStorage.theme = 'light'")
    page.emulate_media(forced_colors="active", color_scheme="dark")
    return page


def computed(page: Any, selector: str, name: str) -> list[str]:
    found: list[str] = page.locator(selector).evaluate_all(
        f"all => all.filter(e => e.getClientRects().length).map(e => getComputedStyle(e).{name})"
    )
    return found


def test_text_of_figures_has_the_palettes_color(forced: Any, base_url: str) -> None:
    forced.goto(f"{base_url}/scoring.html?lang=en")
    forced.keyboard.press("Tab")
    expect(forced.locator("article .live svg text").first).to_be_attached()
    canvas = forced.evaluate(
        """() => { const probe = document.createElement("i"); document.body.append(probe);
           probe.style.color = "CanvasText"; const found = getComputedStyle(probe).color;
           probe.remove(); return found; }"""
    )
    fills = computed(forced, "article .live svg text", "fill")
    assert fills
    assert set(fills) <= {canvas, computed_highlight_text(forced)}


def computed_highlight_text(page: Any) -> str:
    found: str = page.evaluate(
        """() => { const probe = document.createElement("i"); document.body.append(probe);
           probe.style.color = "HighlightText"; const found = getComputedStyle(probe).color;
           probe.remove(); return found; }"""
    )
    return found


def test_what_is_chosen_can_be_seen_in_forced_colors(forced: Any, base_url: str) -> None:
    forced.goto(f"{base_url}/masks.html?lang=en")
    chosen = computed(forced, ".language-toggle [aria-pressed=true]", "backgroundColor")
    others = computed(forced, ".language-toggle [aria-pressed=false]", "backgroundColor")
    assert len(chosen) == 1
    assert not set(chosen) & set(others)


def test_the_chosen_head_can_be_seen_in_forced_colors(forced: Any, base_url: str) -> None:
    forced.goto(f"{base_url}/looking-inside.html?lang=en")
    forced.keyboard.press("Tab")
    expect(forced.locator(".live-head[aria-checked=true]").first).to_be_visible()
    assert set(computed(forced, ".live-head[aria-checked=true]", "outlineStyle")) == {"solid"}
    assert set(computed(forced, ".live-head[aria-checked=false]", "outlineStyle")) == {"none"}


class TestPaper:
    def test_dark_pages_print_light(self, page: Any, base_url: str) -> None:
        page.emulate_media(color_scheme="dark")
        page.goto(f"{base_url}/scoring.html?lang=en")
        root = page.locator("html")
        expect(root).to_have_attribute("data-theme", "dark")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        expect(root).to_have_attribute("data-theme", "light")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        expect(root).to_have_attribute("data-theme", "dark")

    def test_a_printed_page_has_bookmarks_and_a_language(
        self, page: Any, base_url: str, tmp_path: Path
    ) -> None:
        page.emulate_media(color_scheme="dark")
        page.goto(f"{base_url}/masks.html?lang=en")
        paper = page.pdf(outline=True, tagged=True)
        assert b"/Outlines" in paper
        titles = len(re.findall(rb"/Title\b", paper))
        assert titles >= page.locator("article h2").count()
        assert b"/Lang (en" in paper or b"/Lang(en" in paper


def test_words_to_press_are_wide_enough(page: Any, base_url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/looking-inside.html?lang=en")
    page.keyboard.press("Tab")
    buttons = page.locator("article .live button:visible")
    expect(buttons.first).to_be_visible()
    narrow = buttons.evaluate_all(
        """all => all.map(e => [e.textContent.trim(), e.getBoundingClientRect()])
           .filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([t]) => t)"""
    )
    assert not narrow


def test_a_choice_of_colors_reaches_the_other_tab(context: Any, base_url: str) -> None:
    here, there = context.new_page(), context.new_page()
    for page in (here, there):
        page.emulate_media(color_scheme="light")
        page.goto(f"{base_url}/masks.html?lang=en")
    here.evaluate("localStorage.mode = 'dark'; localStorage.theme = 'dark'")
    expect(there.locator("html")).to_have_attribute("data-theme", "dark")
    here.close()
    there.close()
