"""The viewer of heads in a browser: from a file without any network, and as a notebook runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from attention_book.live import HeadViewer, bundle

QUERIES = ["<bos>", "la", "fille", "lit", "un", "livre"]
KEYS = ["the", "girl", "reads", "a", "book"]
VIEWS = [("zh-CN", "light", 1280), ("en-US", "dark", 360)]

pytestmark = pytest.mark.browser


def viewer() -> HeadViewer:
    generator = torch.Generator().manual_seed(3)
    cross = torch.randn(2, 3, 6, 5, generator=generator).softmax(dim=-1)
    cross[1, 2, 4] = torch.tensor([0.0, 0.05, 0.0, 0.15, 0.8])
    encoder = torch.randn(1, 2, 5, 5, generator=generator).softmax(dim=-1)
    return HeadViewer(
        cross_attentions=cross, encoder_attentions=encoder, source=KEYS, target=QUERIES
    ).at("cross", layer=2, head=3, query=5)


class Watched:
    """A page of a file with the network off; at the end nothing may have gone wrong."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda line: self.troubles.append(line.text))
        self.page.on("request", self.asked)
        self.address = address
        self.page.goto(address)

    def asked(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.address:
            self.troubles.append(request.url)

    def __enter__(self) -> Page:
        expect(self.page.locator(".live-ready")).to_be_visible()
        return self.page

    def __exit__(self, *error: object) -> None:
        self.context.close()
        assert not self.troubles


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return viewer().save(tmp_path_factory.mktemp("viewer") / "heads.html").as_uri()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Page]:
    with Watched(browser, address, viewport={"width": 1280, "height": 900}, locale="en-US") as page:
        yield page


def word(page: Page, side: int, text: str) -> Any:
    return page.locator(".live-sentence").nth(side).get_by_role("button", name=text, exact=True)


def test_a_word_that_is_pointed_at_lights_up_its_row(opened: Page) -> None:
    readout, band = opened.locator(".live-readout"), opened.locator(".live-band").first
    expect(readout).to_have_text(
        "Layer 2, head 3. “un” looks most at “book” 0.80, “a” 0.15, “girl” 0.05.",
        use_inner_text=True,
    )
    before = band.get_attribute("y")
    word(opened, 0, "la").hover()
    expect(readout).to_contain_text("“la” looks most at")
    assert band.get_attribute("y") != before
    word(opened, 1, "book").hover()
    expect(readout).to_contain_text("“book” is looked at most by “fille” 0.86")
    opened.mouse.move(0, 0)
    expect(readout).to_contain_text("“un” looks most at")
    assert band.get_attribute("y") == before


def test_the_weights_stand_below_the_words(opened: Page) -> None:
    shown = opened.locator(".live-sentence").nth(1).locator(".live-weight").all_text_contents()
    assert shown == ["", "0.05", "", "0.15", "0.80"]
    opened.locator("input[type=range]").fill("0.1")
    shown = opened.locator(".live-sentence").nth(1).locator(".live-weight").all_text_contents()
    assert shown == ["", "", "", "0.15", "0.80"]


def test_a_threshold_takes_cells_away_and_says_how_much(opened: Page) -> None:
    cells = "document.querySelectorAll('.live-frame .live-ink').length"
    before = opened.evaluate(cells)
    opened.locator("input[type=range]").fill("0.3")
    assert opened.evaluate(cells) < before
    cross = viewer().kinds["cross"].weights[1, 2]
    gone = 100 * cross[cross < 0.3].sum() / cross.sum()
    expect(opened.locator(".live-readout")).to_contain_text(
        f"Cells below 0.30 are not drawn; they hold {gone:.0f}% of all weight."
    )


def test_the_keyboard_reaches_everything(opened: Page) -> None:
    opened.locator(".live-head[tabindex='0']").focus()
    opened.keyboard.press("ArrowUp")
    expect(opened.locator(".live-readout")).to_contain_text("Layer 1, head 3.")
    opened.keyboard.press("End")
    expect(opened.locator(".live-readout")).to_contain_text("Layer 1, mean of the heads.")
    assert opened.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
    stops = []
    for _ in range(6):
        opened.keyboard.press("Tab")
        stops.append(opened.evaluate("document.activeElement.className.split(' ')[0]"))
    assert stops.count("live-word") == 2, "one stop for each sentence"
    word(opened, 0, "<bos>").focus()
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".live-readout")).to_contain_text("“la” looks most at")
    opened.keyboard.press("Enter")
    word(opened, 0, "la").blur()
    expect(opened.locator(".live-readout")).to_contain_text("“la” looks most at")
    assert "query=2" in opened.url


def test_the_table_has_the_numbers(opened: Page) -> None:
    opened.locator("summary").click()
    row = opened.locator("tbody tr").nth(4)
    # It is written when it opens, a moment after the click: `expect` waits.
    expect(row.locator("td")).to_have_text(["0.000", "0.050", "0.000", "0.150", "0.800"])
    expect(row.locator("th")).to_have_text("un")


def test_another_kind_has_words_of_its_own(opened: Page) -> None:
    opened.get_by_label("Encoder self-attention").check()
    expect(opened.locator(".live-head")).to_have_count(3)
    expect(opened.locator(".live-sentence").first).to_contain_text("reads")
    opened.go_back()
    expect(opened.locator(".live-readout")).to_contain_text("Layer 2, head 3. “un”")


def test_an_address_is_checked(browser: Browser, address: str) -> None:
    nonsense = "#heads?layer=99&head=-1&query=1.5&threshold=7&kind=<b>&key=NaN"
    with Watched(browser, address, locale="en-US") as page:
        page.evaluate("nonsense => { location.hash = nonsense; }", nonsense)
        expect(page.locator(".live-readout")).to_contain_text("Layer 2, head 3. “un”")


def test_a_finger_on_a_narrow_screen(browser: Browser, address: str) -> None:
    small = {"width": 360, "height": 740}
    with Watched(browser, address, viewport=small, has_touch=True, locale="en-US") as page:
        page.locator(".live-head").first.tap()
        word(page, 0, "lit").tap()
        expect(page.locator(".live-readout")).to_contain_text("Layer 1, head 1. “lit” looks most")
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        page.get_by_role("button", name="中文").tap()
        expect(page.locator(".live-readout")).to_contain_text("第 1 层，头 1。“lit”看得最多的是")


@pytest.mark.parametrize(("language", "theme", "width"), VIEWS)
def test_axe(
    browser: Browser, address: str, root: Path, language: str, theme: Any, width: int
) -> None:
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix audit")
    view = {"width": width, "height": 900}
    with Watched(browser, address, viewport=view, locale=language, color_scheme=theme) as page:
        page.locator("summary").click()
        page.evaluate(axe.read_text(encoding="utf8"))
        found = page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"
        )
    assert not [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


NOTEBOOK = """async ({ esm, css, state }) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  const listeners = new Map();
  globalThis.model = {
    get: (key) => state[key],
    set(key, value) {
      state[key] = value;
      (listeners.get(`change:${key}`) ?? []).forEach((f) => f());
    },
    on: (event, f) => listeners.set(event, [...(listeners.get(event) ?? []), f]),
    off: (event, f) => listeners.set(event, (listeners.get(event) ?? []).filter((g) => g !== f)),
    save_changes() { globalThis.saved = { ...state }; },
  };
  const module = new Blob([esm], { type: "text/javascript" });
  const { default: widget } = await import(URL.createObjectURL(module));
  const el = document.body.appendChild(document.createElement("div"));
  globalThis.close = widget.render({ model, el });
  globalThis.listening = () => [...listeners.values()].flat().length;
}"""


def test_the_same_module_runs_as_an_anywidget(browser: Browser) -> None:
    page = browser.new_page(locale="zh-CN")
    given = {"esm": bundle.esm("heads"), "css": bundle.styles(), "state": viewer().state}
    page.evaluate(NOTEBOOK, json.loads(json.dumps(given)))
    expect(page.locator(".live-readout")).to_contain_text("第 2 层，头 3。")
    expect(page.locator(".live-readout .bl-en")).not_to_be_visible()
    page.locator(".live-head").first.click()
    assert page.evaluate("[saved.layer, saved.head]") == [1, 1], "Python hears of it"
    page.evaluate("model.set('layer', 2); model.set('head', 0)")
    expect(page.locator(".live-readout")).to_contain_text("第 2 层，各头的平均。")
    page.evaluate("model.set('layer', 99)")
    expect(page.locator(".live-readout")).to_contain_text("第 2 层")
    page.evaluate("close()")
    assert page.evaluate("listening()") == 0
    page.close()


def test_a_sentence_from_right_to_left_answers_where_it_stands(
    browser: Browser, tmp_path: Path
) -> None:
    words = ["هذا", "كتاب", "جميل"]
    weights = torch.tensor([[[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.2, 0.3]]]])
    there = HeadViewer(weights, tokens=words).save(tmp_path / "rtl.html").as_uri()
    with Watched(browser, there, viewport={"width": 1280, "height": 900}, locale="en-US") as page:
        ground = page.locator(".live-heads-map .live-now").bounding_box()
        assert ground
        cell = ground["width"] / 3
        right, top = ground["x"] + ground["width"] - cell / 2, ground["y"] + cell / 2
        readout = page.locator(".live-readout")
        for column, weight in enumerate(["0.250", "0.750", "0.000"]):
            page.mouse.move(right - column * cell, top + cell)
            expect(readout).to_contain_text(f"weight {weight}.")
            band = page.locator(".live-band").nth(1).bounding_box()
            assert band
            assert abs(band["x"] + band["width"] / 2 - (right - column * cell)) < 2
        page.mouse.move(0, 0)
        places = [
            each.bounding_box()
            for each in page.locator(".live-sentence").first.locator("button").all()
        ]
        assert [box["x"] for box in places if box] == sorted(
            (box["x"] for box in places if box), reverse=True
        )
        word(page, 0, words[0]).focus()
        page.keyboard.press("ArrowLeft")
        expect(readout).to_contain_text(f"“\u2068{words[1]}\u2069” looks most at")
