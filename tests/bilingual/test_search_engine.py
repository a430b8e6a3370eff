"""What the search finds, and in which order: the engine of the page on small indices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bilingual
import pytest
from py_mini_racer import MiniRacer

STATIC = Path(bilingual.__file__).parent / "static"
#: Two chapters, a glossary and a reference: anchor, title zh, title en, zh, en, both, folded.
BOOK = {
    "a.html": (
        "chapter",
        [
            ["", "掩码：谁可以看谁", "Masks: who may look at whom", "遮住一个键", "hide a key", ""],
            ["pad", "填充", "Padding", "短句补齐；权重可信吗", "short sentences", "a_name"],
            ["cell", "填充 · 代码", "Padding · Code", "", "", "secret padding", 1],
        ],
    ),
    "b.html": (
        "chapter",
        [
            ["", "评分", "Scores", "注意力的评分", "scores of attention, of a mask too", "√d"],
            ["why", "为什么除以 √d", "Why divide by √d", "方差", "variance", ""],
        ],
    ),
    "terms.html": ("term", [["t", "掩码", "mask", "看得见的", "what may be seen", ""]]),
    "api.html": ("reference", [["m", "masked", "masked", "掩码", "mask", "mask mask mask"]]),
}
WORDS = {
    "same": [["根号", "√", "sqrt", "square root"], ["掩码", "mask"], ["束搜索", "beam search"]],
    "silent": ["为什么", "什么是", "的", "what", "is", "why", "a", "by"],
    "about": {"b.html": ["attention", "注意力"]},
    "words": {"遮罩": "掩码"},
    "characters": "碼码機机",
}


class Search:
    def __init__(self, book: dict[str, Any], parts: tuple[str, ...] = ("zh", "en", "both")) -> None:
        pages = [
            [page, kind, [[*row[:3], *row[6:]] for row in rows]]
            for page, (kind, rows) in book.items()
        ]
        index: dict[str, Any] = {"heads": {"pages": pages, **WORDS}}
        for number, part in enumerate(("zh", "en", "both")):
            if part in parts:
                index[part] = [[row[3 + number] for row in rows] for _, rows in book.values()]
        self.engine = MiniRacer()
        self.engine.eval("globalThis.window = globalThis")
        for name in ("porter-stemmer.js", "search-engine.js"):
            self.engine.eval((STATIC / name).read_text(encoding="utf8"))
        self.engine.eval(f"globalThis.engine = bookSearchEngine({json.dumps(index)}); void 0")

    def answer(self, query: str) -> tuple[list[str], str]:
        """The best place of each page, the best first; the words that they were found by."""
        found = json.loads(
            self.engine.eval(
                f"""(({{ results, by }}) => JSON.stringify([results.map(({{ found }}) => {{
                  const {{ page, anchor }} = found[0].place;
                  return anchor ? `${{page}}#${{anchor}}` : page;
                }}), by]))(engine.answer({json.dumps(query)}))"""
            )
        )
        return found[0], found[1]

    def first(self, query: str) -> str:
        return self.answer(query)[0][0]


@pytest.fixture(scope="module")
def search() -> Any:
    found = Search(BOOK)
    yield found
    found.engine.close()


def test_a_chapter_comes_before_terms_and_reference(search: Search) -> None:
    assert search.answer("掩码")[0] == ["a.html", "terms.html#t", "api.html#m", "b.html"]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("mask", "a.html"),
        ("MASKS", "a.html"),
        ("masking", "a.html"),  # its stem
        ("遮罩", "a.html"),  # another word for it
        ("掩碼", "a.html"),  # in traditional characters
        ("ｍａｓｋ", "a.html"),  # full width
        ("a_name", "a.html#pad"),
        ("用padding吗", "a.html#pad"),  # Latin letters beside Chinese
    ],
)
def test_a_word_in_any_form(search: Search, query: str, place: str) -> None:
    assert search.first(query) == place


@pytest.mark.parametrize(
    "query", ["除以根号d", "为什么除以根号d", "why divide by sqrt d", "√", "square root"]
)
def test_words_that_mean_the_same(search: Search, query: str) -> None:
    assert search.first(query) == "b.html#why"


@pytest.mark.parametrize("query", ["attention", "what is attention", "什么是注意力", "注意力"])
def test_a_page_may_be_about_what_its_title_does_not_say(search: Search, query: str) -> None:
    assert search.first(query) == "b.html"


def test_words_that_say_nothing_count_where_nothing_else_is_there(search: Search) -> None:
    assert search.first("why") == "b.html#why"


def test_what_is_folded_is_found_for_what_the_text_around_it_does_not_have(search: Search) -> None:
    assert search.answer("secret") == (["a.html#cell"], "")
    assert search.answer("padding secret") == (["a.html#cell"], "")
    assert search.first("padding") == "a.html#pad"


def test_pairs_of_characters_are_the_last_resort(search: Search) -> None:
    places, by = search.answer("权重可以信吗")
    assert places == ["a.html#pad"]
    assert by
    assert search.answer("权重可信吗") == (["a.html#pad"], "")


def test_what_no_place_has_together(search: Search) -> None:
    assert search.answer("填充 variance")[1] in ("填充", "variance")
    assert search.answer("qwertyuiop") == ([], "")
    assert search.answer("完全没有的话") == ([], "")


def test_parts_that_have_not_come_are_not_missed() -> None:
    some = Search(BOOK, parts=("zh",))
    assert some.first("掩码") == "a.html"
    assert some.first("masks") == "a.html"  # titles are there in both languages
    assert some.answer("variance") == ([], "")
    some.engine.close()


@pytest.mark.parametrize("query", ["", "   ", ".*+?", "(", "\\", "[a", "a" * 500, "𝕊\ud800"])
def test_nothing_that_is_typed_breaks_it(search: Search, query: str) -> None:
    assert isinstance(search.answer(query)[0], list)
