"""Search: two-character words, phrases, stems; each heading once, in the reader's language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bilingual.nodes import LanguageInline
from bilingual.search import Section, _walk
from docutils import nodes
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def results(page: Any, base_url: str, query: str, language: str = "zh") -> list[tuple[str, str]]:
    """The titles and addresses of what was found."""
    page.goto(f"{base_url}/search.html?lang={language}")
    page.fill("#book-search", query)
    expect(page.locator("#search-status")).not_to_be_empty()
    links = page.locator("#search-results li > a").all()
    return [(link.inner_text(), link.get_attribute("href")) for link in links]


@pytest.mark.parametrize(
    ("query", "chapter"),
    [
        ("掩码", "masks.html"),  # two characters
        ("填充", "masks.html"),
        ("注意力", "attention-cues.html"),
        ("掩码实验室", "masks.html"),  # a phrase of a heading
        ("masks", "masks.html"),
        ("masking", "masks.html"),  # another form of the word
        ("queries", "attention-cues.html"),
        ("masked_softmax", "masks.html"),  # a name
        ("softmax 掩码", "masks.html"),  # both languages at once
        ("MASK", "masks.html"),
        ("掩码softmax", "masks.html"),  # run together
    ],
)
def test_finds(tab_page: Any, base_url: str, query: str, chapter: str) -> None:
    assert chapter in [href.split("#")[0] for _, href in results(tab_page, base_url, query)]


def test_letters_of_any_script_are_found(page: Any, base_url: str) -> None:
    page.route(
        "**/search-index.js",
        lambda route: route.fulfill(
            body='window.bookIndex=[["a.html",[["","甲","A","宽度σ变大","","weiß ΔW"]]]];'
            'window.bookSpellings={"characters":"","words":{}};',
            content_type="text/javascript",
        ),
    )
    for query in ("σ", "ΔW", "weiß", "宽度σ"):
        assert [href for _, href in results(page, base_url, query)] == ["a.html"], query


PLACES = """
window.bookIndex=[["a.html",[["","掩码","Masks","多头注意力的概率","attention with RoPE",""],
["s","甲","A","填充","padding",""],
["cell-3","甲 · 证据","A · Evidence","","","a_secret padding","inside"]]]];
window.bookSpellings={"characters":"機机頭头","words":{"遮罩":"掩码"}};
"""


@pytest.mark.parametrize(
    ("query", "by", "place"),
    [
        ("注意力机制", "注意力", "a.html"),  # one word too many: the longest part
        ("多头注意力机制", "多头注意力", "a.html"),
        ("多頭注意力機制", "多头注意力", "a.html"),  # in traditional characters
        ("多頭注意力", "", "a.html"),
        ("ＲｏＰＥ", "", "a.html"),  # full width
        ("ＲｏＰＥs", "", "a.html"),
        ("attention注意力层", "attention 注意力", "a.html"),
        ("遮罩", "掩码", "a.html"),  # another word for it
        ("rope 填充", "rope", "a.html"),  # both are there, nowhere together
        ("a_secret", "", "a.html#cell-3"),  # in a folded cell alone
        ("填充 a_secret", "", "a.html#cell-3"),  # a word of the section and one of its cell
        ("padding", "", "a.html#s"),  # in sight: the cell, which has it too, is no place of its own
    ],
)
def test_what_is_typed_otherwise_is_found(
    page: Any, base_url: str, query: str, by: str, place: str
) -> None:
    """The kind: a character too many, another width, another script, another word; and words that
    a page shows only when it is opened."""
    page.route(
        "**/search-index.js",
        lambda route: route.fulfill(body=PLACES, content_type="text/javascript; charset=utf-8"),
    )
    assert [href for _, href in results(page, base_url, query)] == [place]
    said = page.locator("#search-status").inner_text()
    assert (f"按“{by}”" in said) == bool(by), said


@pytest.mark.parametrize(
    "query", ["注意力机制", "多頭注意力機制", "ＲｏＰＥ", "遮罩", "機率", "權重"]
)
def test_the_book_is_found_by_what_others_say(tab_page: Any, base_url: str, query: str) -> None:
    assert results(tab_page, base_url, query)


def test_a_result_in_a_folded_cell_opens_it(page: Any, base_url: str, site: Path) -> None:
    text = (site / "search-index.js").read_text("utf8").split(";\n")[0]
    pages = dict(json.loads(text.removeprefix("window.bookIndex=")))
    anchors = [entry[0] for entry in pages["masks.html"] if entry[6:] == ["inside"]]
    cells = [anchor for anchor in anchors if anchor.startswith("cell-")]
    assert len(cells) >= 5
    for anchor in (cells[0], next(each for each in anchors if each not in cells)):
        page.goto("about:blank")
        page.goto(f"{base_url}/masks.html#{anchor}")
        target = page.locator(f"[id='{anchor}']")
        expect(target).to_be_in_viewport()
        assert target.evaluate("(box) => !box.closest('details:not([open]), .folded')")


def test_an_index_that_does_not_load_is_no_silence(browser: Any, base_url: str) -> None:
    page = browser.new_page()  # unwatched: the browser itself reports what it could not load
    page.route("**/search-index.js", lambda route: route.abort())
    assert results(page, base_url, "掩码") == []
    assert "没能载入" in page.locator("#search-status").inner_text()
    page.unroute("**/search-index.js")
    page.fill("#book-search", "掩码 ")
    page.wait_for_selector("#search-results li")
    page.close()


def test_finds_nothing_and_says_so(page: Any, base_url: str) -> None:
    assert results(page, base_url, "qwertyuiop") == []
    assert "没有找到" in page.locator("#search-status").inner_text()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_heading_is_listed_once_in_the_readers_language(
    page: Any, base_url: str, language: str
) -> None:
    for query in ("掩码", "mask"):
        found = results(page, base_url, query, language)
        places = [href for _, href in found]
        assert len(places) == len(set(places))
        chinese = [any("\u4e00" <= letter <= "\u9fff" for letter in title) for title, _ in found]
        if language == "en":
            assert not any(chinese)
        else:
            assert sum(chinese) > len(chinese) / 2  # the rest are names of functions


def test_results_follow_the_toggle(page: Any, base_url: str) -> None:
    results(page, base_url, "掩码", "zh")
    page.get_by_role("button", name="English").click()
    expect(page.locator("#search-status")).to_contain_text("found")


def test_a_result_leads_to_its_place(page: Any, base_url: str) -> None:
    for _, href in results(page, base_url, "softmax")[:5]:
        page.goto(f"{base_url}/{href}")
        anchor = href.partition("#")[2]
        assert not anchor or page.locator(f"[id='{anchor}']").count() == 1


def test_the_query_is_text_not_markup(page: Any, base_url: str) -> None:
    results(page, base_url, "<img src=x onerror=alert(1)> mask")
    assert page.locator("#search-results img").count() == 0


def test_the_index_is_loaded_on_the_search_page_alone(page: Any, base_url: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{base_url}/masks.html")
    page.wait_for_load_state("networkidle")
    assert not [url for url in loaded if "search" in url]


def test_the_header_button_searches(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/masks.html?lang=zh")
    page.locator(".search-button-field").click()
    page.locator("#pst-search-dialog input").fill("掩码")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li")
    assert "q=" in page.url


def test_index_holds_no_other_words(site: Path) -> None:
    text = (site / "search-index.js").read_text("utf8")
    text, spellings, _ = text.split(";\n")
    pages = json.loads(text.removeprefix("window.bookIndex="))
    written = json.dumps(pages, ensure_ascii=False)
    assert all(
        ours in written
        for ours in json.loads(spellings.removeprefix("window.bookSpellings="))["words"].values()
    )
    names = [name for name, _ in pages]
    assert names[0] == "intro.html"
    assert len(names) == len(set(names))
    for name, sections in pages:
        assert (site / name).is_file()
        assert all(section[6:] in ([], ["inside"]) for section in sections)


def test_section_keeps_languages_apart() -> None:
    section = Section("a", "\ue000掩码\ue002\ue001Masks\ue002")
    section.text["zh"].append("甲")
    section.text["en"].append("b")
    assert section.entry() == ["a", "掩码", "Masks", "甲", "b", ""]


def test_the_cells_of_a_table_do_not_run_together():
    cells = [
        nodes.entry("", nodes.paragraph("", "", LanguageInline("", word, language="en")))
        for word in ("warm-up", "small steps")
    ]
    row = nodes.row("", *cells)
    found: list[Section] = []
    _walk(nodes.section("", nodes.title("", "T"), row, ids=["t"]), None, "", found)
    assert found[0].entry()[4] == "warm-up small steps"
