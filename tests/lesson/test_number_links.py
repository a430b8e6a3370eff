"""Every number in the prose leads to the cell that it comes from, wherever it stands."""

import pytest
import search_parts
from glued import gluing
from lxml import html
from tiny import HEADER, cell, make_book

EXTENSIONS = ["bilingual", "evidence", "sphinx_exercise", "website", "lesson.number_links"]
EXTENSIONS += ["lesson.folded_places"]

CHAPTER = (
    HEADER
    + "# {zh}`甲` {en}`A`\n\n"
    + cell("print('no number')")
    + cell(gluing(a_share=0.25, a_word="many"), tags="[evidence]")
    + cell(gluing(a_other=3.5) + "print('its output')", tags="[remove-input]")
    + cell(gluing(a_nowhere=1.5), tags="[remove-cell]")
    + cell(gluing(a_low=-0.43, a_french="j'ai"), tags="[evidence]")
    + """
:::{zh}
份额是 {glue:text}`a_share:.0%`。
:::
:::{en}
The share is {glue:text}`a_share:.0%`.
:::

| {zh}`份额` {en}`share` | {glue:text}`a_share:.2f` |
|---|---|
| {zh}``{glue:text}`a_other:.1f` `` {en}``{glue:text}`a_other:.1f` `` | {glue:text}`a_word` |

## {zh}``不到 {glue:text}`a_share` `` {en}``Below {glue:text}`a_share` ``

Removed: {glue:text}`a_nowhere:.1f`.

Low: {glue:text}`a_low:.2f`, {glue:text}`a_french`.

:::{exercise}
:label: ex-a
Compute.
:::

```{solution-start} ex-a
:class: dropdown
```
Solved: {glue:text}`a_solved:.1f`.
"""
    + cell(gluing(a_solved=9.5), tags="[evidence]")
    + "```{solution-end}\n```\n"
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    other = "# Other\n\nAs A says, {glue:text}`a.md::a_share:.0%`.\n"
    book = make_book(
        tmp_path_factory.mktemp("numbers"), EXTENSIONS,
        intro="# T\n", a=CHAPTER, other=other,
    )  # fmt: skip
    book.build()
    return book


def links(book, page):
    return html.fromstring(book.page(page)).xpath("//a[contains(@class, 'number-link')]")


def target(book, link):
    (found,) = html.fromstring(book.page("a")).xpath(f"//*[@id='{link.get('href')[1:]}']")
    return found


def test_no_link_is_dead(book):
    assert len(links(book, "a")) == 9
    assert all(target(book, link) is not None for link in links(book, "a"))


def test_a_number_leads_into_the_fold_of_its_cell(book):
    for link in links(book, "a"):
        if "25" in link.text_content():
            assert "a_share" in target(book, link).text_content()
            (fold,) = target(book, link).xpath("ancestor::details")
            assert fold.get("open") is None


def test_the_link_says_what_it_is_in_the_language_around_it(book):
    titles = [link.get("title") for link in links(book, "a")]
    assert titles[:2] == ["这个数的出处", "Where this number comes from"]
    outside = links(book, "a")[2]  # in a table, outside both languages
    assert outside.get("data-zh-title") == titles[0]
    assert outside.get("data-en-title") == titles[1]


def test_the_other_values_have_their_own_cells(book):
    by_text = {link.text_content(): target(book, link) for link in links(book, "a")}
    assert "its output" in by_text["3.5"].text_content()  # its code is not on the page
    assert "a_word" in by_text["many"].text_content()
    assert "a_solved" in by_text["9.5"].text_content()


def test_a_number_below_zero_has_a_minus_and_a_word_its_own_apostrophe(book):
    written = [link.text_content() for link in links(book, "a")]
    assert "−0.43" in written
    assert "-0.43" not in written
    assert "j'ai" in written


def test_a_heading_and_a_removed_cell_have_no_link(book):
    page = html.fromstring(book.page("a"))
    assert not page.xpath("//h2//a[contains(@class, 'number-link')]")
    (removed,) = page.xpath("//p[starts-with(., 'Removed')]")
    assert not removed.xpath(".//a")


def test_a_number_of_another_page_leads_there(book):
    (link,) = links(book, "other")
    assert link.text_content() == "25%"
    page, _, anchor = link.get("href").partition("#")
    assert page == "a.html"
    assert html.fromstring(book.page("a")).xpath(f"//details//*[@id='{anchor}']")


def test_what_is_folded_is_a_place_of_its_own_for_the_search(book):
    """Words that a page shows only when it is opened: in cells, in solutions."""
    sections = search_parts.whole(book.html)["a.html"]
    inside = {anchor: (zh, en, both) for anchor, zh, en, _, _, both, folded in sections if folded}
    in_sight = " ".join(both for *_, both, folded in sections if not folded)
    assert "a_share" not in in_sight
    assert "its output" in in_sight
    page = html.fromstring(book.page("a"))
    closed = "//*[@id='{}'][ancestor-or-self::*[self::details or contains(@class, 'dropdown')]]"
    assert all(page.xpath(closed.format(anchor)) for anchor in inside)
    assert [anchor for anchor, (*_, both) in inside.items() if "a_share" in both] == ["cell-2"]
    assert {title for title, _, _ in inside.values()} >= {"甲 · 证据"}
    assert any("a_solved" in both or "Solved" in both for *_, both in inside.values())
