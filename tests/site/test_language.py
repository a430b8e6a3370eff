"""Two languages from one source: the marks, and what the reader sees."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from bilingual.marks import Bilingual, is_marked, mark, pick, plain, resolve, split_pair
from bilingual.nodes import join_chinese_lines
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

words = st.text(st.characters(blacklist_categories=("Co", "Cc", "Cs")), max_size=20)


class TestMarks:
    @given(zh=words, en=words)
    def test_each_language_comes_back(self, zh: str, en: str) -> None:
        both = Bilingual(zh, en)
        assert pick(both, "zh") == zh
        assert pick(both, "en") == en
        assert not is_marked(plain(both))

    def test_words_are_filled_in_each_language(self) -> None:
        label = Bilingual("基类：%s", "Bases: %s") % Bilingual("模块", "Module")
        assert pick(label, "zh") == "基类：模块"
        assert pick(label, "en") == "Bases: Module"

    def test_named_words_are_filled_in(self) -> None:
        label = Bilingual("© 版权所有 %(copyright)s。", "© Copyright %(copyright)s.")
        assert pick(label % {"copyright": "2026"}, "en") == "© Copyright 2026."

    def test_pickled_with_the_environment(self) -> None:
        label = pickle.loads(pickle.dumps(Bilingual("图", "Fig.")))
        assert (label.zh, label.en) == ("图", "Fig.")

    def test_caption_of_a_part(self) -> None:
        assert pick(split_pair("参考 | Reference"), "zh") == "参考"
        assert split_pair("no pair") == "no pair"

    def test_text_becomes_elements(self) -> None:
        html = resolve(f"<p>{Bilingual('注', 'Note')} 1</p>")
        assert html == (
            '<p><span class="bl bl-zh" lang="zh-Hans">注</span><span class="bl-sep"> </span>'
            '<span class="bl bl-en" lang="en">Note</span> 1</p>'
        )

    def test_attributes_become_data(self) -> None:
        html = resolve(f'<a href="x" title="{Bilingual("上一页", "previous")}">&lt;</a>')
        assert html == (
            '<a href="x" title="上一页 previous" data-zh-title="上一页" data-en-title="previous"'
            ' data-bl="title">&lt;</a>'
        )

    def test_attribute_with_an_angle(self) -> None:
        html = resolve(f'<i data-x="a > b" title="{Bilingual("甲", "a")}"/>')
        assert 'data-x="a > b"' in html
        assert html.endswith('data-bl="title"/>')

    def test_title_keeps_both(self) -> None:
        html = resolve(f"<title>{Bilingual('掩码', 'Masks')} — {Bilingual('书', 'Book')}</title>")
        assert 'data-zh-text="掩码 — 书"' in html
        assert 'data-en-text="Masks — Book"' in html
        assert ">掩码 Masks — 书 Book</title>" in html

    def test_scripts_keep_no_marks(self) -> None:
        assert resolve(f'<script>let a = "{Bilingual("甲", "a")}";</script>').count("甲 a") == 1

    @given(words)
    def test_other_pages_stay_as_they_are(self, text: str) -> None:
        assert resolve(f"<p>{text}</p>") == f"<p>{text}</p>"

    def test_one_language_alone(self) -> None:
        assert resolve(mark("zh", "节")) == '<span class="bl bl-zh" lang="zh-Hans">节</span>'


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("一句。\n另一句。", "一句。另一句。"),
        ("调用 `x`\n之后", "调用 `x`\n之后"),
        ("见 PyTorch\nattention", "见 PyTorch\nattention"),
        ("停。\nPyTorch 也是。", "停。PyTorch 也是。"),
    ],
)
def test_line_breaks_in_chinese_are_no_blanks(source: str, joined: str) -> None:
    assert join_chinese_lines(source) == joined


def test_no_marks_reach_the_reader(site: Path) -> None:
    for path in [*site.rglob("*.html"), site / "search-index.js", *site.glob("*.inv")]:
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
        page.add_init_script(
            "Object.defineProperty(window, 'localStorage', {configurable: true,"
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
        page.close()

    def test_tooltips_follow(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=en")
        button = page.locator(".theme-switch-button")
        assert button.get_attribute("aria-label") == "Color mode"
        page.get_by_role("button", name="中文").click()
        assert button.get_attribute("aria-label") == "明暗模式"
        button.hover()
        expect(page.locator(".tooltip-inner")).to_have_text("明暗模式")

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
        for pair in page.locator("article .bl-pair").all()[:10]:
            zh = pair.locator(":scope > .bl-zh").bounding_box()
            en = pair.locator(":scope > .bl-en").bounding_box()
            assert abs(zh["y"] - en["y"]) < 2
            assert zh["x"] + zh["width"] < en["x"]

    def test_pairs_are_stacked_on_a_phone(self, page: Any, base_url: str) -> None:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{base_url}/masks.html?lang=both")
        pair = page.locator("article .bl-pair").first
        zh = pair.locator(":scope > .bl-zh").bounding_box()
        en = pair.locator(":scope > .bl-en").bounding_box()
        assert zh["y"] + zh["height"] <= en["y"] + 1
