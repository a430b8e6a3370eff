"""On paper the answers of questions stand at the end of their chapter."""

import pytest
from lxml import html
from pages.book import Book
from pdf.printed_page import printed_page

QUESTION = """
<div class="admonition question question-check ask-choice" id="question-{name}">
<p class="admonition-title">T</p><p>Asked {name}?</p>
<details class="question-answer"><summary><span class="bl bl-zh">答案</span>
<span class="bl bl-en">Answer</span></summary><ul><li>✓ Reply {name}.</li></ul></details>
<script type="application/json">{{}}</script></div><p>Text after {name}.</p>
"""
PAGE = (
    '<html><body><article class="bd-article"><h1>Chapter</h1>'
    + QUESTION.format(name="first")
    + QUESTION.format(name="second")
    + '<div class="admonition exercise" id="e"><p>Exercise</p></div>'
    '<div class="admonition solution" id="s"><p>Solved.</p></div>'
    "<h2>Last words</h2></article></body></html>"
)


@pytest.fixture(params=["zh", "en"])
def chapter(request, tmp_path):
    (tmp_path / "a.html").write_text(PAGE, encoding="utf8")
    book = Book(tmp_path, "https://book.example", request.param, ["a"])
    return request.param, printed_page(book, "a")


def test_answers_follow_the_chapter_and_stand_before_solutions(chapter):
    language, section = chapter
    text = " ".join(section.text_content().split())
    order = ["Asked first?", "Text after first.", "Asked second?", "Last words",
             {"zh": "各题的答案", "en": "Answers to the questions"}[language],
             "✓ Reply first.", "✓ Reply second.", "Solved."]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert text.count("✓") == 2


def test_question_and_answer_are_numbered_and_lead_to_each_other(chapter):
    language, section = chapter
    links = {a.get("href").removeprefix("#"): a.text for a in section.iter("a")}
    ids = {each.get("id") for each in section.iter() if each.get("id")}
    assert set(links) == {
        "a--answer-1", "a--answer-2", "a--question-first", "a--question-second",
    }  # fmt: skip
    assert set(links) <= ids
    assert links["a--question-second"] == {"zh": "第 2 题", "en": "Question 2"}[language]
    assert links["a--answer-2"].startswith(links["a--question-second"])
    assert not section.xpath(".//summary | .//details | .//script")


def test_a_chapter_without_questions_has_no_such_heading(tmp_path):
    (tmp_path / "a.html").write_text('<article class="bd-article"><h1>T</h1></article>', "utf8")
    found = printed_page(Book(tmp_path, "https://book.example", "en", ["a"]), "a")
    assert html.tostring(found, encoding="unicode").count("<h") == 1
