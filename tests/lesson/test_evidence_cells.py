"""Cells with the tag `evidence` or `setup` are run, and folded under a line in both languages."""

import pytest
from lxml import html
from tiny import HEADER, cell

PAGE = (
    HEADER
    + "# Title\n\n"
    + cell("print('in the open')")
    + "\n"
    + cell("print('behind the story')", tags="[evidence]")
    + "\n"
    + cell("print('code only')", tags="[hide-input, evidence]")
    + "\n"
    + cell("print('before the opening')", tags="[setup]")
)


@pytest.fixture
def page(tiny_book):
    book = tiny_book(["bilingual", "evidence", "lesson.evidence_cells", "website"], intro=PAGE)
    book.build()
    return html.fromstring(book.page("intro"))


def test_evidence_is_run_and_folded_with_its_output(page):
    shown, *folded = page.xpath("//div[contains(@class, 'cell ')]")
    assert "in the open" in shown.text_content()
    assert not shown.xpath(".//details")
    for each, output in zip(
        folded, ("behind the story", "code only", "before the opening"), strict=True
    ):
        (details,) = each.xpath("./details")
        assert details.get("open") is None
        assert details.xpath("./div[contains(@class, 'cell_input')]")
        (printed,) = details.xpath("./div[contains(@class, 'cell_output')]")
        assert output in printed.text_content()


def test_the_line_speaks_both_languages(page):
    lines = [("证据", "Evidence"), ("证据", "Evidence"), ("准备 · 1 行", "Set-up · 1 line")]
    for summary, words in zip(page.xpath("//details/summary"), lines, strict=True):
        for language, word in zip(("zh", "en"), words, strict=True):
            found = summary.xpath(f".//span[@class='bl bl-{language}']")
            assert [each.text_content() for each in found] == [word, word]  # closed, open
