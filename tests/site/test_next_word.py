"""Small language models that write in the page: by keyboard, touch, address, without scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from attention_book.course.recorded import recorded_run

CHAPTER, PLACE = "language-models.html", "live-language-models-next-word-live"

pytestmark = pytest.mark.browser


def opened(page: Page, address: str) -> Any:
    """Open the chapter; return the figure, once it has come alive."""
    page.goto(address)
    found = page.locator(f"#{PLACE}")
    expect(found).to_have_class(re.compile("live-ready"))
    found.scroll_into_view_if_needed()  # out of view nothing is rendered: inner texts are empty
    return found


def press(place: Any, name: str) -> None:
    place.get_by_role("button", name=name, exact=True).click()


def written(place: Any) -> Any:
    """The boxes of passes that wrote a token."""
    return place.locator(".next-decode")


def text_of(place: Any) -> str:
    """All tokens as one text."""
    return "".join(place.locator(".next-cell:not(.next-mark)").all_inner_texts())


def numbers(place: Any, row: str) -> list[str]:
    """The cells of a row of the table of costs."""
    return place.locator("tr", has_text=row).locator("td").all_inner_texts()  # type: ignore[no-any-return]


def test_nothing_of_a_model_is_loaded_before_it_is_asked_for(page: Page, base_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].split("?")[0]))
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh")
    place.scroll_into_view_if_needed()
    expect(place.locator(".next-prefill")).to_have_count(1)
    expect(place.locator("button.next-choice")).to_have_count(8)
    count = written(place).count()
    place.locator(".live-choice label").last.click()  # the other start is in the page, too
    expect(place.locator(".next-prefill")).to_contain_text("It")
    assert not [name for name in asked if name.endswith(".bin") or name == "engine.js"]
    place.locator(".live-choice label").first.click()
    press(place, "写一个")
    expect(written(place)).to_have_count(count + 1, timeout=60_000)
    assert [name for name in asked if name.endswith(".bin")] == ["tang-poems.bin"]


@pytest.mark.parametrize("name", ["tang-poems", "austen"])
def test_greedy_it_writes_what_the_package_has_recorded(
    name: str, page: Page, base_url: str
) -> None:
    page.emulate_media(reduced_motion="reduce")
    for text, expected in list(recorded_run(name)["greedy"].items())[:2]:
        page.goto("about:blank")
        query = f"name={name}&prompt={text}&wrote=&t=0"
        place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{PLACE}?{query}")
        expect(place.locator(".next-choice.cut")).to_have_count(7, timeout=60_000)
        press(place, "Write on")
        expect(place.locator(".next-end")).to_be_visible(timeout=60_000)
        assert text_of(place) == re.sub(r"\s", "", expected)
        expect(place.get_by_role("button", name="Write one", exact=True)).to_be_disabled()


def test_a_pass_for_each_box_and_what_it_costs(page: Page, base_url: str) -> None:
    query = "name=tang-poems&prompt=明月&wrote=&t=1&p=1"
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{PLACE}?{query}")
    expect(place.locator(".next-prefill .next-cell")).to_have_count(3, timeout=60_000)
    expect(written(place)).to_have_count(0)
    assert numbers(place, "tokens read") == ["3", "1"]
    once, again = numbers(place, "weights read")
    assert once == again, "one pass reads all weights, however many tokens it reads"
    assert numbers(place, "numbers read from the cache")[0] == "0"
    before = int(numbers(place, "numbers read from the cache")[1].replace(",", ""))
    press(place, "Write one")
    expect(written(place)).to_have_count(1)
    after = int(numbers(place, "numbers read from the cache")[1].replace(",", ""))
    assert after * 3 == before * 4, "the next token reads one place more"
    press(place, "Take one back")
    expect(written(place)).to_have_count(0)


def test_a_bar_writes_its_token_by_keyboard_and_keeps_the_focus(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh")
    press(place, "从头来")
    first = place.locator("button.next-choice").nth(1)
    expect(written(place)).to_have_count(0, timeout=60_000)
    label = first.locator(".next-label").text_content()
    first.focus()
    page.keyboard.press("Enter")
    expect(written(place)).to_have_text([label])
    assert place.evaluate("place => place.contains(document.activeElement)")


def test_temperature_and_top_p_cut_and_sharpen(page: Page, base_url: str) -> None:
    query = "name=austen&prompt=It was&wrote=&t=1&p=1"
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{PLACE}?{query}")
    readout = place.locator(".live-readout")
    expect(readout).to_contain_text("can be drawn", use_inner_text=True, timeout=60_000)
    expect(place.locator(".next-choice.cut")).to_have_count(0)
    plain = place.locator(".next-number").first.inner_text()
    sliders = place.locator(".live-slider input")
    sliders.nth(1).fill("0.2")
    expect(place.locator(".next-choice.cut").first).to_be_visible()
    expect(readout).to_contain_text("Top-p 0.2 keeps", use_inner_text=True)
    sliders.nth(1).fill("1")
    sliders.nth(0).fill("0.3")
    sharp = place.locator(".next-number").first
    expect(sharp).not_to_have_text(plain)
    assert float(sharp.inner_text().rstrip("%")) > float(plain.rstrip("%"))


def test_the_address_keeps_what_was_written_and_makes_no_steps(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh")
    steps = page.evaluate("history.length")
    count = written(place).count()
    for number in (1, 2):
        press(place, "写一个")
        expect(written(place)).to_have_count(count + number, timeout=60_000)
    assert page.evaluate("history.length") == steps
    text, address = text_of(place), page.url
    assert "wrote=" in address
    page.goto("about:blank")
    place = opened(page, address)
    expect(written(place)).to_have_count(count + 2, timeout=60_000)
    assert text_of(place) == text
    nonsense = "name=<b>&wrote=9999999.3.4&t=70&p=no&prompt="
    page.goto("about:blank")
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh#{PLACE}?{nonsense}")
    expect(written(place)).to_have_count(count)


def test_a_beginning_of_ones_own(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh")
    field = place.locator("input[type=text]")
    field.fill("秋水")
    field.press("Enter")
    expect(place.locator(".next-prefill .next-cell")).to_have_count(3, timeout=60_000)
    before = text_of(place)
    field.fill("abc")
    field.press("Enter")
    expect(place.locator(".next-status")).to_contain_text("没见过：abc")
    assert text_of(place) == before == "秋水"
    field.fill("  ")
    field.press("Enter")
    expect(place.locator(".next-status")).to_contain_text("请先写个开头")


def test_writing_on_can_be_stopped(page: Page, base_url: str) -> None:
    query = "name=tang-poems&prompt=春&wrote=&t=1"
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{PLACE}?{query}")
    press(place, "Write on")
    expect(written(place)).not_to_have_count(0, timeout=60_000)
    press(place, "Stop")
    count = written(place).count()
    page.wait_for_timeout(800)
    assert written(place).count() <= count + 1


def test_a_reader_of_english_alone_begins_with_english(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    expect(place.locator(".next-prefill")).to_contain_text("It")
    place = opened(page, f"{base_url}/{CHAPTER}?lang=zh")
    expect(place.locator(".next-prefill")).to_contain_text("白")


@pytest.mark.parametrize("lang", ["zh", "en", "both"])
def test_a_telephone_shows_all_of_it(lang: str, phone: Page, base_url: str) -> None:
    place = opened(phone, f"{base_url}/{CHAPTER}?lang={lang}")
    place.locator("button.next-choice").first.tap()
    expect(place.locator(".next-fresh")).to_be_visible(timeout=60_000)
    assert not phone.evaluate("document.documentElement.scrollWidth > innerWidth")
    heights = "all => all.map((each) => each.getBoundingClientRect().height)"
    assert min(place.locator("button:visible").evaluate_all(heights)) >= 32


def test_without_scripts_the_start_stands(browser: Browser, base_url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base_url}/{CHAPTER}")
    place = page.locator(f"#{PLACE}")
    expect(place.locator(".next-prefill")).to_be_visible()
    expect(place.locator("span.next-choice")).to_have_count(8)
    expect(place.locator(".live-readout")).to_be_visible()
    expect(place.locator("table")).to_be_visible()
    assert place.locator("button, input").count() == 0
    context.close()


def test_from_a_folder(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    place = opened(page, f"{(site / CHAPTER).as_uri()}?lang=en")
    count = written(place).count()
    press(place, "Write one")
    expect(place.locator(".next-decode, .next-end")).to_have_count(count + 1, timeout=60_000)
    page.close()


def test_a_model_that_does_not_come_is_told(browser: Browser, base_url: str) -> None:
    page = browser.new_page()  # not watched: the failed request is told in the console
    page.route("**/*.bin", lambda route: route.abort())
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    count = written(place).count()
    press(place, "Write one")
    expect(place.locator(".next-status")).to_contain_text("could not be loaded", timeout=30_000)
    page.unroute("**/*.bin")
    press(place, "Write one")
    expect(place.locator(".next-decode, .next-end")).to_have_count(count + 1, timeout=60_000)
    page.close()
