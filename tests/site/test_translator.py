"""The translators in a browser: light until asked, then by keyboard, touch and from a folder."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

PLACE = re.compile(r'<div id="([\w-]+)" data-live="translator" data-begin="([^"]+)">')
HOME = "translator.html"
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src blob:;"
    " img-src data:"
)
HOSTILE = {
    "empty": "",
    "markup": '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
    "long": "word " * 2000,
    "one word": "a" * 10_000,
    "emoji": "👩‍👩‍👧 loves 🥐 .",
    "right to left": "مرحبا بالعالم \u202e.olleh\u202c",
    "control": "a\x00b \x07 \x1b[31m the cat .",
    "prototype": "__proto__ constructor toString .",
    "too many": "the cat " * 31,
}
OPEN = "tatoeba-eng-fra"  # of any words
SENTENCE, FRENCH = "They run with Anna in the street.", "Ils courent avec Anna dans la rue."

pytestmark = pytest.mark.browser


def translators(site: Path) -> list[tuple[str, str]]:
    """Every translator of the site: its page and its id."""
    pages = sorted(site.glob("*.html"))
    return [(p.name, m[1]) for p in pages for m in PLACE.finditer(p.read_text(encoding="utf8"))]


def opened(page: Page, address: str) -> Any:
    """Open the translator's page; return it, its settings unfolded, once it shows its example."""
    page.goto(address)
    place = page.locator("[data-live=translator]")
    expect(place).to_have_class(re.compile("live-ready"))
    expect(place.locator(".live-word").first).to_be_attached()
    place.locator(".live-settings").evaluate("settings => { settings.open = true; }")
    return place


def translate(place: Any, text: str, *, answer: Any = re.compile("ms")) -> str:
    """Type a sentence, wait for an answer, and return it."""
    place.locator("textarea").evaluate("(box, text) => { box.value = text; }", text)
    place.locator(".live-go").click()
    expect(place.locator(".live-status")).to_contain_text(answer, timeout=30_000)
    return str(place.locator(".live-status").inner_text())


def test_the_four_pages_have_one(site: Path) -> None:
    pages = {page for page, _ in translators(site)}
    expected = {HOME, "bahdanau.html", "training-transformer.html", "looking-inside.html"}
    assert pages == expected


def test_a_closed_translator_loads_nothing_of_a_model(page: Page, base_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].split("?")[0]))
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    of_ours = {name for name in asked if name in {"core.js", "translator.js", "engine.js"}}
    assert of_ours == {"core.js", "translator.js"}
    assert [name for name in asked if name.endswith((".bin", "fr-1.js", "en-1.js"))] == []
    assert len([name for name in asked if name.endswith(".example.js")]) == 1
    assert FRENCH in translate(place, SENTENCE)
    assert "engine.js" in asked
    assert len([name for name in asked if name.endswith(".bin")]) == 1


def test_from_a_folder(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    place = opened(page, f"{(site / HOME).as_uri()}?lang=en")
    assert FRENCH in translate(place, SENTENCE)
    page.close()


def test_under_a_strict_policy(page: Page, base_url: str, site: Path) -> None:
    """No inline script, no style attribute; a Worker from a Blob."""
    found = PLACE.search((site / HOME).read_text(encoding="utf8"))
    assert found
    scripts = "".join(
        f'<script defer src="_static/live/{name}.js"></script>' for name in ("core", "translator")
    )
    body = f"<!DOCTYPE html><title>t</title>{scripts}{found[0]}</div>"
    policy = {"Content-Security-Policy": STRICT}
    page.route(
        "**/strict.html",
        lambda route: route.fulfill(body=body, content_type="text/html", headers=policy),
    )
    assert FRENCH in translate(opened(page, f"{base_url}/strict.html"), SENTENCE)


@pytest.mark.parametrize("how", ["no worker", "forbidden worker"])
def test_without_a_worker(how: str, page: Page, base_url: str) -> None:
    page.add_init_script(
        "delete globalThis.Worker"
        if how == "no worker"
        # refused late, by an event, as a policy does
        else """Worker = class extends EventTarget {
          constructor() {
            super();
            setTimeout(() => this.onerror?.(new Event("error", { cancelable: true })));
          }
          postMessage() {} };"""
    )
    assert FRENCH in translate(opened(page, f"{base_url}/{HOME}?lang=en"), SENTENCE)


def test_damaged_weights_are_refused_and_whole_ones_taken(page: Page, base_url: str) -> None:
    def damage(route: Any) -> None:
        answer = route.fetch()
        broken = bytearray(answer.body())
        broken[100_000] ^= 1
        route.fulfill(response=answer, body=bytes(broken))

    page.route("**/*.bin", damage)
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE, answer="checksum")
    page.unroute("**/*.bin")
    assert FRENCH in translate(place, SENTENCE)


def test_hostile_input_is_answered_in_words(page: Page, base_url: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    answers = {
        "empty": "first",
        "long": "10000 characters",
        "one word": "10000 characters",
        "too many": "62 tokens",
    }
    for kind, text in HOSTILE.items():
        translate(place, text, answer=answers.get(kind, re.compile(r"\d ms")))
        if kind not in answers:
            expect(place.locator(".live-word.unknown").first).to_be_visible()
        assert page.evaluate("window.hacked") is None
        assert place.locator("img, script").count() == 0
        assert not re.search("[\x00-\x08\u202e]", place.inner_text())
        translate(place, SENTENCE, answer=FRENCH)


def test_an_unknown_word_is_explained_and_a_sentence_proposed(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, "They run with the zebra.")
    assert place.locator(".live-word.unknown").all_inner_texts() == ["zebra"]
    note = place.locator(".live-unknown")
    expect(note).to_contain_text("zebra")
    note.locator("button").click()
    expect(place.locator(".live-word.unknown")).to_have_count(0)


def test_a_walk_by_keyboard(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    place.locator("textarea").focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Enter")
    expect(place.locator(".live-status")).to_contain_text(FRENCH, timeout=30_000)
    words = place.locator(".live-words").nth(1).locator(".live-word")
    words.first.focus()
    for key, word in (("ArrowRight", "courent"), ("End", "<eos>"), ("Home", "ils")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.innerText") == word
        assert place.locator(".live-map-row.lit > text").text_content() == word
        weights = (
            place.locator(".live-words")
            .first.locator(".live-word")
            .evaluate_all(
                "words => words.map(word => Number(word.style.getPropertyValue('--weight')))"
            )
        )
        seen = place.locator(".live-words").first.locator(".live-word").all_inner_texts()
        most = seen[weights.index(max(weights))]
        told = place.locator(".live-readout").inner_text()
        assert told.startswith(f"{word} looks most at {most} ({max(weights):.2f})"), told
    before = place.locator(".live-map").inner_html()
    place.locator("[data-key=kind] input").first.focus()
    page.keyboard.press("ArrowRight")
    assert place.locator(".live-map").inner_html() != before
    assert page.evaluate("document.activeElement.type") == "radio", "the focus stays"


def test_switches_show_what_breaks(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE)
    place.locator("[value=noPositions]").check()
    expect(place).to_contain_text("intact model", timeout=30_000)
    place.locator("[value=noPositions]").uncheck()
    place.locator("[value=noMask]").check()
    expect(place.locator("th", has_text="with mask")).to_be_visible(timeout=30_000)
    rows = place.locator("table").first.locator("tbody tr").all_inner_texts()
    assert rows[0].split("\t")[1:] != rows[1].split("\t")[1:], "no mask must show"


def test_all_models_answer_and_beams_have_scores(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    place.locator("input[value='4']").check()
    expect(place.locator("ol li")).to_have_count(4, timeout=30_000)
    for name in ("bahdanau-en-fr-1", "transformer-zh-en-1", OPEN):
        place.locator(f"input[value={name}]").check()
        expect(place.locator(".live-status")).to_contain_text(" ms", timeout=30_000)
        assert place.locator(".live-word").count() > 4


def test_another_model_keeps_the_chosen_word(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    lit = place.locator(".live-map-row.lit > text")
    expect(lit).not_to_have_text("regarde")
    place.locator(".live-words").nth(1).locator(".live-word", has_text="regarde").click()
    page.mouse.move(0, 0)  # a pointer would light what it is above
    place.locator("input[value=bahdanau-en-fr-1]").focus()
    page.keyboard.press("Space")
    expect(place.locator("[data-key=head]")).to_have_count(0)  # it has no heads: it is shown
    expect(lit).to_have_text("regarde")
    place.locator("input[value=transformer-zh-en-1]").focus()
    page.keyboard.press("Space")
    expect(place.locator(".live-status")).to_contain_text("Does the bird")
    expect(place.locator(".live-map-row").nth(6)).to_have_class(re.compile("lit"))
    place.locator("input[value=transformer-en-fr-1]").check()
    translate(place, "They run.")  # has no word there
    expect(place.locator(".live-map-row")).to_have_count(4)
    expect(lit).to_have_count(1)


def choose_open(place: Any) -> None:
    """Choose the model with an open vocabulary, and wait until it has translated the text."""
    place.locator(f"input[value={OPEN}]").check()
    expect(place.locator(".live-form .live-note")).to_contain_text("Tatoeba", timeout=30_000)
    expect(place.locator(".live-status")).to_contain_text(re.compile(r"\d ms"), timeout=60_000)


def test_the_open_vocabulary_comes_only_when_it_is_chosen(page: Page, base_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    assert FRENCH in translate(place, SENTENCE)
    assert [name for name in asked if OPEN in name] == []
    choose_open(place)
    assert [name for name in asked if OPEN in name] == [f"{OPEN}.example.js", f"{OPEN}.bin"]
    note = place.locator(".live-form .live-note")
    expect(note).to_contain_text("16,932 pairs")
    links = note.locator("a")
    assert links.all_inner_texts() == ["Tatoeba", "CC BY 2.0 FR"]
    assert links.first.get_attribute("href") == "https://tatoeba.org"
    place.locator("input[value=transformer-en-fr-1]").check()
    expect(note).to_be_empty()


def test_any_word_is_read_in_pieces_and_shown_as_parts_of_words(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    choose_open(place)
    assert translate(place, "I'm untalented.", answer="talent").startswith("Je suis")
    source = place.locator(".live-words").first.locator(".live-word")
    assert source.all_inner_texts() == ["I", "'m", "un", "t", "alent", "ed", ".", "<eos>"]
    boxes = [source.nth(i).bounding_box() for i in range(6)]
    gaps = [b["x"] - a["x"] - a["width"] for a, b in itertools.pairwise(boxes) if a and b]
    assert [gap > 2 for gap in gaps] == [False, True, False, False, False], gaps
    columns = place.locator(".live-map .live-column").all_text_contents()
    assert columns == ["I", "'m", "un-", "-t-", "-alent-", "-ed", ".", "<eos>"]
    assert place.locator(".live-word.unknown").count() == 0
    assert "▁" not in place.inner_text()


def test_the_open_vocabulary_takes_hostile_input(page: Page, base_url: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    choose_open(place)
    for kind in ("markup", "emoji", "right to left", "control", "prototype"):
        translate(place, HOSTILE[kind], answer=re.compile(r"\d ms|tokens"))
        assert page.evaluate("window.hacked") is None
        assert place.locator("img, script").count() == 0
        assert not re.search("[\x00-\x08\u202e]", place.inner_text())
    translate(place, "", answer="first")
    translate(place, "I love you.", answer="Je t'aime.")


@pytest.mark.parametrize("ending", [".example.js", ".bin"])
def test_a_model_that_does_not_come_leaves_the_first_one(
    ending: str, browser: Browser, base_url: str
) -> None:
    page = browser.new_page()  # not watched: the failed request is told in the console
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE, answer=FRENCH)
    page.route(f"**/{OPEN}{ending}", lambda route: route.abort())
    place.locator(f"input[value={OPEN}]").click()
    status = place.locator(".live-status")
    expect(status).to_contain_text("could not be loaded", timeout=30_000)
    expect(status).to_contain_text("The model before is back")
    expect(place.locator("input[value=transformer-en-fr-1]")).to_be_checked()
    expect(place.locator("progress")).to_be_hidden()
    translate(place, "The girl reads a book.", answer=re.compile(r"La fille lit .*ms"))
    page.unroute(f"**/{OPEN}{ending}")
    choose_open(place)
    translate(place, "I love you.", answer="Je t'aime.")
    page.close()


def test_another_model_may_be_chosen_while_one_still_writes(page: Page, base_url: str) -> None:
    """What is being written is given up; nothing of it is shown as the other model's."""
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE, answer=FRENCH)
    waiting: list[Any] = []
    page.route(f"**/{OPEN}.example.js", lambda route: waiting.append(route))
    place.evaluate(
        """(place, open) => {
          place.querySelector("textarea").value = "The boy reads two books today.";
          place.querySelector(".live-go").click();
          place.querySelector(`input[value=${open}]`).click();
        }""",
        OPEN,
    )
    page.wait_for_timeout(1000)  # time for every word of the first model
    assert waiting, "the other model's example is asked for"
    expect(place.locator(".live-status")).to_contain_text(FRENCH)
    place.locator("textarea").fill("I love you.")  # while the other model is on its way
    for route in waiting:
        route.continue_()
    expect(place.locator(".live-note a").first).to_be_visible(timeout=30_000)  # it has come
    expect(place.locator(f"input[value={OPEN}]")).to_be_checked()
    expect(place.locator("textarea")).to_have_value("I love you.")
    translate(place, "I love you.", answer="Je t'aime.")


def test_a_damaged_open_model_is_refused(page: Page, base_url: str) -> None:
    def damage(route: Any) -> None:
        answer = route.fetch()
        broken = bytearray(answer.body())
        broken[-1] ^= 1
        route.fulfill(response=answer, body=bytes(broken))

    place = opened(page, f"{base_url}/{HOME}?lang=en")
    page.route(f"**/{OPEN}.bin", damage)
    place.locator(f"input[value={OPEN}]").click()
    expect(place.locator(".live-status")).to_contain_text("checksum", timeout=30_000)
    expect(place.locator("input[value=transformer-en-fr-1]")).to_be_checked()


def test_a_bar_shows_how_much_has_come(page: Page, base_url: str) -> None:
    page.add_init_script(
        # the answer's second half waits until the test lets it through
        """const whole = fetch;
        fetch = async (...asked) => {
          const answer = await whole(...asked), bytes = new Uint8Array(await answer.arrayBuffer());
          const half = bytes.length >> 1, let_through = new Promise((go) => { window.go = go; });
          return new Response(new ReadableStream({ async start(stream) {
            stream.enqueue(bytes.subarray(0, half));
            await let_through;
            stream.enqueue(bytes.subarray(half));
            stream.close();
          } }));
        };"""
    )
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    place.locator(f"input[value={OPEN}]").check()
    bar = place.locator("progress")
    expect(bar).to_be_visible(timeout=30_000)
    expect(place.locator(".live-status")).to_contain_text("Loading")
    expect(bar).to_have_attribute("value", re.compile(r"^0\.(50?|49\d*)$"), timeout=30_000)
    page.evaluate("window.go()")
    expect(bar).to_be_hidden(timeout=30_000)
    expect(place.locator(".live-status")).to_contain_text(" ms", timeout=30_000)


def test_the_open_vocabulary_from_a_folder(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    place = opened(page, f"{(site / HOME).as_uri()}?lang=en")
    choose_open(place)
    translate(place, "I love you.", answer="Je t'aime.")
    page.close()


def test_the_open_vocabulary_by_keyboard_at_360(
    browser: Browser, watch: Any, base_url: str
) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = watch(context.new_page())
    place = opened(page, f"{base_url}/{HOME}?lang=zh")
    place.locator("input[value=bahdanau-en-fr-1]").focus()
    page.keyboard.press("ArrowDown")
    expect(place.locator(f"input[value={OPEN}]")).to_be_checked()
    expect(place.locator(".live-status")).to_contain_text("毫秒", timeout=60_000)
    for _ in range(7):  # the search, four parts to take out, then the link of the corpus
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == "Tatoeba":
            break
    assert page.evaluate("document.activeElement.innerText") == "Tatoeba"
    place.locator("textarea").focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("I'm untalented.")
    page.keyboard.press("Enter")
    expect(place.locator(".live-status")).to_contain_text("talent.", timeout=60_000)
    place.locator(".live-words").first.locator(".live-word").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.innerText") == "'m"
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()


def test_the_address_keeps_a_sentence(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE, answer=FRENCH)
    address = page.url
    assert "text=They" in address
    page.goto("about:blank")
    place = opened(page, address)
    expect(place.locator(".live-status")).to_contain_text(FRENCH, timeout=30_000)


def test_what_no_address_can_hold_stays_in_the_page(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    translate(place, SENTENCE, answer=FRENCH)
    translate(place, HOSTILE["long"], answer="10000 characters")
    assert "text=" not in page.url
    assert len(page.url) < 200


def test_a_finger_on_a_narrow_screen(browser: Browser, watch: Any, base_url: str) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, reduced_motion="reduce"
    )
    page = watch(context.new_page())
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    word = place.locator(".live-words").nth(1).locator(".live-word").nth(2)
    word.tap()
    assert place.locator(".live-map-row.lit > text").text_content() == word.inner_text()
    assert word.evaluate("word => getComputedStyle(word).animationName") == "none"
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()


def test_without_scripts_and_in_print_the_example_stands(
    browser: Browser, page: Page, base_url: str, site: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    for name, place in translators(site):
        still.goto(f"{base_url}/{name}")
        expect(still.locator(f"#{place} svg")).to_be_visible()
        assert still.locator(f"#{place} svg text").count() >= 10
        assert still.locator(f"#{place} :is(button, input, textarea)").count() == 0
    context.close()
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    page.emulate_media(media="print")
    expect(place.locator("svg")).to_be_visible()
    expect(place.locator("textarea")).not_to_be_visible()
