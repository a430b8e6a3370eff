"""The parts of a chapter on the built site: openings, notes on sources, drawings in stages.

The chapters take these parts on one after the other; a test looks at the pages that have them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from parsed import tree
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def pages_with(site: Path, markup: str) -> list[str]:
    return sorted(page.name for page in site.glob("*.html") if markup in page.read_text("utf8"))


@pytest.fixture
def stages_page(site: Path) -> str:
    """A page with a drawing in stages; the chapter on masks has one, once it is told anew."""
    pages = pages_with(site, '<div class="stages-panel">')
    if "masks.html" in pages_with(site, '<div class="opening'):
        assert "masks.html" in pages, "the chapter is told anew, without its drawing in stages"
    if not pages:
        pytest.skip("no page has a drawing in stages yet")
    return "masks.html" if "masks.html" in pages else pages[0]


@pytest.fixture
def sources_page(site: Path) -> str:
    """A page with notes on sources."""
    pages = pages_with(site, '<details class="sources"')
    if not pages:
        pytest.skip("no page has notes on sources yet")
    return pages[0]


def stage_of(figure: Any) -> str:
    return str(figure.locator(".stages-now").inner_text())


def opacity_of(part: Any) -> float:
    """Return the opacity that a part of a drawing has or is on its way to."""
    part.evaluate("part => Promise.all(part.getAnimations().map((each) => each.finished))")
    return float(part.evaluate("part => getComputedStyle(part).opacity"))


def test_stages_by_button_and_by_key(page: Any, base_url: str, stages_page: str) -> None:
    page.goto(f"{base_url}/{stages_page}?lang=en")
    figure = page.locator("figure.stages").first
    figure.scroll_into_view_if_needed()  # what is far away is not laid out, and has no text
    before, after = figure.locator("button").all()
    later = figure.locator("[data-stage='2']").first
    expect(figure.locator(".stages-now")).to_have_text("0", use_inner_text=True)
    assert opacity_of(later) == 1, "the whole comes first"
    assert before.get_attribute("aria-disabled") == "true"
    after.click()
    assert opacity_of(later) < 0.5
    first = figure.locator(".stages-sentence").inner_text()
    after.click()
    assert stage_of(figure) == "2"
    assert opacity_of(later) == 1
    assert figure.locator(".stages-sentence").inner_text() != first
    figure.focus()
    page.keyboard.press("End")
    assert after.get_attribute("aria-disabled") == "true"
    last = stage_of(figure)
    page.keyboard.press("ArrowRight")
    assert stage_of(figure) == last
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert stage_of(figure) == "1"


def test_the_stage_survives_another_language(page: Any, base_url: str, stages_page: str) -> None:
    page.goto(f"{base_url}/{stages_page}?lang=en")
    figure = page.locator("figure.stages").first
    figure.locator("button").last.click()
    english = figure.locator(".stages-sentence").inner_text()
    page.locator("[data-set-language='zh']").first.click()
    assert stage_of(figure) == "1"
    assert figure.locator(".stages-sentence").inner_text() != english


def test_the_buttons_fit_a_finger(page: Any, base_url: str, stages_page: str) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{base_url}/{stages_page}?lang=both")
    for button in page.locator("figure.stages button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_on_paper_and_without_scripts_all_is_there(
    page: Any, browser: Any, base_url: str, stages_page: str
) -> None:
    plain = browser.new_page(java_script_enabled=False)
    plain.goto(f"{base_url}/{stages_page}")
    page.goto(f"{base_url}/{stages_page}?lang=zh")
    page.emulate_media(media="print")
    for shown in (plain, page):
        figure = shown.locator("figure.stages").first
        assert figure.locator("figcaption ol > li").last.is_visible()
        assert figure.locator("[data-stage='2']").first.is_visible()
        assert not figure.locator("button").first.is_visible()
    plain.close()


def test_an_address_opens_notes_on_sources(page: Any, base_url: str, sources_page: str) -> None:
    page.goto(f"{base_url}/{sources_page}?lang=zh")
    box = page.locator("details.sources").first
    assert box.get_attribute("open") is None
    anchor = box.get_attribute("id")
    page.goto(f"{base_url}/{sources_page}?lang=zh#{anchor}")
    page.reload()
    assert page.locator(f"[id='{anchor}']").get_attribute("open") is not None
    page.locator(f"[id='{anchor}'] > summary").click()
    page.goto(f"{base_url}/sources.html?lang=zh")
    page.locator(f"article a[href='{sources_page}#{anchor}']").click()
    page.wait_for_url(f"**/{sources_page}#{anchor}")
    assert page.locator(f"[id='{anchor}'] > .sources-text").is_visible()


def test_minutes_stand_in_the_outline_and_badges_at_what_is_optional(
    page: Any, base_url: str
) -> None:
    page.goto(f"{base_url}/attention-cues.html?lang=en")
    headings = page.locator("article h2")
    shown = [each for each in headings.all_inner_texts() if " min" in each]
    assert all("optional" in each for each in shown)
    timed = page.locator("article h2 .section-weight").count()
    assert page.locator(".page-toc .outline-minutes").count() == timed > 1


def test_an_opening_is_a_line_that_unfolds(page: Any, base_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{base_url}/self-attention.html?lang=en")
    opening = page.locator(".opening")
    assert opening.bounding_box()["height"] < 50
    expect(opening.locator(".opening-goal")).not_to_be_visible()
    opening.locator("summary").click()
    expect(opening.locator(".opening-goal")).to_be_visible()
    setup = page.locator(".tag_setup summary").first
    assert setup.bounding_box()["y"] > opening.bounding_box()["y"]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_a_phone_two_lines_stand_between_a_title_and_the_set_up(
    page: Any, base_url: str, lang: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("self-attention", "scaling-up"):
        page.goto(f"{base_url}/{name}.html?lang={lang}")
        assert page.locator(".opening").bounding_box()["height"] < 70
        above = page.locator(".bd-article h1").bounding_box()
        hook = page.locator(".part-hook p:visible").first.bounding_box()
        assert hook["y"] - above["y"] - above["height"] < 190


def test_titles_of_exercises_have_no_brackets_of_one_language(site: Path) -> None:
    titles = [
        " ".join(title.text_content().split())
        for page in site.glob("*.html")
        for title in tree(page).xpath(
            "//div[contains(@class, 'exercise')]/p[@class='admonition-title']"
        )
    ]
    assert len(titles) > 100
    assert not [each for each in titles if re.search(r"[\d.]+ \(", each)]
