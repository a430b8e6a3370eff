"""The decks of three chapters: every slide fits, steps and figures answer, nothing is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from playwright.sync_api import expect
from slides.choose import FEWEST, MOST
from slides.fit import overflowing_in, show, start
from slides.make_slides import FOLDER, make, name_of

pytestmark = pytest.mark.browser
PAGES = ["nadaraya-watson", "masks", "bahdanau"]
DECKS = [(page, language) for page in PAGES for language in ("zh", "en")]
CHINESE = re.compile("[\u3400-\u9fff]")
SLIDE = {"width": 1280, "height": 720}


@pytest.fixture(scope="module")
def served(
    site: Path, serve: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, str]]:
    """The site with the decks of three chapters: the folder of these, and their address."""
    root = tmp_path_factory.mktemp("with-slides")
    for part in site.iterdir():
        if part.name != FOLDER:
            (root / part.name).symlink_to(part)
    make(site, root / FOLDER, PAGES, ["zh", "en"])
    with serve(root) as address:
        yield root / FOLDER, address


@pytest.fixture(scope="module")
def decks(served: tuple[Path, str]) -> Path:
    return served[0]


@pytest.fixture
def deck(served: tuple[Path, str], browser: Any, watch_at: Any) -> Iterator[Any]:
    """A function that opens a deck in a window of a slide's size; its troubles fail the test."""
    _, address = served
    troubles: list[str] = []
    context = browser.new_context(viewport=SLIDE)

    def opened(page: str, language: str, query: str = "") -> Any:
        window = watch_at(address, troubles)(context.new_page())
        window.goto(f"{address}/{FOLDER}/{name_of(page, language)}{query}")
        return window

    yield opened
    context.close()
    assert not troubles, troubles


def tree(decks: Path, page: str, language: str) -> Any:
    return html.fromstring((decks / name_of(page, language)).read_text(encoding="utf8"))


def kinds(deck: Any) -> list[str]:
    found: list[str] = deck.xpath("//div[@class='slides']/section/@class")
    return [kind.removeprefix("s-") for kind in found]


def go_to(window: Any, kind: str) -> Any:
    """Show the first slide of a kind, without its later steps, once it is laid out."""
    start(window)
    number = window.evaluate(
        "kind => [...document.querySelectorAll('.slides > section')]"
        ".findIndex((slide) => slide.classList.contains(kind))",
        f"s-{kind}",
    )
    show(window, number)
    window.evaluate("number => Reveal.slide(number, 0, -1)", number)
    return window.locator(".slides > section.present")


@pytest.mark.parametrize(("page", "language"), DECKS)
def test_every_slide_fits_and_none_scrolls(deck: Any, page: str, language: str) -> None:
    assert list(overflowing_in(deck(page, language))) == []


@pytest.mark.parametrize(
    "planted",
    ["<pre>" + "x" * 400 + "</pre>", '<div style="height: 1500px; flex: none">x</div>'],
)
def test_a_slide_that_does_not_fit_is_named(decks: Path, browser: Any, planted: str) -> None:
    text = (decks / name_of("masks", "en")).read_text(encoding="utf8")
    wrong = decks / "wrong.html"
    begin = '<section class="s-title"><div class="page">'
    assert text.count(begin) == 1
    planted = planted.replace("<pre>", '<pre style="overflow: auto">')
    wrong.write_text(text.replace(begin, begin + planted), encoding="utf8")
    window = browser.new_page(viewport=SLIDE)
    window.goto(wrong.as_uri())
    assert next(overflowing_in(window)).startswith("slide 1: ")
    window.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_deck_is_a_lecture_and_the_same_in_both_languages(decks: Path, page: str) -> None:
    zh, en = (kinds(tree(decks, page, language)) for language in ("zh", "en"))
    assert zh == en
    assert FEWEST <= len(en) <= MOST
    assert en[0] == "title"
    assert en[-2:] == ["keep", "exercises"]
    assert "hook" in en[:3]


@pytest.mark.parametrize(("page", "language"), DECKS)
def test_a_deck_is_in_one_language(decks: Path, page: str, language: str) -> None:
    found = tree(decks, page, language)
    assert found.get("lang") == {"zh": "zh-Hans", "en": "en"}[language]
    other = {"zh": "en", "en": "zh"}[language]
    live = "ancestor-or-self::*[@data-live]"
    assert not found.xpath(f"//*[contains(@class, 'bl-{other}')][not({live})]")
    headings = [each.text_content() for each in found.xpath("//h1 | //h2")]
    assert all(bool(CHINESE.search(each)) == (language == "zh") for each in headings)
    assert found.xpath("//aside[@class='notes']//p")


def test_the_answer_comes_on_the_next_step(deck: Any) -> None:
    window = deck("masks", "en")
    slide = go_to(window, "question")
    answer = slide.locator(".answer")
    expect(slide.locator(".prompt").first).to_be_visible()
    expect(answer).to_have_css("opacity", "0")
    number = window.evaluate("Reveal.getIndices().h")
    window.keyboard.press("ArrowRight")
    expect(answer).to_have_css("opacity", "1")
    assert window.evaluate("Reveal.getIndices().h") == number
    window.keyboard.press("ArrowRight")
    expect(slide.locator(".answer")).to_have_count(0)
    assert window.evaluate("Reveal.getIndices().h") == number + 1


def test_stages_come_one_by_one(deck: Any) -> None:
    window = deck("masks", "zh")
    slide = go_to(window, "stages")
    told = slide.locator(".told > li")
    for step in range(told.count()):
        expect(told.nth(step)).to_have_css("opacity", "1")
        if step + 1 < told.count():
            expect(told.nth(step + 1)).to_have_css("opacity", "0")
        window.keyboard.press("ArrowRight")


@pytest.mark.parametrize("width", [1280, 860])
def test_what_is_dragged_on_a_scaled_slide_stays_under_the_pointer(deck: Any, width: int) -> None:
    window = deck("nadaraya-watson", "en")
    window.set_viewport_size({"width": width, "height": width * 9 // 16})
    slide = go_to(window, "live")
    expect(slide.locator(".live-draggable")).to_be_visible()
    readout = slide.locator(".live-readout")
    before = readout.text_content()
    handle = slide.locator(".live-handle").last  # the query, which moves sideways
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.mouse.move(x, y)
    window.mouse.down()
    for step in range(1, 9):
        window.mouse.move(x + 12 * step, y)
    window.mouse.up()
    expect(readout).not_to_have_text(before)
    box = handle.bounding_box()
    assert abs(box["x"] + box["width"] / 2 - (x + 96)) < 9  # half a step of its slider
    expect(window).to_have_url(re.compile(r"#/\d+"))  # it names the slide


def test_a_translator_stands_still_and_leads_to_the_page_where_it_runs(deck: Any) -> None:
    window = deck("bahdanau", "en")
    start(window)
    links = window.locator(".to-live a").evaluate_all("all => all.map((each) => each.href)")
    assert links
    for href in links:
        window.goto(href)
        expect(window.locator("#" + href.partition("#")[2])).to_be_visible()


def test_the_speaker_has_notes_in_a_window_of_their_own(deck: Any) -> None:
    window = deck("masks", "en")
    slide = go_to(window, "formula")
    said = " ".join(slide.locator("aside.notes p").first.text_content().split())
    with window.context.expect_page() as opened:
        window.keyboard.press("s")
    speaker = opened.value
    expect(speaker.locator(".speaker-controls-notes .value")).to_contain_text(said[:30])


def test_printed_every_slide_is_a_page(deck: Any, decks: Path) -> None:
    window = deck("masks", "en", "?view=print")
    pages = window.locator(".pdf-page")
    expect(pages).to_have_count(len(kinds(tree(decks, "masks", "en"))))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_axe(deck: Any, root: Path, language: str) -> None:
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix audit")
    window = deck("masks", language)
    start(window)
    window.evaluate(axe.read_text(encoding="utf8"))
    wrong = []
    for kind in ("title", "question", "stages", "live", "exercises"):
        number = go_to(window, kind).evaluate("slide => Reveal.getIndices(slide).h")
        show(window, number)
        # A window for slides has no zoom to lose, and a slide's heading is one step of a talk.
        found = window.evaluate("() => axe.run({ exclude: ['.katex-html'] })")
        wrong += [
            f"{kind}: {each['id']} {each['nodes'][0]['html']}" for each in found["violations"]
        ]
    assert not wrong, "\n".join(wrong)


def test_the_list_leads_to_every_deck(decks: Path) -> None:
    listed = html.fromstring((decks / "index.html").read_text(encoding="utf8")).xpath("//a/@href")
    assert sorted(listed) == sorted(name_of(*each) for each in DECKS)
    assert all((decks / name).is_file() for name in listed)
