"""What of a chapter becomes a slide, by its rules and by the marks in its source."""

from collections.abc import Iterator

import pytest
from lxml import html
from slides.choose import MOST, Chosen, slides_of
from slides.deck import Deck, written

HOOK = '<div class="bl-pair part-hook"><div class="bl bl-en"><p>{}</p></div></div>'
TEXT = '<div class="bl bl-en"><p {}>{}</p></div>'
FORMULA = '<div class="math">a = {}</div>'
CELL = (
    '<div class="cell {}"><div class="cell_input"><div class="highlight"><pre>{}</pre></div>'
    "</div></div>"
)
QUESTION = """<div class="admonition question question-{role} ask-choice">
<p class="admonition-title">T</p><p>Asked {role}?</p>
<ol class="upperalpha"><li><p>First</p></li><li><p>Second</p></li></ol>
<details class="question-answer"><summary>Answer</summary>
<ol><li><p>Not this.</p></li><li><p>✓ This one.</p></li></ol></details></div>"""
LAST = (
    '<section class="part-keep"><h2>9. Keep</h2><p>Keep this.</p></section>'
    '<section class="part-exercises"><h2>10. Do</h2><div class="admonition exercise">'
    '<p class="admonition-title">Exercise 1 (★)</p><p>Sum.</p></div>'
    '<div class="admonition exercise"><p class="admonition-title">Exercise 2 (● ★)</p>'
    "<p>Multiply.</p></div></section>"
    '<section class="part-reading"><h2>11. Read</h2><p>Books.</p></section>'
)
ABOUT = Deck("en", "Chapter", "Book", "../a.html")


def chapter(*sections: str, before: str = "", weight: str = "core", kind: str = "") -> Chosen:
    badge = f'<span class="section-weight weight-{weight}">8 min</span>'
    bodies = "".join(
        f'<section class="{kind}"><h2>{n}. Section {badge}</h2>{body}</section>'
        for n, body in enumerate(sections, start=1)
    )
    text = f"<article><section><h1>A chapter</h1>{before}{bodies}{LAST}</section></article>"
    return slides_of(html.fromstring(text))


def kinds(found: Chosen) -> list[str]:
    return [slide.kind for slide in found.slides]


def texts(found: Chosen) -> Iterator[str]:
    for slide in found.slides:
        tree = html.fromstring(written(slide, ABOUT))
        for notes in tree.xpath("//aside"):
            notes.drop_tree()
        yield " ".join(tree.text_content().split())


def test_a_lecture_begins_with_the_hook_and_ends_with_what_to_keep_and_to_do() -> None:
    found = chapter(FORMULA.format(1), before=HOOK.format("It is so. Why is that? We see."))
    assert kinds(found) == ["title", "hook", "formula", "keep", "exercises"]
    shown = list(texts(found))
    assert shown[1].endswith("Why is that?")
    assert "Keep this." in shown[3]
    assert "Multiply." in shown[4]
    assert "Sum." not in shown[4]  # only what is marked ●
    assert not any("Books." in each for each in shown)


def test_a_hook_of_one_paragraph_tells_its_scene_before_it_asks() -> None:
    found = chapter(before=HOOK.format("A desk. " + "It is long, " * 20 + "so. Why is that?"))
    (slide,) = html.fromstring(written(found.slides[1], ABOUT)).xpath("//div[@class='hook']")
    scene, asked = (" ".join(each.text_content().split()) for each in slide)
    assert scene.startswith("A desk. It is long")
    assert asked == "Why is that?"


def test_of_the_recalls_one_opens_the_lecture() -> None:
    recalls = QUESTION.format(role="recall") * 2
    found = chapter(FORMULA.format(1), before=HOOK.format("Why?") + recalls)
    assert kinds(found)[:3] == ["title", "question", "hook"]
    assert kinds(found).count("question") == 1


def test_a_question_shows_its_answer_in_one_step_and_says_the_rest_to_the_lecturer() -> None:
    found = chapter(QUESTION.format(role="check"))
    slide = next(each for each in found.slides if each.kind == "question")
    tree = html.fromstring(written(slide, ABOUT))
    steps = tree.xpath("//*[contains(@class, 'fragment')]")
    assert {each.get("data-fragment-index") for each in steps} == {"0"}
    assert [" ".join(each.text_content().split()) for each in steps] == ["✓", "This one."]
    (right,) = tree.xpath("//li[.//*[contains(@class, 'tick')]]")
    assert right.text_content().startswith("Second")
    (notes,) = tree.xpath("//aside[@class='notes']")
    assert "Not this." in notes.text_content()
    assert "Not this." not in tree.xpath("//div[@class='page']")[0].text_content()


def test_what_is_not_shown_is_said() -> None:
    found = chapter(TEXT.format("", "Before it.") + FORMULA.format(1) + TEXT.format("", "After."))
    slide = next(each for each in found.slides if each.kind == "formula")
    said = " ".join(each.text_content() for each in slide.notes)
    assert "Before it." in said
    assert "After." in said


@pytest.mark.parametrize("kind", ["math no-slide", "math"])
def test_no_slide_takes_a_block_away(kind: str) -> None:
    found = chapter(FORMULA.format(1) + f'<div class="{kind}">b</div>')
    assert kinds(found).count("formula") == (1 if "no-slide" in kind else 2)


def test_slide_puts_a_sentence_in_and_keeps_it() -> None:
    many = "".join(FORMULA.format(n) for n in range(40))
    found = chapter(many + TEXT.format('class="slide"', "Shown as it is."))
    assert "text" in kinds(found)
    assert any("Shown as it is." in each for each in texts(found))


def test_an_optional_section_is_left_out_unless_it_is_marked() -> None:
    assert "formula" not in kinds(chapter(FORMULA.format(1), weight="optional"))
    assert "formula" in kinds(chapter(FORMULA.format(1), weight="optional", kind="slide"))
    assert "formula" not in kinds(chapter(FORMULA.format(1), kind="no-slide"))


def test_long_code_set_up_and_evidence_are_for_reading() -> None:
    code = {
        "": "x = 1\ny = x + 1\nprint(y)",
        "long": "\n".join(f"x = {n}" for n in range(30)),
        "tag_evidence": "assert x\nassert y\nassert z",
        "tag_setup": "import torch\nx = 1\ny = 2",
        "imports": "import torch\nfrom a import b",
        "tag_no-slide": "x = 1\ny = x + 1\nprint(y)",
        "tag_slide long": "\n".join(f"x = {n}" for n in range(30)),
    }
    shown = {
        name for name, text in code.items() if "code" in kinds(chapter(CELL.format(name, text)))
    }
    assert shown == {"", "tag_slide long"}


def test_of_too_much_the_least_goes_and_its_words_are_said_later() -> None:
    remark = TEXT.format("", "About the remark.") + CELL.format("", "x = 1")
    found = chapter(remark + "".join(FORMULA.format(n) for n in range(MOST - 3)))
    assert len(found.slides) == MOST
    assert kinds(found)[0] == "title"
    assert kinds(found)[-2:] == ["keep", "exercises"]
    assert "code" not in kinds(found)
    (left,) = [each for each in found.left_out if each.startswith("code")]
    assert left == "code: 1. Section"
    said = " ".join(note.text_content() for slide in found.slides for note in slide.notes)
    assert said.count("About the remark.") == 1


def test_code_that_shows_something_is_worth_more_than_code_that_does_not() -> None:
    output = '<div class="cell_output"><pre>{}</pre></div>'
    cell = '<div class="cell"><div class="cell_input"><pre>{}</pre></div>{}</div>'
    pairs = {
        "code": ("x = 1\ny = x + 1\nprint(y)", output.format("2")),
        "defines": ("def f(x):\n    y = x\n    return y", ""),
        "check": ("x = 1\ny = x\nx == y", output.format("True")),
        "preparation": ("x = 1\ny = x\nz = y", ""),
        "remark": ("x = 1\nx + 1", output.format("2")),
    }
    worth = {}
    for name, (code, printed) in pairs.items():
        found = chapter(cell.format(code, printed))
        (worth[name],) = [slide.worth for slide in found.slides if slide.kind == "code"]
    assert worth["code"] == worth["defines"]
    assert worth["code"] > worth["check"] > worth["preparation"] > worth["remark"]


@pytest.mark.parametrize(("kind", "columns"), [("", 60), ("", 160), ("tag_slide", 160)])
def test_what_prints_lines_too_long_to_read_is_for_reading(kind: str, columns: int) -> None:
    output = f'<div class="cell_output"><pre>{"x" * columns}</pre></div>'
    code = "def f(x):\n    y = x\n    return y"
    found = chapter(
        f'<div class="cell {kind}"><div class="cell_input"><pre>{code}</pre></div>{output}</div>'
    )
    assert ("code" in kinds(found)) == (columns == 60 or kind == "tag_slide")
