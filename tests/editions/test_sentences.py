"""A paragraph cut into sentences loses nothing and says nothing twice."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from slides import sentences as module
from slides.sentences import beginning_of, count, lead, question_of, sentences, wide

PIECES = ["One is here.", "两个字。", "Is it?", "<em>So</em> it is!", "<code>a.B</code> ends.",
          "<strong>How far?</strong>", "“Quoted.”", "三？", "e.g. not an end,", "(It is so.)",
          "（是这样。）"]  # fmt: skip


def paragraph(inside: str) -> html.HtmlElement:
    return html.fragment_fromstring(f"<p>{inside}</p>")


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(module).failed == 0


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.sampled_from([" ", "\n"]))
def test_the_sentences_are_the_paragraph(pieces: list[str], between: str) -> None:
    whole = paragraph(between.join(pieces))
    single = [sentences(whole, n, n + 1) for n in range(count(whole))]
    joined = "".join("".join(each.text_content().split()) for each in single)
    assert joined == "".join(whole.text_content().split())
    text = html.tostring(sentences(whole, 0, None), encoding="unicode")
    assert text == html.tostring(whole, encoding="unicode")


@pytest.mark.parametrize(
    ("inside", "asked"),
    [
        ("One. Where to? Then we go.", "Where to?"),
        ("先看。往哪里走？然后出发。", "往哪里走？"),
        ("One.\n<strong>How far?</strong>\nWe choose it.", "How far?"),
        ("Nobody asks. It ends.", "It ends."),
        ("Where to? See <em>Is it far?</em>.", "Where to?"),
    ],
)
def test_a_hook_ends_with_its_last_question(inside: str, asked: str) -> None:
    assert question_of(paragraph(inside), 0)[1].text_content().strip() == asked


def test_what_leads_to_a_question_stands_there_as_far_as_there_is_room() -> None:
    whole = paragraph("It is short. It fits. Where to? Then we go.")
    before, asked = question_of(whole, 25)
    assert asked.text_content().strip() == "It fits. Where to?"
    assert before is not None
    assert before.text_content().strip() == "It is short."
    before, asked = question_of(whole, 200)
    assert asked.text_content().strip() == "It is short. It fits. Where to?"
    assert before is None


def test_a_caption_keeps_whole_sentences() -> None:
    whole = paragraph("A line. Another line. Long " + "long " * 40 + ".")
    assert beginning_of(whole, 30).text_content().strip() == "A line. Another line."
    assert wide(beginning_of(paragraph("word " * 50), 30).text_content()) > 30  # one at least


def test_a_lead_closes_no_bracket_that_it_has_not_opened() -> None:
    block = html.fragment_fromstring("<div><p>Look. (It is so. It means yes.)</p></div>")
    assert lead([block]).text_content() == "(It is so. It means yes.)"


def test_a_title_that_was_a_link_is_told_from_its_sentence() -> None:
    link = '<a class="reference internal" href="#x"><span class="std std-{}">{}</span></a>'
    for kind, words, tags in (
        ("ref", "Why √d", 1),
        ("term", "query", 0),
        ("ref", "听多远", 0),
    ):
        text = html.fromstring(f"<p>It is told in {link.format(kind, words)} and here.</p>")
        copied = module.shown(text)
        assert len(copied.xpath(".//cite")) == tags
        assert not copied.xpath(".//a")
        assert copied.text_content() == f"It is told in {words} and here."
