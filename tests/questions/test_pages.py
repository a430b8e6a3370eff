"""Questions as pages and notebooks show them, and what a build complains of."""

import json
import re
from copy import deepcopy
from itertools import permutations

import nbformat
import pytest
import search_parts
from glued import gluing
from lxml import html
from questions.grammar import KINDS as ALL_KINDS
from tiny import HEADER, cell, make_book
from written import KINDS, question

WRONG = (
    HEADER
    + "# {zh}`题` {en}`T`\n\n"
    + question("q-choice", "choice")  # on the other site, too
    + question("w-twice", "choice")
    + question("w-twice", "choice")
    + question("w-unglued", "number", KINDS["number"][1].replace("q_two", "q_nowhere"))
    + question("w-word", "number", KINDS["number"][1].replace("q_two", "w_word"))
    + question("w-text", "number", KINDS["number"][1].replace("q_two:.0f", "w_text"))
    + question("w-typed", "number", KINDS["number"][1].replace("{glue:text}`q_two:.0f`", "2"))
    + question(
        "w-near", "number",
        KINDS["number"][1] + "- [ ] {glue:text}`w_three:.0f`\n  > {zh} 三。\n  > {en} Three.\n"
    ).replace("q_two", "w_two")
    + question("w-about", "choice", role="recall", about="nowhere")
    + cell(gluing(w_two=2.0, w_three=2.4, w_word="two", w_text="2.0"))
)  # fmt: skip


@pytest.fixture(scope="module")
def site(book):
    return html.fromstring(book.page("a"))


def box(site, name):
    (found,) = site.xpath(f"//div[@id='question-{name}']")
    return found


def words(element):
    return " ".join(element.text_content().split())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_box_says_what_it_asks_and_keeps_its_answer_in_one_fold(site, kind):
    found = box(site, f"q-{kind}")
    assert {"admonition", "question", "question-check", f"ask-{kind}"} <= set(found.classes)
    assert "How many?" in words(found)
    (fold,) = found.xpath(".//details")
    assert fold.get("open") is None
    assert words(fold.find("summary")) == "答案 Answer"


@pytest.mark.parametrize("kind", ["choice", "number", "line", "paint"])
def test_replies_stand_in_the_fold_alone_with_the_right_one_marked(site, kind):
    (fold,) = (found := deepcopy(box(site, f"q-{kind}"))).xpath(".//details")
    assert [item.text_content().strip()[0] for item in fold.xpath(".//li")].count("✓") == 1
    fold.drop_tree()
    assert "✓" not in words(found)
    assert "一加一。" not in words(found)


def test_options_are_lettered_and_so_are_their_replies(site):
    first, second = box(site, "q-choice").xpath(".//ol[contains(@class, 'upperalpha')]")
    assert [words(item) for item in first] == ["一个 one", "两个 two", "NaN"]
    assert [words(item)[0] for item in second] == ["✗", "✓", "✗"]
    assert "Not a number." in words(second[2])


def test_numbers_and_drawings_come_from_cells(site):
    assert "✓ 2 个 things 一加一。 One and one." in words(box(site, "q-number"))
    assert "0.25, 0.75" in words(box(site, "q-paint"))
    empty, painted = box(site, "q-mask").xpath(".//table")
    assert [words(cell) for cell in empty.xpath(".//th | .//td")].count("●") == 0
    rows = [[words(cell) for cell in row.xpath("./td")] for row in painted.xpath(".//tbody/tr")]
    assert rows == [["一 one", "●", ""], ["二 two", "●", "●"]]


def test_a_number_that_is_given_is_the_first(site):
    found = words(box(site, "q-given"))
    assert "4 的几个？" in found
    assert "Of 4, how many?" in found
    assert "✓ 2.5 个 things 总共 4。" in found


def data_of(site, name):
    (packed,) = box(site, name).xpath("./script[@type='application/json']")
    return json.loads(packed.text)


def test_the_data_of_each_kind(site):
    assert data_of(site, "q-choice") == {
        "id": "q-choice", "role": "check", "kind": "choice", "right": 1,
    }  # fmt: skip
    number = data_of(site, "q-number")
    assert (number["variants"], number["tolerance"], number["right"]) == ([[2, None]], 0.5, 0)
    assert data_of(site, "q-line")["lines"] == [1, 0]
    row = data_of(site, "q-paint")
    assert (row["paint"], row["values"], row["tolerance"]) == ("row", [[0.25, 0.75], None], 0)
    assert data_of(site, "q-mask")["values"] == [[1, 0, 1, 1], None]
    order = data_of(site, "q-order")["shown"]
    shuffled = [words(item)[0] for item in box(site, "q-order").xpath("./ol/li")]
    assert ["先再后"[place] for place in order] == shuffled
    assert data_of(site, "q-say") == {"id": "q-say", "role": "check", "kind": "say"}


def test_what_another_variant_is_given_stands_beside_its_answers(site):
    assert data_of(site, "q-given")["variants"] == [[2.5, 7, None], [1, 8, None]]
    found = box(site, "q-given")
    (template,) = found.xpath("./template")
    assert [[words(each) for each in variant] for variant in template] == [["5", "1", "8"]]
    given = [words(each) for each in found.xpath(".//*[contains(@class, 'given-0')]")]
    assert given == ["4"] * 4
    assert [words(each) for each in found.xpath(".//*[contains(@class, 'given-1')]")] == ["2.5"]


def test_every_page_shows_progress_and_a_page_with_questions_loads_more(book, site):
    sources = [each.partition("?")[0] for each in site.xpath("//script/@src")]
    names = [each.rpartition("/")[2] for each in sources if each.startswith("_static/questions/")]
    assert names == ["index.js", "contents.js", "core.js"]
    assert "_static/questions/contents.js" in book.page("intro")
    assert "_static/questions/core.js" not in book.page("intro")


def test_formulas_of_questions_from_elsewhere_are_set_as_formulas(book, site):
    (style,) = site.xpath("//link[@rel='stylesheet']/@href")
    css = (book.html / style.partition("?")[0]).read_text(encoding="utf8")
    assert "KaTeX_Main" in css
    plain = re.search(r'href="(_static/book[^"?]*)', book.page("intro"))[1]
    assert "KaTeX_Main" not in (book.html / plain).read_text(encoding="utf8")


def test_the_index_and_the_questions_of_a_page_stand_in_scripts(book, site):
    folder = book.html / "_static" / "questions"
    index = folder.joinpath("index.js").read_text(encoding="utf8")
    found = json.loads(index.partition(" = ")[2].rstrip(";\n"))
    assert found["titles"]["a"] == ["题", "T"]
    names = [f"q-{kind}" for kind in (*ALL_KINDS, "mask", "recall", "given")]
    assert found["pages"]["a"] == names
    text = folder.joinpath("a.js").read_text(encoding="utf8")
    boxes = json.loads(re.fullmatch(r'attentionBookQuestions.arrived\("a", (.*)\);\n', text)[1])
    assert list(boxes) == names
    for name, packed in boxes.items():
        (alone,) = html.fragments_fromstring(packed)
        assert words(alone) == words(box(site, name))


def test_what_else_a_kind_shows(site):
    assert "b = a + a" in words(box(site, "q-line").xpath(".//pre")[0])
    assert "改成 Mended: b = a" in words(box(site, "q-line"))
    shuffled, ordered = box(site, "q-order").xpath(".//ol")
    assert [words(item) for item in shuffled] != [words(item)[:5] for item in ordered]
    assert words(ordered[1]).startswith("再 second")
    assert "Two points." in words(box(site, "q-say").xpath(".//details")[0])
    assert not box(site, "q-say").xpath(".//strong")


def test_a_recall_leads_back_to_its_page(site):
    (link,) = box(site, "q-recall").xpath(".//details//a[@href='intro.html']")
    assert words(link) == "T"


def test_the_search_knows_what_an_answer_is_and_where(book):
    index = search_parts.text(book.html)
    assert "题 · 答案" in index
    assert "T · Answer" in index


def test_the_build_complains(tmp_path):
    book = make_book(
        tmp_path,
        ["bilingual", "evidence", "questions"],
        intro="# T\n",
        a=HEADER + "# T\n\n" + question("q-choice", "choice"),
        b=WRONG,
    )
    log = book.build(fails=True)
    for name, problem in (
        ("q-choice", "the name is used on a already"),
        ("w-twice", "the name is used twice"),
        ("w-unglued", "no cell of the page glues 'q_nowhere'"),
        ("w-word", "'w_word' is no number"),
        ("w-typed", "the answer '2' is typed"),
        ("w-near", "the mistake is within the tolerance"),
    ):
        assert f"question {name}: {problem}" in log
    assert "nowhere" in log
    assert "question w-text" not in log  # a number as it is to be read is one
    (line,) = (n for n, each in enumerate(WRONG.split("\n"), 1) if each == "- [x] 2")
    assert f"b.md:{line}" in log


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_notebook_has_each_question_as_text_and_its_answer_after_it(book, language):
    path = book.html / "_notebooks" / language / "a.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    text = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    asked = [part for part in text.split("\n\n---\n\n") if "<details>" in part]
    for kind, part in zip([*ALL_KINDS, "paint", "choice", "number"], asked, strict=True):
        shown, _, folded = part.partition("<details>")
        assert {"zh": "几个？", "en": "ow many?"}[language] in shown
        assert {"zh": "How", "en": "几"}[language] not in part
        assert {"zh": "<summary>答案<", "en": "<summary>Answer<"}[language] in folded
        assert "{" not in part
        assert "✓" not in shown
        assert ("✓" in folded) == (kind in ("choice", "number", "line", "paint"))


def test_every_question_is_a_card_in_each_language(book):
    text = book.html.joinpath("_static/questions/cards.js").read_text(encoding="utf8")
    cards = json.loads(re.fullmatch(r'attentionBookQuestions.arrived\("cards", (.*)\);\n', text)[1])
    assert [card["id"] for card in cards][: len(ALL_KINDS)] == [f"q-{kind}" for kind in ALL_KINDS]
    for card in cards:
        for language, asked, others in (("zh", "几个？", "How"), ("en", "ow many?", "几")):
            front, back = card[language]["front"], card[language]["back"]
            assert asked in front
            assert back
            assert others not in front + back
            assert "class=" not in front + back


# ---- answered in a notebook --------------------------------------------------------------------

#: An answer that is right, one that is a known mistake, and one that is none, for each kind.
ANSWERS = {
    "q-choice": ("b", "A", 2),
    "q-number": (2.25, 7, "many"),
    "q-line": ("b = a + a", 1, "c = 3"),
    "q-paint": ([1, 3], [3, 1], [1, 2, 3]),
    "q-mask": ([[1, 0], [True, 1]], [[0, 0], [0, 0]], [1]),
    "q-given": ("5/2", 7, float("nan")),
}


@pytest.fixture(scope="module", params=["zh", "en"])
def answered(book, request):
    """Return the language of a notebook, and `answer` with the questions that it brings along."""
    from attention_book.course import questions

    path = book.html / "_notebooks" / request.param / "a.ipynb"
    cells = {c.id: c for c in nbformat.read(path, as_version=4).cells}
    before = dict(questions._questions)
    exec(cells["questions"].source, {})
    asked = [c.source for c in cells.values() if c.source.startswith("answer(")]
    yield request.param, lambda *given: questions.answer(*given, language=request.param), asked
    questions._questions.clear()
    questions._questions.update(before)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_notebook_replies_to_an_answer_as_the_page_does(answered, name):
    language, answer, asked = answered
    right, mistake, nonsense = ANSWERS[name]
    assert f'answer("{name}", ...)' in asked
    reply = answer(name, right)
    assert reply
    assert repr(reply).startswith("✓")
    reply = answer(name, mistake)
    assert not reply
    assert reply.right is False
    assert repr(reply).startswith("✗")
    for nothing in (nonsense, ..., None, [], {}, "", object()):
        assert {"zh": "换成你的答案", "en": "in place of"}[language] in repr(answer(name, nothing))


def test_replies_are_in_the_notebooks_language_with_the_numbers_of_the_book(answered):
    language, answer, _ = answered
    words = {"zh": ["少了。", "总共 4。", "数。"], "en": ["Too few.", "Out of 4", "Count."]}[
        language
    ]
    replies = [answer("q-choice", "A"), answer("q-given", 2.5), answer("q-given", 99)]
    assert all(word in repr(reply) for word, reply in zip(words, replies, strict=True))
    assert "改成" in repr(answer("q-line", 2)) or "Mended" in repr(answer("q-line", 2))


def test_whoever_is_wrong_is_led_back_to_the_page(answered):
    language, answer, _ = answered
    back = {"zh": "回头看：[T](", "en": "Go back to: [T]("}[language]
    assert back in repr(answer("q-recall", "A"))
    assert back not in repr(answer("q-recall", "B"))


def test_an_order_is_told_the_first_step_that_is_misplaced(answered):
    _, answer, _ = answered
    found = {"".join(order): answer("q-order", "".join(order)) for order in permutations("ABC")}
    assert [bool(reply) for reply in found.values()].count(True) == 1
    second_first = [reply for reply in found.values() if re.search("It waits|要等", repr(reply))]
    assert len(second_first) == 2  # the second step stands first, whatever follows
    assert not answer("q-order", "AAB")


def test_own_words_are_compared_by_the_reader(answered):
    language, answer, _ = answered
    reply = answer("q-say", "Words.")
    assert reply.right is None
    words = {"zh": ["- 一点", "- 两点", "\n两点。"], "en": ["- one point", "\nTwo points."]}
    assert all(each in repr(reply) for each in words[language])


def test_an_unknown_question_names_the_nearest(answered):
    _, answer, _ = answered
    with pytest.raises(ValueError, match="no question 'q-numbr'; did you mean q-number"):
        answer("q-numbr", 2)
