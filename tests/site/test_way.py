"""Finding one's way: contents, outline, keys, place and progress, terms, links to copy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from parsed import tree
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

STORED = "JSON.parse(localStorage['attention-book-questions']).places"


def place_in(page: Any, wanted: Callable[[Any], bool] = bool) -> Any:
    """The place that is kept of the chapter on masks, as soon as it is as wanted."""
    for _ in range(50):
        place = page.evaluate(f"{STORED}?.masks ?? null")
        if place and wanted(place):
            return place
        page.wait_for_timeout(100)
    raise AssertionError(f"kept: {place}")


class TestContents:
    def test_parts_fold_and_the_pages_own_is_open(self, site: Path, page_name: str) -> None:
        parts = tree(site / page_name).xpath(
            "//nav[contains(@class, 'bd-links')]//details[@class='part']"
        )
        if page_name == "search.html":
            return
        assert len(parts) > 8
        opened = [part for part in parts if part.get("open") is not None]
        assert len(opened) == (page_name != "intro.html")
        for part in opened:
            assert part.xpath(".//li[contains(@class, 'current')]")

    def test_the_drawer_shows_where_one_is(self, phone: Any, base_url: str) -> None:
        phone.goto(f"{base_url}/bibliography.html?lang=en")
        phone.locator(".primary-toggle").tap()
        expect(phone.locator("dialog .bd-links li.current > a").last).to_be_in_viewport()

    def test_the_outline_closes_when_a_section_is_chosen(self, phone: Any, base_url: str) -> None:
        phone.goto(f"{base_url}/masks.html?lang=en")
        phone.locator(".secondary-toggle").tap()
        dialog = phone.locator("#pst-secondary-sidebar-modal")
        expect(dialog).to_be_visible()
        link = dialog.locator("a[href^='#']").nth(3)
        place = link.get_attribute("href")
        link.tap()
        expect(dialog).to_be_hidden()
        assert phone.url.endswith(place)

    def test_buttons_have_names_on_touch(self, phone: Any, base_url: str) -> None:
        phone.goto(f"{base_url}/masks.html?lang=en")
        nameless = "buttons => buttons.filter(b => !b.ariaLabel && !b.innerText.trim()).length"
        assert phone.locator(".bd-header-article button:visible").evaluate_all(nameless) == 0


class TestMenus:
    """Of the line above the text: what runs the page, what is downloaded."""

    def test_a_menu_opens_and_closes_by_keyboard(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        button = page.locator(".dropdown-launch-buttons > button")
        links = page.locator(".dropdown-launch-buttons a:visible")
        expect(links).to_have_count(0)
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(links).to_have_count(2)
        for link in links.all():
            assert 0 <= link.bounding_box()["x"] <= 1280 - link.bounding_box()["width"]
        page.keyboard.press("Tab")
        expect(links.first).to_be_focused()
        page.keyboard.press("Escape")
        expect(button).to_be_focused()
        expect(links).to_have_count(0)

    def test_one_menu_is_open_at_a_time(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        launch, download = (
            page.locator(f".dropdown-{name}-buttons") for name in ("launch", "download")
        )
        launch.locator("> button").click()
        download.locator("> button").click()
        expect(launch.locator("a:visible")).to_have_count(0)
        assert download.locator("a:visible").count() > 1
        page.mouse.click(640, 700)
        expect(download.locator("a:visible")).to_have_count(0)


class TestKeys:
    def test_arrows_turn_pages(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/scoring.html*")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**/masks.html*")

    def test_not_while_one_types_or_uses_a_figure(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/nadaraya-watson.html?lang=en")
        here = page.url
        slider = page.locator("article input[type=range]").first
        slider.scroll_into_view_if_needed()
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.locator("article figure").first.click(position={"x": 5, "y": 5})
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Control+k")
        page.keyboard.type("x")
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(300)
        assert page.url.split("#")[0] == here
        page.keyboard.press("Escape")
        page.keyboard.press("Alt+ArrowRight")
        page.wait_for_timeout(300)
        assert page.url.split("#")[0] == here


def section(page: Any, number: int) -> Any:
    return page.locator("article.bd-article > section > section").nth(number)


class TestProgress:
    def test_the_place_is_shown_and_kept_and_the_front_page_leads_back(
        self, page: Any, base_url: str
    ) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        place = page.locator(".reading-place")
        expect(place).to_have_text(re.compile(r"^\d+ min left$"), use_inner_text=True)
        count = page.locator("article.bd-article > section > section > h2").count()
        third = section(page, 2)
        third.evaluate("place => scrollTo(0, place.getBoundingClientRect().top + scrollY - 80)")
        expect(place).to_contain_text(f"3 / {count} · ")
        left = int(place.inner_text().split("·")[1].split()[0])
        here = third.get_attribute("id")
        _, zh, en, _, read = place_in(page, lambda place: place[0] == here)
        assert en.split(". ")[1] in third.locator("h2").text_content()
        assert zh != en
        assert read == 0
        fifth = section(page, 4)
        fifth.evaluate("place => scrollTo(0, place.getBoundingClientRect().top + scrollY - 80)")
        expect(place).to_contain_text(f"5 / {count} · ")
        assert int(place.inner_text().split("·")[1].split()[0]) < left
        page.goto(f"{base_url}/?lang=en")
        link = page.locator(".front-return a")
        expect(link).to_contain_text(page.evaluate(f"{STORED}.masks")[2])
        link.click()
        page.wait_for_url("**/masks.html#*")

    def test_who_comes_to_the_end_has_read_it(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        for number in (1, 2, 3):
            section(page, number).evaluate("place => place.scrollIntoView()")
            page.wait_for_timeout(1200)
        page.keyboard.press("End")
        place_in(page, lambda place: place[4] == 1)
        expect(page.locator(".bd-links li.current .read-tick")).to_have_count(1)
        page.goto(f"{base_url}/scoring.html?lang=en")
        expect(page.locator(".bd-links a[href='masks.html'] .read-tick")).to_have_count(1)

    def test_who_jumps_to_the_end_has_not(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        page.keyboard.press("End")
        expect(page.locator(".reading-left")).to_be_empty()
        assert place_in(page)[4] == 0

    def test_who_only_opens_a_chapter_has_no_place_in_it(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        page.wait_for_timeout(500)
        assert not page.evaluate(f"{STORED} ?? null")
        page.goto(f"{base_url}/?lang=en")
        expect(page.locator(".front-return")).to_be_hidden()

    def test_the_bar_reaches_the_end(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        width = "bar => bar.getBoundingClientRect().width / bar.parentElement.clientWidth"
        bar = page.locator(".reading-bar")
        assert bar.evaluate(width) < 0.05
        page.keyboard.press("End")
        expect(page.locator(".reading-left")).to_be_empty()
        assert bar.evaluate(width) > 0.98

    def test_the_next_chapters_question_stands_beside_the_link(self, site: Path) -> None:
        page = tree(site / "masks.html")
        (question,) = page.xpath("//a[@class='right-next']//p[@class='prev-next-question']")
        assert question.xpath("span[@lang='en']")[0].text == (
            "Are the scoring functions just different spellings of one thing?"
        )

    @pytest.mark.parametrize(
        ("name", "stop"),
        [
            ("scoring", "parallel-text.html"),
            ("bahdanau-results", "self-attention.html"),
            ("masks", None),  # the next page is the next stop
            ("language-models", None),  # the last
            ("glossary", None),
        ],
    )
    def test_a_chapter_ends_with_the_next_stop_of_the_road_where_the_next_page_is_none(
        self, site: Path, name: str, stop: str | None
    ) -> None:
        links = tree(site / f"{name}.html").xpath("//p[@class='next-station']/a")
        assert [link.get("href") for link in links] == [stop] * bool(stop)


class TestTerms:
    PAGE = "masks.html"
    TERM = "article a[href*='glossary.html#term-']:visible"

    def test_a_term_opens_in_place(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/{self.PAGE}?lang=en")
        link = page.locator(self.TERM).first
        name = link.inner_text()
        link.click()
        card = page.locator(".term-card")
        expect(card).to_be_visible()
        expect(card.locator("dd")).not_to_be_empty()
        assert (
            name.lower()[:4]
            in card.locator("dt").last.inner_text().lower() + card.inner_text().lower()
        )
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
        page.keyboard.press("Escape")
        expect(card).to_be_hidden()
        assert self.PAGE in page.url
        link.click()
        card.locator(".term-card-more a").click()
        page.wait_for_url("**/glossary.html#term-*")

    def test_it_is_a_link_where_the_entries_do_not_come(self, browser: Any, base_url: str) -> None:
        page = browser.new_page()
        page.route("**/glossary-terms.js", lambda route: route.abort())
        page.goto(f"{base_url}/{self.PAGE}?lang=en")
        page.locator(self.TERM).first.click()
        page.wait_for_url("**/glossary.html#term-*")
        page.close()

    def test_every_term_has_its_entry(self, site: Path) -> None:
        text = (site / "_static" / "glossary-terms.js").read_text("utf8")
        entries = json.loads(text.removeprefix("window.bookTerms=").rstrip(";\n"))
        glossary = tree(site / "glossary.html")
        assert sorted(entries) == sorted(
            glossary.xpath("//dl[contains(@class, 'glossary')]/dt/@id")
        )
        for page, entry in entries.values():
            assert page == "glossary.html"
            assert html.fromstring(f"<dl>{entry}</dl>").xpath("count(dd)") == 1
            assert " id=" not in entry  # they stand in no page twice


def test_the_sign_beside_a_heading_copies_the_link(page: Any, context: Any, base_url: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{base_url}/masks.html?lang=en")
    for place in ("h2", "figcaption"):
        link = page.locator(f"article {place} a.headerlink").first
        link.evaluate("link => link.click()")
        expect(page.locator("[role=status].visually-hidden")).to_have_text("Link copied")
        expect(link).to_have_text("✓")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.endswith(link.get_attribute("href"))
        assert copied.startswith(base_url)
        expect(link).not_to_have_text("✓")


def test_without_scripts_a_page_says_what_stands_still(browser: Any, base_url: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{base_url}/masks.html")
    notice = page.locator(".without-scripts")
    expect(notice).to_contain_text("Live figures stand still")
    expect(notice).to_contain_text("停在第一帧")
    page.close()


def test_both_stores_may_be_blocked(page: Any, base_url: str) -> None:
    page.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, name, {configurable: true,"
        " get() { throw new DOMException('denied', 'SecurityError'); }})"
    )
    page.goto(f"{base_url}/masks.html?lang=en")
    section(page, 3).evaluate("place => place.scrollIntoView()")
    page.locator("[data-set-language=zh]").click()
    page.goto(f"{base_url}/scoring.html?lang=en")
    expect(page.locator("article h1 .bl-en")).to_be_visible()
