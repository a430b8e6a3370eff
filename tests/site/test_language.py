"""Two languages from one source: what the reader sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bilingual.marks import is_marked
from playwright.sync_api import expect


def test_no_marks_reach_the_reader(site: Path) -> None:
    for path in [*site.rglob("*.html"), *(site / "search-index").iterdir(), *site.glob("*.inv")]:
        assert not is_marked(path.read_bytes().decode("utf8", "ignore")), path


def languages_shown(page: Any) -> tuple[bool, bool]:
    title = page.locator("article h1").first
    return title.locator(".bl-zh").is_visible(), title.locator(".bl-en").is_visible()


@pytest.mark.browser
class TestToggle:
    def test_choice_is_remembered_on_the_next_page(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        assert languages_shown(page) == (False, True)
        page.get_by_role("button", name="中文").click()
        assert languages_shown(page) == (True, False)
        assert page.locator("html").get_attribute("lang") == "zh-Hans"
        page.goto(f"{base_url}/intro.html")
        assert languages_shown(page) == (True, False)

    def test_address_wins_and_follows_the_toggle(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=zh")
        page.goto(f"{base_url}/masks.html?lang=en")
        assert languages_shown(page) == (False, True)
        page.get_by_role("button", name="对照").click()
        assert "lang=both" in page.url
        assert languages_shown(page) == (True, True)

    @pytest.mark.parametrize(
        ("locale", "shown"), [("zh-CN", (True, False)), ("de-DE", (False, True))]
    )
    def test_first_visit_follows_the_browser(
        self, browser: Any, watch: Any, base_url: str, locale: str, shown: tuple[bool, bool]
    ) -> None:
        page = watch(browser.new_page(locale=locale))
        page.goto(f"{base_url}/masks.html")
        assert languages_shown(page) == shown
        page.close()

    def test_works_where_storage_is_blocked(self, page: Any, base_url: str) -> None:
        for storage in ("localStorage", "sessionStorage"):
            page.add_init_script(
                f"Object.defineProperty(window, '{storage}', {{configurable: true,"
                " get() { throw new DOMException('denied', 'SecurityError'); }})"
            )
        page.goto(f"{base_url}/masks.html?lang=en")
        page.get_by_role("button", name="中文").click()
        assert languages_shown(page) == (True, False)
        page.locator(".theme-switch-button").click()  # the theme's scripts went on, too

    def test_title_of_the_window(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=zh")
        zh = page.title()
        page.get_by_role("button", name="English").click()
        en = page.title()
        assert "掩码" in zh
        assert "注意力之书" in zh
        assert "Attention Book" in en
        assert not any("\u4e00" <= letter <= "\u9fff" for letter in en)
        page.get_by_role("button", name="对照").click()
        assert page.title() == zh  # a window has one title

    def test_right_before_the_first_paint(self, page: Any, base_url: str) -> None:
        page.add_init_script(
            "new MutationObserver(() => { if (document.body && !window.early)"
            " window.early = document.documentElement.dataset.language; })"
            ".observe(document, {childList: true, subtree: true})"
        )
        page.goto(f"{base_url}/masks.html?lang=zh")
        assert page.evaluate("window.early") == "zh"

    def test_without_javascript_both_show(self, browser: Any, base_url: str) -> None:
        page = browser.new_page(java_script_enabled=False)
        page.goto(f"{base_url}/masks.html")
        assert languages_shown(page) == (True, True)
        expect(page.locator(".language-toggle")).to_be_hidden()
        for sentence in page.locator(".without-scripts > p").all():  # what stands still
            expect(sentence).to_be_visible()
        assert page.locator(".without-scripts > p").count() == 2
        page.close()

    def test_tooltips_follow(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        button = page.locator(".theme-switch-button")
        assert button.get_attribute("aria-label") == "Color mode"
        page.get_by_role("button", name="中文").click()
        assert button.get_attribute("aria-label") == "明暗模式"
        sidebar = page.locator(".primary-toggle")
        assert sidebar.get_attribute("title") == sidebar.get_attribute("data-zh-title")

    def test_the_reader_keeps_the_place(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=zh")
        pair = page.locator("article .bl-pair").nth(12)
        pair.evaluate("pair => window.scrollBy(0, pair.getBoundingClientRect().top - 70)")
        before = pair.evaluate("pair => pair.getBoundingClientRect().top")
        for language in ("en", "both", "zh"):
            page.locator(f"[data-set-language={language}]").evaluate("button => button.click()")
            assert abs(pair.evaluate("pair => pair.getBoundingClientRect().top") - before) < 2


@pytest.mark.browser
class TestBothLanguages:
    def test_pairs_stand_side_by_side_on_a_wide_screen(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=both")
        page.locator(".opening-more > summary").click()
        pairs = page.locator("article .bl-pair").all()[:10]
        assert len(pairs) == 10
        for pair in pairs:
            zh = pair.locator(":scope > .bl-zh").bounding_box()
            en = pair.locator(":scope > .bl-en").bounding_box()
            assert abs(zh["y"] - en["y"]) < 2
            assert zh["x"] + zh["width"] < en["x"]

    def test_on_a_phone_a_tapped_pair_is_stacked(self, phone: Any, base_url: str) -> None:
        phone.goto(f"{base_url}/masks.html?lang=both")
        phone.locator(".opening-more > summary").tap()
        tapped, other = phone.locator("article .bl-pair").all()[:2]
        for pair in (tapped, other):
            expect(pair.locator(":scope > .bl-zh")).to_be_visible()
            expect(pair.locator(":scope > .bl-en")).to_be_hidden()
        tapped.locator(":scope > .bl-zh").tap(position={"x": 4, "y": 4})
        expect(other.locator(":scope > .bl-en")).to_be_hidden()
        zh = tapped.locator(":scope > .bl-zh").bounding_box()
        en = tapped.locator(":scope > .bl-en").bounding_box()
        assert zh["y"] + zh["height"] <= en["y"] + 1
        tapped.locator(":scope > .bl-zh").tap(position={"x": 4, "y": 4})
        expect(tapped.locator(":scope > .bl-en")).to_be_hidden()
