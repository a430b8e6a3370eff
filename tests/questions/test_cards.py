"""A question is a card: what it asks in front, its right answer and the reason behind."""

import json

import pytest
from questions.cards import card_of

FORMULA = (
    '<span class="math"><span class="katex"><math><semantics><mi>x</mi>'
    '<annotation encoding="application/x-tex">x &lt; 1</annotation></semantics></math>'
    '<span aria-hidden="true">x&lt;1</span></span></span>'
)


def both(zh, en):
    return (
        f'<span class="bl bl-zh">{zh}</span><span class="bl-sep"> </span>'
        f'<span class="bl bl-en">{en}</span>'
    )


def box(kind, task, replies, **data):
    packed = json.dumps({"id": "q", "role": "check", "kind": kind, **data})
    return (
        '<div class="admonition question" id="question-q"><p class="admonition-title">T</p>'
        '<div class="bl-pair"><div class="bl bl-zh"><p>若 ' + FORMULA + "？\n第二句。</p></div>"
        '<div class="bl bl-en"><p>If ' + FORMULA + "?\nA second line.</p></div></div>" + task
        + '<details class="question-answer"><summary>A</summary>' + replies
        + '<p class="question-back">Back</p></details>'
        f'<script type="application/json">{packed}</script></div>'
    )  # fmt: skip


OPTIONS = (
    f'<ol class="upperalpha simple"><li><p>{both("一", "one")}</p></li><li><p>NaN</p></li></ol>'
)
REPLIES = (
    '<ol class="upperalpha simple">'
    f'<li><p>✗ <span class="question-reply">{both("错", "No")}</span></p></li>'
    f'<li><p>✓ <span class="question-reply">{both("对", "Yes")}</span></p></li></ol>'
)
STEPS = f"<ol><li><p><strong>{both('先', 'first')}</strong> {both('因为', 'since')}</p></li></ol>"


@pytest.fixture
def choice():
    return card_of(box("choice", OPTIONS, REPLIES, right=1), "masks", ["掩码", "Masks"])


def test_it_names_its_question_page_and_role(choice):
    assert {key: choice[key] for key in ("id", "page", "role")} == {
        "id": "q",
        "page": "masks",
        "role": "check",
    }
    assert [choice[language]["title"] for language in ("zh", "en")] == ["掩码", "Masks"]


def test_each_side_is_in_one_language_with_formulas_as_anki_writes_them(choice):
    assert choice["zh"]["front"] == (
        r'<p>若 \(x &lt; 1\)？第二句。</p><ol type="A"><li><p>一</p></li><li><p>NaN</p></li></ol>'
    )
    assert choice["en"]["front"].startswith(r"<p>If \(x &lt; 1\)? A second line.</p>")


def test_the_back_has_the_right_answer_and_no_mistake(choice):
    assert choice["zh"]["back"] == "<p><b>NaN</b></p><p>对</p>"
    assert choice["en"]["back"] == "<p><b>NaN</b></p><p>Yes</p>"


def test_steps_and_code_stay_as_they_are():
    code = '<div class="highlight"><pre><span class="n">a</span> = 1\nb = 2</pre></div>'
    card = card_of(box("order", code, STEPS, shown=[0]), "masks", ["掩码", "Masks"])
    assert "<pre>a = 1\nb = 2</pre>" in card["en"]["front"]
    assert card["zh"]["back"].startswith("<ol><li><p><b>先</b> 因为</p></li></ol>")
