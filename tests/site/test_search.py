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
from search_parts import PARTS, part, whole

pytestmark = pytest.mark.browser


def results(page: Any, base_url: str, query: str, language: str = "zh") -> list[tuple[str, str]]:
    """The titles and addresses of what was found."""
    page.goto(f"{base_url}/search.html?lang={language}")
    page.fill("#book-search", query)
    expect(page.locator("#search-status")).not_to_be_empty()
    expect(page.locator("#search-status")).not_to_contain_text("Type what you are looking for")
    expect(page.locator("#search-status")).not_to_contain_text("输入要找的词：")
    links = page.locator("#search-results ol.search > li > a").all()
    return [(link.inner_text(), link.get_attribute("href").rpartition("/")[2]) for link in links]


def planted(page: Any, places: list[list[Any]], **heads: Any) -> None:
    """Give the search an index of one page, a.html, with these places."""
    rows = [[*place[:3], *place[6:]] for place in places]
    usual = {"characters": "", "words": {}, "same": [], "silent": [], "about": {}}
    values = {"heads": {"pages": [["a.html", "chapter", rows]], **usual, **heads}}
    for number, name in enumerate(PARTS[1:]):
        values[name] = [[place[3 + number] for place in places]]
    page.route(
        "**/search-index/*.js",
        lambda route: route.fulfill(
            body=f"(window.bookIndex ??= {{}}).{(name := Path(route.request.url).stem)}="
            + json.dumps(values[name]),
            content_type="text/javascript; charset=utf-8",
        ),
    )


@pytest.mark.parametrize(
    ("query", "chapter"),
    [
        ("掩码", "masks.html"),  # two characters
        ("填充", "masks.html"),
        ("注意力", "attention-cues.html"),
        ("谁可以看谁", "masks.html"),  # a phrase of a heading
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
    planted(page, [["", "甲", "A", "宽度σ变大", "", "weiß ΔW"]])
    for query in ("σ", "ΔW", "weiß", "宽度σ"):
        assert [href for _, href in results(page, base_url, query)] == ["a.html"], query


PLACES = [
    ["", "掩码", "Masks", "多头注意力的概率", "attention with RoPE", ""],
    ["s", "甲", "A", "填充", "padding", ""],
    ["cell-3", "甲 · 证据", "A · Evidence", "", "", "a_secret padding", 1],
]


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
        ("遮罩", "", "a.html"),  # another word for it
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
    planted(page, PLACES, characters="機机頭头", words={"遮罩": "掩码"})
    assert [href for _, href in results(page, base_url, query)] == [place]
    said = page.locator("#search-status").inner_text()
    assert (f"按“{by}”" in said) == bool(by), said


@pytest.mark.parametrize(
    "query", ["注意力机制", "多頭注意力機制", "ＲｏＰＥ", "遮罩", "機率", "權重"]
)
def test_the_book_is_found_by_what_others_say(tab_page: Any, base_url: str, query: str) -> None:
    assert results(tab_page, base_url, query)


def test_a_result_in_a_folded_cell_opens_it(page: Any, base_url: str, site: Path) -> None:
    anchors = [entry[0] for entry in whole(site)["masks.html"] if entry[6]]
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
    page.route("**/search-index/*.js", lambda route: route.abort())
    assert results(page, base_url, "掩码") == []
    assert "没能载入" in page.locator("#search-status").inner_text()
    page.unroute("**/search-index/*.js")
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
    pages = whole(site)
    written = json.dumps(pages, ensure_ascii=False)
    assert all(ours in written for ours in part(site, "heads")["words"].values())
    assert next(iter(pages)) == "intro.html"
    assert all((site / name).is_file() for name in pages)


def test_the_same_words_stand_in_one_list_alone(site: Path) -> None:
    lists = [[word.lower() for word in line] for line in part(site, "heads")["same"]]
    assert all(len(line) == len(set(line)) > 1 for line in lists)
    every = [word for line in lists for word in line]
    assert len(every) == len(set(every)), sorted(w for w in every if every.count(w) > 1)


def test_pages_of_the_list_of_words_are_pages_of_the_book(site: Path) -> None:
    about = part(site, "heads")["about"]
    assert about
    assert not [name for name in about if not (site / name).is_file()]


def test_no_place_is_found_by_what_a_chapter_needs(site: Path) -> None:
    """The box at the head of a chapter lists what it needs, which is what others are about."""
    for name, places in whole(site).items():
        assert "学完之后，你能" not in places[0][3], name
        assert "Afterwards you can" not in places[0][4], name


#: What a reader types, and the page that they want: the first or second that is shown.
WANTED = {
    "zh": {
        "注意力": "attention-cues",
        "意力": "attention-cues",
        "什么是自注意力": "self-attention",
        "掩码": "masks",
        "填充": "masks",
        "为什么除以根号d": "scoring",
        "RoPE": "positional-encoding",
        "多头": "multi-head",
        "KV缓存": "inference",
        "層歸一化": "transformer-layers",
        "集束搜索": "decoding-bleu",
        "教师强制": "seq2seq",
        "归纳头": "induction-heads",
        "权重可信吗": "trust",
        "梯度消失": "gradients",
        "连续批处理": "serving",
        "首词等待": "serving",
        "扩散语言模型": "language-models",
    },
    "en": {
        "attention": "attention-cues",
        "what is attention": "attention-cues",
        "why divide by sqrt d": "scoring",
        "square root": "scoring",
        "rope": "positional-encoding",
        "masking": "masks",
        "multi-head attention": "multi-head",
        "kv cache": "inference",
        "layernorm": "transformer-layers",
        "beam search": "decoding-bleu",
        "flash attention": "efficient-attention",
        "vision transformer": "images",
        "how does teacher forcing work": "seq2seq",
        "masked_softmax": "api/attention",
        "grouped query attention": "cost-of-a-word",
        "continuous batching": "serving",
        "prefix caching": "serving",
        "diffusion language model": "language-models",
    },
}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_that_one_wants_comes_first_or_second(
    tab_page: Any, base_url: str, language: str
) -> None:
    wrong = {}
    for query, wanted in WANTED[language].items():
        found = [href.split("#")[0] for _, href in results(tab_page, base_url, query, language)]
        if f"{wanted}.html".rpartition("/")[2] not in list(dict.fromkeys(found))[:2]:
            wrong[query] = found[:4]
    assert not wrong


def test_part_of_a_word_gives_no_flood(tab_page: Any, base_url: str) -> None:
    found = results(tab_page, base_url, "意力")
    assert 0 < len(found) <= 46


def test_chinese_that_stands_nowhere_as_a_whole_is_found_by_its_pairs(
    page: Any, base_url: str
) -> None:
    planted(
        page, [["", "甲", "A", "权重从哪里来，可不可信", "", ""], ["s", "乙", "B", "别的", "", ""]]
    )
    assert [href for _, href in results(page, base_url, "权重可信")] == ["a.html"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_results_stand_in_groups(tab_page: Any, base_url: str, language: str) -> None:
    results(tab_page, base_url, "softmax", language)
    names = tab_page.locator("#search-results h2").all_inner_texts()
    every = {"zh": ["正文", "术语", "参考"], "en": ["Chapters", "Terms", "Reference"]}[language]
    assert len(names) >= 2
    assert [name for name in every if name in names] == names


def test_a_first_search_loads_no_more_than_it_needs(page: Any, base_url: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    for language, others in (("zh", ("en", "both")), ("en", ("zh", "both"))):
        loaded.clear()
        page.goto("about:blank")
        results(page, base_url, "attention", language)
        parts = {Path(url).stem for url in loaded if "search-index" in url}
        assert parts == {"heads", language}, (language, others)


def test_what_stands_in_code_alone_is_found_all_the_same(tab_page: Any, base_url: str) -> None:
    assert results(tab_page, base_url, "printed_numbers_or_nothing scaled_dot_product_attention")


@pytest.mark.parametrize(
    ("query", "said"),
    [("", "Type what you are"), (".*+?", "punctuation only"), (" ", "Type what")],
)
def test_what_is_no_query_gets_a_sentence(page: Any, base_url: str, query: str, said: str) -> None:
    page.goto(f"{base_url}/search.html?lang=en")
    page.fill("#book-search", query)
    expect(page.locator("#search-status")).to_contain_text(said)


def test_a_long_query_stays_out_of_the_address(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/search.html?lang=en&q={'x' * 900}")
    assert len(page.input_value("#book-search")) == 200
    page.locator("#book-search").fill("")
    page.locator("#book-search").press_sequentially("y" * 210, delay=0)
    assert len(page.input_value("#book-search")) == 200
    assert len(page.url) < 400


def test_the_field_over_a_page_answers_as_one_types(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/masks.html?lang=en")
    page.keyboard.press("Control+k")
    dialog = page.locator("#pst-search-dialog")
    page.keyboard.type("beam search")
    first = dialog.locator("ol.search > li > a").first
    expect(first).to_contain_text("Decoding and BLEU")
    page.keyboard.press("ArrowDown")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(dialog.locator("input")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/decoding-bleu.html*")


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
