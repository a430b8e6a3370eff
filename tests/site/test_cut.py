"""Cut a look, on the front page: by tap, line, keyboard and address; light until the first cut."""

from __future__ import annotations

import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

HOME = "intro.html"
DATA = re.compile(r'data-live="cut"[^>]* data-begin="([^"]+)"')

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def begin(site: Path) -> Any:
    """What the build has put into the page: the sentences with their cuts."""
    found = DATA.search((site / HOME).read_text(encoding="utf8"))
    assert found
    return json.loads(html.unescape(found[1]))


def opened(page: Page, address: str) -> Any:
    page.goto(address)
    place = page.locator("[data-live=cut]").first
    expect(place).to_have_class(re.compile("live-ready"))
    return place


def target_words(place: Any) -> Any:
    return place.locator(".live-cut-live [data-cut$='-*'] text")


def without_end(words: list[str]) -> list[str]:
    return [word for word in words if word != "<eos>"]


def expect_translation(place: Any, words: list[str]) -> None:
    expect(target_words(place)).to_have_text(without_end(words), ignore_case=True, timeout=30_000)


def test_the_build_shows_a_cut_that_changes_nothing_though_its_weight_is_high(begin: Any) -> None:
    for sentence in begin["sentences"]:
        word, one, idle = sentence["cuts"]
        assert word["target"] != sentence["target"] != one["target"]
        assert idle["target"] == sentence["target"]
        target, source = map(int, idle["cut"].split("-"))
        assert sentence["weights"][target][source] >= 0.8
        assert idle["weights"][target][source] == 0


@pytest.mark.parametrize("name", ["intro", "bahdanau", "trust", "looking-inside"])
def test_words_stand_within_the_drawing_of_a_phone(phone: Page, base_url: str, name: str) -> None:
    place = opened(phone, f"{base_url}/{name}.html?lang=zh")
    assert not place.evaluate(
        """place => [...place.querySelectorAll("svg text")].filter((word) => {
          const box = word.getBoundingClientRect();
          const drawing = word.ownerSVGElement.getBoundingClientRect();
          return box.width && (box.left < drawing.left - 1 || box.right > drawing.right + 1);
        }).map((word) => word.textContent)"""
    )


def test_nothing_of_the_model_is_loaded_before_the_first_cut(page: Page, base_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].split("?")[0]))
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    page.wait_for_load_state("networkidle")
    assert not [name for name in asked if name.endswith(".bin") or name == "engine.js"]
    place.locator(".live-cut-chips button").first.click()
    expect(place.locator(".live-cut-said")).to_contain_text("Nothing may look")
    page.wait_for_load_state("networkidle")
    assert {"engine.js", "transformer-zh-en-1.bin"} <= set(asked)


def test_what_the_page_asks_for_is_light(page: Page, base_url: str) -> None:
    sizes: dict[str, int] = {}

    def weigh(response: Any) -> None:
        body = response.body()
        packs = not response.url.endswith((".woff2", ".png"))
        sizes[response.url] = len(gzip.compress(body, 9)) if packs else len(body)

    page.on("requestfinished", lambda request: weigh(request.response()))
    opened(page, f"{base_url}/{HOME}?lang=en")
    page.wait_for_load_state("networkidle")
    assert sum(sizes.values()) <= 300_000, sorted(sizes.items(), key=lambda each: -each[1])[:8]


def test_the_page_translates_as_the_package_did(page: Page, base_url: str, begin: Any) -> None:
    """One head's weights need the engine: with every cut it finds what the build has written."""
    for at, sentence in enumerate(begin["sentences"]):
        for cut in sentence["cuts"]:
            page.goto("about:blank")
            address = f"{HOME}?lang=en#live-intro-cut-live?at={at}&cut={cut['cut']}&view=1-0"
            place = opened(page, f"{base_url}/{address}")
            expect(place.locator(".live-cut-said")).to_contain_text(
                re.compile("is cut|Nothing may"), timeout=30_000
            )
            expect_translation(place, cut["target"])


def test_by_keyboard_alone(page: Page, base_url: str, begin: Any) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    sentence = begin["sentences"][0]
    place.locator("[role=button][tabindex='0']").focus()
    word = int(sentence["cuts"][0]["cut"].removeprefix("*-"))
    for _ in range(word):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect_translation(place, sentence["cuts"][0]["target"])
    focused = page.evaluate("document.activeElement.dataset.cut")
    assert focused == f"*-{word}", "the keyboard keeps its place"
    expect(place.locator(f".live-cut-live [data-cut='*-{word}']")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Control+z")
    expect_translation(place, sentence["target"])
    page.keyboard.press("ArrowDown")  # by a ribbon
    ribbon = page.evaluate("document.activeElement.dataset.cut")
    assert re.fullmatch(r"\d+-\d+", ribbon)
    page.keyboard.press("ArrowDown")  # to a word of the translation
    assert page.evaluate("document.activeElement.dataset.cut").endswith("-*")
    page.keyboard.press(" ")
    expect(place.locator(".live-cut-said")).to_contain_text(
        "With no look at the source", timeout=30_000
    )


def test_a_line_drawn_across_several_cuts_them_all(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    box = place.locator(".live-cut-live").bounding_box()
    assert box
    y = box["y"] + box["height"] * 0.55
    page.mouse.move(box["x"] + 5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=60)
    page.mouse.up()
    said = place.locator(".live-cut-said")
    expect(said).to_contain_text(re.compile(r"\d+ cuts: "), timeout=30_000)
    page.get_by_role("button", name="Undo").click()  # one line, one step
    expect(said).to_contain_text("Cut a look")


def test_the_address_keeps_the_cut_and_makes_no_steps(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    steps = page.evaluate("history.length")
    chip = place.locator(".live-cut-chips button").first
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    place.get_by_role("button", name="Another sentence").click()
    place.locator(".live-cut-chips button").last.click()
    expect(place.locator(".live-cut-said")).to_contain_text("nothing changed")
    assert page.evaluate("history.length") == steps
    address = page.url
    assert "at=1&cut=" in address
    page.goto("about:blank")
    place = opened(page, address)
    expect(place.locator(".live-cut-said")).to_contain_text("nothing changed")
    page.goto(f"{base_url}/{HOME}?lang=en#live-intro-cut-live?at=99&cut=<b>&view=7-7")
    page.reload()
    expect(place.locator(".live-cut-said")).to_contain_text("Cut a look")


def test_from_a_folder(browser: Browser, site: Path, begin: Any) -> None:
    page = browser.new_page()
    place = opened(page, f"{(site / HOME).as_uri()}?lang=en")
    place.locator(".live-cut-live [data-cut='0-*']").click()
    expect(place.locator(".live-cut-said")).to_contain_text("no look at the source", timeout=60_000)
    page.close()


def test_a_finger_on_a_narrow_screen(browser: Browser, watch: Any, base_url: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = watch(context.new_page())
    place = opened(page, f"{base_url}/{HOME}?lang=zh")
    word = place.locator(".live-cut-live [data-cut='*-1']")
    box = word.bounding_box()
    assert box
    assert box["width"] >= 44
    assert box["height"] >= 32
    word.tap()
    expect(place.locator(".live-cut-said")).to_contain_text("谁也看不见", timeout=30_000)
    expect(word).to_have_attribute("aria-pressed", "true")
    word.tap()
    expect(place.locator(".live-cut-said")).to_contain_text("剪掉一道目光")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()


def test_without_scripts_the_sentence_and_three_cuts_stand(browser: Browser, base_url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base_url}/{HOME}")
    place = page.locator("[data-live=cut]")
    expect(place.locator(".live-cut-wide")).to_be_visible()
    cuts = place.locator(".live-cut-three figure")
    expect(cuts).to_have_count(3)
    for i in range(3):
        expect(cuts.nth(i).locator("svg")).to_be_visible()
        expect(cuts.nth(i).locator("figcaption")).to_be_visible()
    assert place.locator("button").count() == 0
    context.close()


def test_a_model_that_does_not_come_is_told(browser: Browser, base_url: str) -> None:
    page = browser.new_page()  # not watched: the failed request is told in the console
    page.route("**/*.bin", lambda route: route.abort())
    place = opened(page, f"{base_url}/{HOME}?lang=en")
    place.locator(".live-cut-live [data-cut='0-*']").click()
    said = place.locator(".live-cut-said")
    expect(said).to_contain_text("could not be loaded", timeout=30_000)
    page.unroute("**/*.bin")
    place.get_by_role("button", name="Undo").click()
    place.locator(".live-cut-live [data-cut='0-*']").click()
    expect(said).to_contain_text("no look at the source", timeout=30_000)
    page.close()


def test_where_the_translator_was_leads_to_its_page(page: Page, base_url: str) -> None:
    page.goto(f"{base_url}/{HOME}?lang=en#live-intro-translator-live?text=They+run.")
    page.wait_for_url("**/translator.html#live-intro-translator-live?text=They+run.")
    status = page.locator("[data-live=translator] .live-status")
    expect(status).to_contain_text("Ils courent.", timeout=30_000)


def test_the_reader_may_go_on_where_they_were(page: Page, base_url: str) -> None:
    page.goto(f"{base_url}/masks.html?lang=en")
    section = page.evaluate("document.querySelectorAll('section > h2')[2].parentElement.id")
    page.goto(f"{base_url}/masks.html?lang=en#{section}")
    page.mouse.move(600, 500)
    page.mouse.wheel(0, 100)
    for _ in range(50):  # it is kept a moment after one has stopped
        stored = page.evaluate("localStorage['attention-book-questions']")
        if json.loads(stored).get("places"):
            break
        page.wait_for_timeout(100)
    page.goto(f"{base_url}/{HOME}?lang=en")
    link = page.locator(".front-return a")
    expect(link).to_be_visible()
    link.click()
    page.wait_for_url(f"**/masks.html#{section}")
    page.evaluate(
        """localStorage['attention-book-questions'] =
           '{"version": 1, "cards": {}, "places": {"masks": ["<b>", "x", "x", 1, 0]}}'"""
    )
    page.goto(f"{base_url}/{HOME}?lang=en")
    expect(page.locator(".front-return")).to_be_hidden()
