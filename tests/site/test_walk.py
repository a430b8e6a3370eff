"""One pass through the Transformer in a browser: by keys, touch, address, without scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

CHAPTER, WALK = "transformer.html", "live-transformer-walk-live"
LAYERS, STREAM = "transformer-layers.html", "live-transformer-layers-stream-live"
MODEL = "transformer-zh-en-1"
#: Each level of each kind of station, with a number of each kind written out.
SCREENS = [
    "", "at=enc.0", "at=enc.1&level=1", "at=enc.4&level=2", "at=enc.6&level=1", "at=dec.0&level=1",
    "at=dec.3", "at=dec.3&level=1", "at=dec.5&level=2&tgt=1", "at=dec.6&level=2",
    "at=dec.6&level=3&part=score", "at=dec.6&level=3", "at=dec.6&level=3&part=value",
    "at=dec.4&level=2", "at=dec.4&level=3", "at=dec.8&level=1", "at=dec.9", "at=dec.9&level=1",
    "at=dec.9&level=2",
]  # fmt: skip
LONG = "我的妹妹星期天会在漂亮的公园里跑步吗？"
#: What is wrong with the texts of the drawing that is shown.
FAULTS = """place => {
  const frame = place.querySelector(".walk-frame").getBoundingClientRect(), found = [];
  const texts = [...place.querySelectorAll(".walk-drawing text")].map((each) => ({
    text: each.textContent.trim(), box: each.getBoundingClientRect(),
    size: parseFloat(getComputedStyle(each).fontSize), turned: each.hasAttribute("transform"),
  })).filter(({ text, box }) => text && box.width);
  for (const { text, box, size } of texts) {
    if (box.left < frame.left - 3 || box.right > frame.right + 3) found.push(`outside: ${text}`);
    if (size < 11) found.push(`small: ${text}`);
  }
  const level = texts.filter(({ turned }) => !turned);
  level.forEach(({ text, box: a }, i) => level.slice(i + 1).forEach(({ text: other, box: b }) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && tall > 5) found.push(`over each other: ${text} / ${other}`);
  }));
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
  return found;
}"""

pytestmark = pytest.mark.browser


def opened(page: Page, address: str, place: str = WALK) -> Any:
    """Open a page; return its walk, once it has come alive."""
    page.goto(address)
    found = page.locator(f"#{place}")
    expect(found).to_have_class(re.compile("live-ready"))
    return found


def begun(place: Any) -> None:
    """Wait for the first view that a model has drawn."""
    expect(place.locator(".walk-narrow")).to_have_count(0, timeout=60_000)


def title(place: Any) -> Any:
    return place.locator(".walk-title")


def test_the_first_view_loads_nothing_of_a_model(page: Page, base_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].split("?")[0]))
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    expect(place.locator("svg:visible")).to_have_count(1)
    expect(place.locator(".walk-sentence")).to_contain_text("The encoder, left,")
    assert "engine.js" not in asked
    assert not [name for name in asked if name.endswith(".bin")]
    place.locator(".walk-frame").locator("[data-part='dec.3']:visible").click()
    begun(place)
    expect(title(place)).to_contain_text("Decoder layer 1 · cross-attention")
    expect(place.locator(".walk-path")).to_contain_text("Layer 1")
    assert "engine.js" in asked
    assert asked.count(f"{MODEL}.bin") == 1


def test_the_whole_way_by_keyboard(page: Page, base_url: str) -> None:
    """→ through all stations and on to the next word; Enter goes closer, Esc steps back."""
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    page.keyboard.press("Tab")
    place.locator(".walk-arrow-button").last.focus()
    written = place.locator(".walk-words").last.locator(".walk-word:not(.ghost)")
    count = written.count()
    before = page.evaluate("history.length")
    seen = []
    for number in [*range(1, 8), *range(1, 11)]:
        page.keyboard.press("ArrowRight")
        of = 7 if len(seen) < 7 else 10
        expect(place.locator(".walk-count")).to_have_text(f" {number}/{of}", timeout=60_000)
        seen.append(title(place).inner_text())
    assert len(set(seen)) == 17
    expect(written).to_have_count(count)
    page.keyboard.press("ArrowRight")
    expect(title(place)).to_contain_text("Decoder · embedding")
    expect(written).to_have_count(count + 1)
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    expect(title(place)).to_contain_text("Decoder layer 2 · cross-attention")
    page.keyboard.press("Enter")  # on →: one more station
    expect(title(place)).to_contain_text("feed-forward")
    page.keyboard.press("ArrowLeft")
    place.locator(".walk-zoom").last.focus()
    inside = "place => place.querySelector('.walk-frame').contains(document.activeElement)"
    page.keyboard.press("Enter")
    for step in ("Layer 2", "Head 1", "Number"):
        expect(place.locator(".walk-path [aria-current]")).to_contain_text(step)
        assert place.evaluate(inside) or step == "Number"
        page.keyboard.press("Enter" if step != "Number" else "Escape")
    for step in ("Head 1", "Layer 2", "Model"):
        expect(place.locator(".walk-path [aria-current]")).to_contain_text(step)
        page.keyboard.press("Escape")
    expect(place.locator(".walk-count")).to_have_count(0)
    assert place.evaluate("place => place.contains(document.activeElement)")
    assert page.evaluate("history.length") == before, "nothing of it is a step for the Back button"


def test_the_reading_turns_where_the_build_found_it(page: Page, base_url: str) -> None:
    """The vector would say one word up to a look at the source, and the next word from there on."""
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    story = page.locator(f"#{WALK}").evaluate(
        "place => JSON.parse(place.dataset.begin).example.stories[0]"
    )
    place.locator("summary").last.click()  # the whole way in numbers
    rows = place.locator("tbody tr")
    expect(rows).to_have_count(10, timeout=60_000)
    said = [each.inner_text().split()[0] for each in rows.locator("td:last-child").all()]
    names = [each.inner_text() for each in rows.locator("th").all()]
    assert set(said) == {story["from"], story["to"]}
    turn = said.index(story["to"])
    assert said == [story["from"]] * turn + [story["to"]] * (10 - turn)
    assert "cross-attention" in names[turn]


def test_the_address_keeps_what_is_seen(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{WALK}?at=dec.6&level=2&head=2")
    begun(place)
    expect(place.locator(".walk-path [aria-current]")).to_contain_text("Head 3")
    expect(place).to_be_in_viewport()
    place.locator(".walk-arrow-button").last.focus()
    page.keyboard.press("1")
    expect(place.locator(".walk-path [aria-current]")).to_contain_text("Head 1")
    assert "head=" not in page.url
    nonsense = "at=<b>&level=9&head=-3&src=1e9&tgt=x&pick=constructor&part=__proto__&c=&v=NaN"
    page.goto("about:blank")
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{WALK}?{nonsense}")
    expect(place.locator(".walk-sentence")).to_contain_text("The encoder, left,")


def test_a_sentence_of_ones_own(page: Page, base_url: str) -> None:
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    place.locator(".walk-form summary").click()
    box = place.locator("textarea")
    for text, said in (
        ("我的猫吃面包。", ""),
        ("我的鳄鱼吃面包。", "Not in the vocabulary"),
        ("吃" * 61, "at most 60"),
        ("", "Write a sentence first."),
    ):
        box.fill(text)
        place.locator(".live-form .live-go").click()
        begun(place)
        status = place.locator(".walk-status")
        if said:
            expect(status).to_contain_text(said, timeout=30_000)
        else:
            expect(place.locator(".walk-words").first).to_contain_text("猫")
            expect(status).to_be_empty()
        expect(place.locator(".walk-words").first).to_contain_text("吃")
    first = place.locator(".live-chips button").first
    first.click()
    expect(place.locator(".walk-words").first).to_have_text(
        re.compile(".*".join(first.inner_text().strip("。？")[:2]))
    )


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_no_text_lies_over_another_or_outside(
    width: int, browser: Browser, watch: Any, base_url: str
) -> None:
    page = watch(
        browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    )
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{WALK}?at=enc.0")
    begun(place)
    faults = {}
    for text in ("", f"&text={LONG}&word=10"):
        for screen in SCREENS:
            for language in ("en", "zh"):
                page.evaluate(
                    """([hash, language]) => {
                      document.documentElement.dataset.language = language;
                      history.replaceState(null, "", hash);
                      dispatchEvent(new PopStateEvent("popstate"));
                    }""",
                    [f"#{WALK}?{screen}{text}", language],
                )
                words = place.locator(".walk-words").first.locator(".walk-word")
                if text:
                    expect(words.first).to_have_text(re.compile("我的|我"), timeout=30_000)
                page.wait_for_timeout(50)
                if found := place.evaluate(FAULTS):
                    faults[screen + text, language] = found
    assert not faults, faults
    page.close()


def test_from_a_folder_and_two_on_a_page(browser: Browser, watch: Any, site: Path) -> None:
    page = watch(browser.new_page())
    place = opened(page, f"{(site / CHAPTER).as_uri()}?lang=zh")
    place.locator(".walk-arrow-button").last.click()
    begun(place)
    expect(title(place)).to_contain_text("编码器 · 词嵌入")
    stream = opened(page, f"{(site / LAYERS).as_uri()}?lang=zh", STREAM)
    expect(stream.locator(".walk-sentence")).to_contain_text("一层只做加法")
    stream.locator("[data-part='head.cross.1']:visible").click()
    begun(stream)
    expect(stream.locator(".walk-path [aria-current]")).to_contain_text("头 2")
    page.close()


def test_nothing_moves_for_who_wants_it_still(browser: Browser, watch: Any, base_url: str) -> None:
    page = watch(browser.new_page(reduced_motion="reduce"))
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en#{WALK}?at=dec.6")
    begun(place)
    place.locator(".walk-zoom").last.click()
    expect(place.locator(".walk-path [aria-current]")).to_contain_text("Layer 2")
    assert place.evaluate("place => place.getAnimations({ subtree: true }).length") == 0
    page.close()


def test_a_damaged_model_is_refused_and_the_first_view_stays(page: Page, base_url: str) -> None:
    def damage(route: Any) -> None:
        answer = route.fetch()
        broken = bytearray(answer.body())
        broken[-1] ^= 1
        route.fulfill(response=answer, body=bytes(broken))

    page.route(f"**/{MODEL}.bin", damage)
    place = opened(page, f"{base_url}/{CHAPTER}?lang=en")
    place.locator(".walk-arrow-button").last.click()
    expect(place.locator(".walk-status")).to_contain_text("checksum", timeout=30_000)
    expect(place.locator("svg:visible")).to_have_count(1)
    page.unroute(f"**/{MODEL}.bin")
    place.locator(".walk-arrow-button").last.click()
    begun(place)


@pytest.mark.parametrize(("name", "place"), [(CHAPTER, WALK), (LAYERS, STREAM)])
def test_without_scripts_and_in_print_the_first_view_stands(
    name: str, place: str, browser: Browser, page: Page, base_url: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    for width in (1280, 390):
        still.set_viewport_size({"width": width, "height": 900})
        still.goto(f"{base_url}/{name}")
        expect(still.locator(f"#{place} svg:visible")).to_have_count(1)
        expect(still.locator(f"#{place} .walk-sentence")).to_be_visible()
        assert still.locator(f"#{place} :is(button, textarea, [role=button])").count() == 0
        assert not still.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()
    found = opened(page, f"{base_url}/{name}?lang=en", place)
    page.emulate_media(media="print")
    expect(found.locator("svg:visible")).to_have_count(1)
    expect(found.locator(".walk-words").first.locator(".walk-word").first).to_be_visible()
    expect(found.locator(".walk-arrow-button").first).not_to_be_visible()
    expect(found.locator("textarea")).not_to_be_visible()
