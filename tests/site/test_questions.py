"""Questions in the page, as a reader meets them who comes for the first time."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from parsed import SITE
from playwright.sync_api import Browser, Locator, Page, expect

KEY = "attention-book-questions"
DATA = re.compile(r'<script type="application/json">(\{"id":.*?\})</script>')
#: What scripts need of the questions in a page: no reader without scripts gets anything from it.
FOR_SCRIPTS = re.compile(
    r'<script type="application/json">\{"id":.*?</script>\s*'
    r'|<template class="question-variants">.*?</template>\s*',
    re.S,
)
#: What Python in a page adds to it.
FOR_PYTHON = re.compile(r"<script data-page=[^>]*page_python[^>]*></script>\s*| py-cell\b")
#: What a page may weigh more for its answers, in bytes as they are sent: the data of its questions,
#: the script that brings them to life, and what Python in the page loads before it is asked for.
GROWTH = 12_000


def asked() -> dict[str, list[dict[str, Any]]]:
    """The data of the questions of each page."""
    found = {}
    for path in sorted(SITE.glob("*.html")):
        texts = DATA.findall(path.read_text(encoding="utf8"))
        if texts:
            found[path.stem] = [json.loads(text) for text in texts]
    return found


ASKED = asked()
#: The first question of each kind.
FIRST: dict[str, tuple[str, dict[str, Any]]] = {}
for each_page, each_data in ASKED.items():
    for each in each_data:
        what = f"{each.get('paint', each['kind'])}"
        if each["role"] != "predict" or each["kind"] in ("profile", "row"):
            FIRST.setdefault(what, (each_page, each))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", ASKED or [None])
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", FIRST or [None])


@pytest.fixture
def reader(browser: Browser, watch: Any, base_url: str) -> Iterator[Callable[..., Page]]:
    """A function that opens a page for somebody who comes for the first time."""
    contexts = []

    def open_page(name: str, *, lang: str = "en", served: bool = True, **options: Any) -> Page:
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        contexts.append(type(browser).new_context(browser, **options))
        page: Page = watch(contexts[-1].new_page())
        page.goto(f"{base_url if served else SITE.as_uri()}/{name}.html?lang={lang}")
        page.evaluate("document.documentElement.removeAttribute('data-layout')")
        return page

    yield open_page
    for context in contexts:
        context.close()


def box(page: Page, name: str) -> Locator:
    return page.locator(f"#question-{name}")


def progress(page: Page) -> Any:
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def answer(page: Page, data: dict[str, Any], *, right: bool = True) -> None:
    """Give the right answer, or the first mistake; of a mistake without a form, any."""
    question, kind, truth = box(page, data["id"]), data["kind"], data.get("right")
    if kind in ("choice", "line", "number", "paint"):
        places = range(len(data.get("lines", data.get("values", [0, 0, 0]))))
        item = truth if right else next(n for n in places if n != truth)
    if kind == "choice":
        question.locator(f"[data-item='{item}'] button").click()
    elif kind == "line":
        nth = sorted(data["lines"]).index(data["lines"][item])
        question.locator(".question-line-button").nth(nth).click()
    elif kind == "number":
        question.locator("input").fill(str(data["variants"][0][truth]) if right else "123456")
        question.locator("input").press("Enter")
    elif kind == "paint":
        draw(question, data, data["values"][item])
        question.locator(".question-go").click()
    elif kind == "order":
        for step in range(len(data["shown"])) if right else ():
            first = question.locator(f"[data-item='{step}']")
            while first.evaluate("e => [...e.parentNode.children].indexOf(e)") > step:
                first.locator("button").first.press("Enter")
        question.locator(".question-try > .question-go").click()
    else:
        question.locator(".question-say > .question-go").click()
        for point in question.locator("input[type=checkbox]").all() if right else ():
            point.check()
        question.locator(".question-points .question-go").click()


def draw(question: Locator, data: dict[str, Any], drawing: list[float]) -> None:
    if data["paint"] == "mask":
        for cell, value in zip(question.locator(".question-cell").all(), drawing, strict=True):
            if (cell.get_attribute("aria-pressed") == "true") != bool(value):
                cell.click()
        return
    most = max(drawing) if data["paint"] == "row" else 1
    for slider, value in zip(question.locator("[type=range]").all(), drawing, strict=True):
        slider.fill(str(round(100 * value / most)))


# ---- what is sent -------------------------------------------------------------------------------


def test_the_site_has_questions(site: Path) -> None:
    assert ASKED


def test_what_a_page_grows_by(site: Path, chapter: str) -> None:
    text = (SITE / f"{chapter}.html").read_text(encoding="utf8")
    without = FOR_SCRIPTS.sub("", text)
    assert len(without) < len(text)
    loaded = ["questions/core.js"]
    if FOR_PYTHON.search(without):
        loaded += ["page_python.js", "page_python.css"]
        without = FOR_PYTHON.sub("", without)
    scripts = sum(sent((SITE / "_static" / each).read_text(encoding="utf8")) for each in loaded)
    assert sent(text) - sent(without) + scripts <= GROWTH


def sent(text: str) -> int:
    return len(gzip.compress(text.encode(), 9))


def test_the_index_names_every_question_once(site: Path) -> None:
    text = (SITE / "_static" / "questions" / "index.js").read_text(encoding="utf8")
    index = json.loads(text.partition(" = ")[2].rstrip(";\n"))
    assert index["pages"] == {name: [each["id"] for each in ASKED[name]] for name in index["pages"]}
    assert set(index["pages"]) == set(ASKED) == set(index["titles"])
    names = [name for page in index["pages"].values() for name in page]
    assert len(names) == len(set(names))


# ---- every page ---------------------------------------------------------------------------------

browsed = pytest.mark.browser


@browsed
def test_every_question_comes_alive_and_tells_nothing(reader: Any, chapter: str) -> None:
    page = reader(chapter, viewport={"width": 390, "height": 800})
    names = [each["id"] for each in ASKED[chapter]]
    live = page.locator(".bd-article .question-live")
    assert live.evaluate_all("all => all.map(each => each.id.slice(9))") == names
    for fold in page.locator(".question-answer").all():
        expect(fold).to_be_hidden()
    shown = page.locator(".bd-article").inner_text()
    assert not re.search(r"\{(glue|given|ref|term|zh|en)\b", shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    small = page.locator(".question-try :is(button, input)").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).filter(r => r.width && r.height < 15)"
    )
    assert not small


@browsed
def test_what_a_prediction_folds_ends_with_its_section(reader: Any, chapter: str) -> None:
    page = reader(chapter)
    predictions = [each["id"] for each in ASKED[chapter] if each["role"] == "predict"]
    for name in predictions:
        folded = box(page, name).evaluate(
            """each => { const found = [];
              for (let e = each.nextElementSibling?.nextElementSibling; e?.matches("[data-veiled]");
                   e = e.nextElementSibling) found.push(e.tagName + "." + e.className);
              return found; }"""
        )
        assert not [each for each in folded if each.startswith("SECTION") or "question" in each]
    assert page.locator("[data-veiled] .question").count() == 0
    page.locator(".question-page summary").press("Enter")
    page.get_by_label("fold nothing").check()
    assert page.locator("[data-veiled]").count() == 0


# ---- each kind ----------------------------------------------------------------------------------


@browsed
@pytest.mark.parametrize("served", [True, False])
def test_the_right_answer(reader: Any, kind: str, served: bool) -> None:
    name, data = FIRST[kind]
    for _ in range(1 if served else 4):
        page = reader(name, served=served)
        answer(page, data)
        question = box(page, data["id"])
        guessed = "As you guessed" if data["role"] == "predict" else "✓"
        verdict = {"say": "All of it"}.get(kind, guessed)
        expect(question.locator(".question-told .question-verdict")).to_contain_text(verdict)
        kept = progress(page)
        ((logged, _, grade, *_),) = kept["log"]
        assert (logged, grade) == (data["id"], 3)
        if kind != "say":
            expect(question.locator(".question-answer > summary")).to_be_visible()
        page.reload()
        if progress(page) == kept:
            break  # a busy Chromium hands some pages from a folder a storage of their own
    expect(question.locator(".question-before")).to_contain_text("Answered before")
    question.get_by_role("button", name="Ask me again").click()
    expect(question.locator(".question-answer")).to_be_hidden()
    answer(page, data) if kind != "number" else None
    assert len(progress(page)["log"]) == 1  # only a day's first answer counts


@browsed
def test_a_wrong_answer_gets_its_reply_and_one_more_try(reader: Any, kind: str) -> None:
    name, data = FIRST[kind]
    page, question = reader(name), None
    question = box(page, data["id"])
    answer(page, data, right=False)
    said = question.locator(".question-told")
    assert progress(page)["log"][0][2] == 1
    if kind == "say":
        expect(said).to_contain_text("More next time")
        return
    expect(said).to_contain_text("one more try")
    assert len(said.inner_text()) > 40, "a reply says what to think next"
    expect(question.locator(".question-answer")).to_be_hidden()
    if kind in ("choice", "line"):
        wrong = question.locator("button.wrong")
        expect(wrong).to_have_attribute("aria-disabled", "true")
        expect(wrong).to_be_focused()  # what is pressed keeps the focus
    answer(page, data)
    expect(said).to_contain_text("✓")
    assert [entry[2] for entry in progress(page)["log"]] == [1]  # the first answer counts


@browsed
def test_the_answer_can_be_shown(reader: Any, kind: str) -> None:
    name, data = FIRST[kind]
    if kind == "say":
        pytest.skip("one's own words have no right answer")
    page = reader(name)
    answer(page, data, right=False)
    question = box(page, data["id"])
    question.get_by_role("button", name="Show the answer").click()
    expect(question.locator(".question-told")).to_contain_text("Not right")
    expect(question.locator(".question-answer > summary")).to_be_visible()
    assert question.evaluate("each => each.contains(document.activeElement)")
    if kind in ("choice", "line"):
        expect(question.locator("button.right")).to_have_count(1)


@browsed
def test_a_second_mistake_is_the_end(reader: Any) -> None:
    name, data = FIRST["choice"]
    page, question = reader(name), None
    question = box(page, data["id"])
    for item in [n for n in range(3) if n != data["right"]][:2]:
        question.locator(f"[data-item='{item}'] button").click()
    expect(question.locator(".question-told")).to_contain_text("Not right")
    expect(question.locator(f"[data-item='{data['right']}'] button")).to_have_class(
        re.compile("right")
    )
    expect(question.locator(".question-answer > summary")).to_be_visible()


@browsed
def test_what_is_no_number_is_no_answer(reader: Any) -> None:
    name, data = FIRST["number"]
    page = reader(name)
    question = box(page, data["id"])
    question.locator("input").fill("many")
    question.locator(".question-go").click()
    expect(question.locator("small")).to_contain_text("A number, please")
    assert not progress(page)["cards"]


@browsed
def test_another_time_other_numbers(reader: Any) -> None:
    name, data = next(
        (page, each) for page, all_data in ASKED.items() for each in all_data
        if len(each.get("variants", ())) > 1
    )  # fmt: skip
    page = reader(name)
    question = box(page, data["id"])
    first = [each.inner_text() for each in question.locator(".given:visible").all()]
    answer(page, data)
    question.page.reload()
    question.get_by_role("button", name="Ask me again").click()
    second = [each.inner_text() for each in question.locator(".given:visible").all()]
    assert first
    assert first != second
    question.locator("input").fill(str(data["variants"][1][data["right"]]))
    question.locator("input").press("Enter")
    expect(question.locator(".question-told")).to_contain_text("✓")


@browsed
def test_a_mask_is_painted_by_dragging_and_by_keyboard(reader: Any) -> None:
    if "mask" not in FIRST:
        pytest.skip("this build has no mask")
    name, data = FIRST["mask"]
    page = reader(name)
    cells = box(page, data["id"]).locator(".question-cell")
    cells.nth(0).scroll_into_view_if_needed()
    start, end = cells.nth(0).bounding_box(), cells.nth(2).bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 9, start["y"] + 9)
    page.mouse.down()
    page.mouse.move(end["x"] + 9, end["y"] + 9, steps=12)
    page.mouse.up()
    pressed = [cells.nth(n).get_attribute("aria-pressed") for n in range(3)]
    assert pressed == ["true"] * 3
    cells.nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    page.keyboard.press("Space")
    expect(cells.nth(1)).to_have_attribute("aria-pressed", "false")


@browsed
def test_own_words_are_not_kept(reader: Any) -> None:
    name, data = FIRST["say"]
    page = reader(name)
    box(page, data["id"]).locator("textarea").fill("<b>my own words</b>")
    answer(page, data)
    assert "my own words" not in json.dumps(progress(page))


# ---- predictions --------------------------------------------------------------------------------

ZERO = next((d for d in ASKED.get("masks", ()) if d["id"] == "masks-zero-share"), {})


@browsed
def test_a_guess_unfolds_the_text(reader: Any) -> None:
    page = reader("masks")
    below = page.locator("#question-masks-zero-share ~ [data-veiled]")
    folded = below.count()
    assert folded
    first = below.first.element_handle()
    assert first.get_attribute("hidden") == "until-found"
    answer(page, ZERO, right=False)
    expect(box(page, ZERO["id"]).locator(".question-told")).to_contain_text("Not as you guessed")
    assert below.count() == 0
    assert first.is_visible()
    page.reload()
    assert below.count() == 0


@browsed
def test_a_guess_can_be_waved_aside(reader: Any) -> None:
    page = reader("masks")
    page.locator("#question-masks-zero-share + .question-veil button").click()
    assert page.locator("#question-masks-zero-share ~ [data-veiled]").count() == 0
    assert progress(page) is None  # nothing was answered
    page.reload()  # and is not folded again while the reader is here
    expect(page.locator("#question-masks-zero-share.question-live")).to_be_visible()
    assert page.locator("#question-masks-zero-share ~ [data-veiled]").count() == 0
    assert page.locator("[data-veiled]").count()  # other predictions are


@browsed
def test_a_link_into_the_folded_text_unfolds_it(reader: Any) -> None:
    page = reader("masks")
    place = page.locator("[data-veiled] [id]").first
    name = place.get_attribute("id")
    page.evaluate("name => { location.hash = name; }", name)
    expect(page.locator(f"[id='{name}']")).to_be_attached()
    there = "name => !document.getElementById(name).closest('[data-veiled]')"
    page.wait_for_function(there, arg=name)


@browsed
def test_the_search_of_the_browser_unfolds_it(reader: Any) -> None:
    page = reader("masks")
    first = page.locator("#question-masks-zero-share ~ [data-veiled]").first
    first.dispatch_event("beforematch")
    assert page.locator("#question-masks-zero-share ~ [data-veiled]").count() == 0


@browsed
def test_folding_and_questions_can_be_put_away(reader: Any) -> None:
    page = reader("masks")
    page.locator(".question-page summary").press("Enter")
    page.get_by_label("Put them away").check()
    expect(page.locator(".question").first).to_be_hidden()
    assert page.locator("[data-veiled]").count() == 0
    page.reload()
    expect(page.locator(".question").first).to_be_hidden()
    page.locator(".question-page summary").press("Enter")
    page.get_by_label("Guess first").check()
    expect(page.locator(".question").first).to_be_visible()
    assert page.locator("[data-veiled]").count()


# ---- other readers ------------------------------------------------------------------------------


@browsed
def test_without_scripts_everything_is_there(reader: Any, browser: Browser, base_url: str) -> None:
    context = type(browser).new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base_url}/masks.html")
    assert page.locator(".question-veil, [hidden='until-found'], .question-page").count() == 0
    question = box(page, "masks-zero-share")
    question.locator("summary").click()  # a fold needs no script
    expect(question.locator(".question-answer")).to_contain_text("✓ 10 %")
    context.close()


@browsed
def test_on_paper_answers_stand_and_nothing_is_folded(reader: Any) -> None:
    page = reader("masks")
    page.emulate_media(media="print")
    expect(box(page, "masks-zero-share").locator(".question-answer")).to_be_visible()
    expect(box(page, "masks-zero-share").locator(".question-reply").first).to_be_visible()
    expect(page.locator("[data-veiled] [lang=en] p").first).to_be_visible()
    for what in (".question-try", ".question-veil", ".question-page"):
        expect(page.locator(what).first).to_be_hidden()


@browsed
@pytest.mark.parametrize("lang", ["zh", "en", "both"])
def test_a_verdict_in_the_language_of_the_reader(reader: Any, lang: str) -> None:
    name, data = FIRST["choice"]
    page = reader(name, lang=lang)
    answer(page, data, right=False)
    said = box(page, data["id"]).locator(".question-told").inner_text()
    assert ("再试一次" in said) == (lang != "en")
    assert ("one more try" in said) == (lang != "zh")


@browsed
def test_a_formula_to_press_is_called_as_one_types_it(reader: Any) -> None:
    """Its signs in their order, as text, would be another formula: −10⁹ is not −109."""
    names = reader("scoring").locator(".question-option[aria-label]")
    called = names.evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
    assert "−10^9" in called
    assert any("1/2" in name and name.endswith("^2") for name in called), called


FORBIDDEN = """Object.defineProperty(window, "localStorage",
  { get() { throw new DOMException("", "SecurityError"); } })"""
FULL = """{ const keep = Storage.prototype.setItem;
  Storage.prototype.setItem = function (key, text) {
    if (/question/.test(key)) throw new DOMException("", "QuotaExceededError");
    keep.call(this, key, text);
  }; }"""


@browsed
@pytest.mark.parametrize("trouble", [FORBIDDEN, FULL])
def test_a_store_that_is_forbidden_or_full(reader: Any, base_url: str, trouble: str) -> None:
    name, data = FIRST["choice"]
    page = reader("intro")
    page.add_init_script(trouble)
    page.goto(f"{base_url}/{name}.html?lang=en")
    answer(page, data)
    expect(box(page, data["id"]).locator(".question-told")).to_contain_text("✓")


@browsed
def test_two_tabs_lose_nothing(reader: Any) -> None:
    name, data = next((n, d) for n, d in ASKED.items() if len(d) > 1)
    choices = [each for each in data if each["kind"] == "choice"][:2]
    first = reader(name)
    second = first.context.new_page()
    second.goto(first.url)
    for page, each in zip((first, second), choices, strict=True):
        page.evaluate("document.documentElement.removeAttribute('data-layout')")
        answer(page, each)
    assert set(progress(first)["cards"]) == {each["id"] for each in choices}


EVIL = "<img src=x onerror=window.ran=true>"


@browsed
@pytest.mark.parametrize(
    "stored",
    [
        "", "not json", "null", "[]", "{}", '{"version":1}', '{"version":9,"cards":{}}',
        json.dumps({"version": 1, "cards": {"__proto__": {"s": 1}, EVIL: {"s": "1"}}}),
        json.dumps({"version": 1, "cards": {}, "log": EVIL, "lines": {"masks": [EVIL, 1]},
                    "settings": {"mode": EVIL}}),
    ],
)  # fmt: skip
def test_what_others_have_put_into_the_store(reader: Any, stored: str) -> None:
    name, data = FIRST["choice"]
    page = reader("intro")
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, stored])
    page.goto(page.url.replace("intro", name))
    page.evaluate("document.documentElement.removeAttribute('data-layout')")
    answer(page, data)
    expect(box(page, data["id"]).locator(".question-told")).to_contain_text("✓")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("({}).s") is None


@browsed
@pytest.mark.parametrize(("lang", "scheme"), [("zh", "dark"), ("en", "light")])
def test_axe_finds_nothing_once_questions_are_answered(
    reader: Any, root: Path, lang: str, scheme: str
) -> None:
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix audit")
    by_page: dict[str, list[dict[str, Any]]] = {}
    for name, data in FIRST.values():
        by_page.setdefault(name, []).append(data)
    for name, all_data in by_page.items():
        page = reader(name, lang=lang, color_scheme=scheme, viewport={"width": 390, "height": 800})
        for n, data in enumerate(all_data):
            answer(page, data, right=bool(n % 2))
        page.evaluate(axe.read_text(encoding="utf8"))
        found = page.evaluate(
            """axe.run({ include: [['.question', '.question-page', '.question-veil']] },
              { resultTypes: ['violations'], preload: false }).then(found => found.violations)"""
        )
        assert not [(v["id"], v["nodes"][0]["html"][:200]) for v in found], name
