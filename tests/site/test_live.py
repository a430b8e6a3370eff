"""Every live figure in a browser: by keyboard, touch, address, in print and without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

#: What moves each kind of control.
KEYS = {
    "text": "a",
    "range": "ArrowRight",
    "radio": "ArrowRight",
    "checkbox": "Space",
    "button": "Enter",
}
#: What a figure shows: its drawing, the sentence that reads it, its table.
SHOWN = """place => place.querySelector('.live-frame').innerHTML
  + place.querySelector('.live-readout').textContent + place.querySelector('table').textContent"""

pytestmark = pytest.mark.browser


@pytest.fixture
def page(tab_page: Page) -> Page:
    """What a figure keeps stands in its address: one tab serves all."""
    tab_page.emulate_media(reduced_motion="no-preference")
    return tab_page


@pytest.fixture(scope="session")
def telephone(open_tab: Any) -> Any:
    """A tab that is narrow, and touched."""
    return open_tab(viewport={"width": 360, "height": 740}, has_touch=True)


@pytest.fixture(scope="session")
def scriptless(open_tab: Any) -> Any:
    """A tab of a browser that runs no scripts."""
    return open_tab(java_script_enabled=False)


def opened(page: Page, base_url: str, live: tuple[str, str], query: str = "") -> Any:
    """Open the page of a figure; return its place, once it has come alive."""
    page.goto(f"{base_url}/{live[0]}?lang=en{query}")
    place = page.locator(f"#{live[1]}")
    expect(place).to_have_class(re.compile("live-ready"))
    return place


def controls(place: Any) -> Iterator[tuple[Any, str]]:
    """Each control of a figure, and the key that moves it."""
    for control in place.locator(".live-controls :is(input, button)").all():
        kind = control.get_attribute("type")
        group = control.get_attribute("name")
        if kind == "radio" and not place.locator(f"input[name={group}]:checked").evaluate(
            "(chosen, control) => chosen === control", control.element_handle()
        ):
            continue  # a set of radio buttons is one stop of the keyboard
        yield control, KEYS[kind]


def test_the_keyboard_moves_every_control(live: Any, page: Page, base_url: str) -> None:
    place = opened(page, base_url, live)
    seen = {place.evaluate(SHOWN)}
    moved = []
    for control, key in controls(place):
        control.focus()
        page.keyboard.press(key)
        now = place.evaluate(SHOWN)
        moved.append(now not in seen)
        seen.add(now)
        inside = place.evaluate("place => place.contains(document.activeElement)")
        assert inside, "the focus was lost with the drawing before"
    assert moved, "a figure without a control is a drawing"
    assert sum(moved) >= len(moved) / 2, "most controls change what is shown"


def test_the_address_keeps_the_state(live: Any, page: Page, base_url: str) -> None:
    place = opened(page, base_url, live)
    begin = place.evaluate(SHOWN)
    for control, key in controls(place):
        control.focus()
        page.keyboard.press(key)
        if f"#{live[1]}?" in page.url:
            break
    changed, address = place.evaluate(SHOWN), page.url
    assert changed != begin
    page.go_back()
    assert place.evaluate(SHOWN) == begin
    page.go_forward()
    assert place.evaluate(SHOWN) == changed
    page.goto("about:blank")
    page.goto(address)
    expect(place).to_have_class(re.compile("live-ready"))
    assert place.evaluate(SHOWN) == changed
    expect(place).to_be_in_viewport()


def test_a_preset_leaves_what_it_does_not_name(page: Page, base_url: str) -> None:
    name = "live-sparse-attention-patterns-live"
    live = ("sparse-attention.html", name)
    place = opened(page, base_url, live, f"#{name}?radius=5&layers=2&query=9&gap=2")
    values = {}
    for title in ("Window + stride", "Window + global"):
        place.get_by_role("button", name=title, exact=True).click()
        for slider in place.locator(".live-slider").all():
            label = slider.locator("label").inner_text()
            values[title, label] = slider.locator("input").input_value()
        for label, value in (("Layers L", "2"), ("Query", "9"), ("Window radius", "5")):
            assert values[title, label] == value
    named = ("Window dilation", "Stride", "Global positions", "Random keys")
    assert [values["Window + stride", label] for label in named] == ["1", "4", "0", "0"]
    assert [values["Window + global", label] for label in named] == ["1", "0", "2", "0"]


def test_an_address_of_nonsense_changes_nothing(live: Any, page: Page, base_url: str) -> None:
    begin = opened(page, base_url, live).evaluate(SHOWN)
    keys = page.evaluate(
        """name => {
          const { modules } = attentionBookLive;
          const isFigure = (path) => path.startsWith('figures/') && path.endsWith('/' + name);
          const path = Object.keys(modules).find(isFigure) ?? 'widgets/' + name;
          // a text is the reader's own, whatever it says
          return Object.keys(modules[path].default.address).filter((key) => key !== "text");
        }""",
        page.locator(f"#{live[1]}").get_attribute("data-live"),
    )
    page.goto("about:blank")
    nonsense = "&".join(f"{key}=<img src=x onerror=alert(1)>" for key in keys)
    place = opened(page, base_url, live, f"#{live[1]}?{nonsense}")
    assert place.evaluate(SHOWN) == begin


def test_a_text_in_an_address_is_never_markup(page: Page, base_url: str) -> None:
    name, text = "fig-induction-heads-words-live", "<img src=x onerror=alert(1)> img"
    place = opened(page, base_url, ("induction-heads.html", name), f"#{name}?text={text}")
    expect(place.locator("input[type=text]")).to_have_value(text)
    expect(place.locator("img")).to_have_count(0)
    assert "img" in str(place.locator("svg").text_content())


def test_no_text_leaves_its_drawing(live: Any, telephone: Any, base_url: str) -> None:
    """Whichever end a slider is at, on a narrow screen."""
    with telephone.lend() as page:
        place = opened(page, base_url, live)
        left = place.evaluate(
            """place => {
              const found = new Set();
              const look = () => place.querySelectorAll("svg text").forEach((text) => {
                const box = text.getBoundingClientRect();
                const around = text.ownerSVGElement.getBoundingClientRect();
                if (box.width && (box.left < around.left - 3 || box.right > around.right + 3))
                  found.add(text.textContent);
              });
              look();
              for (const { id, name } of place.querySelectorAll("input[type=range]"))
                for (const end of ["min", "max"]) {
                  const slider = place.querySelector(id ? `[id="${id}"]` : `[name="${name}"]`);
                  slider.value = slider[end];
                  slider.dispatchEvent(new Event("input", { bubbles: true }));
                  look();
                }
              return [...found];
            }"""
        )
        assert not left


def test_a_finger_on_a_narrow_screen(live: Any, telephone: Any, base_url: str) -> None:
    with telephone.lend() as page:
        place = opened(page, base_url, live)
        before = place.evaluate(SHOWN)
        pressed = ":is(button, [type=checkbox], [type=radio])"
        for control in place.locator(f".live-controls {pressed}").all():
            control.tap()
        for control in place.locator(".live-controls [type=range]").all():
            control.tap(position={"x": 12, "y": 12})
        assert place.evaluate(SHOWN) != before
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, "the page scrolls sideways"


def test_without_scripts_the_drawing_stands(live: Any, scriptless: Any, base_url: str) -> None:
    with scriptless.lend() as page:
        page.goto(f"{base_url}/{live[0]}")
        place = page.locator(f"#{live[1]}")
        expect(place.locator("svg")).to_be_visible()
        expect(place.locator(".live-readout")).to_be_visible()
        assert place.locator("button, input").count() == 0


def test_in_print_the_drawing_stands_alone(live: Any, page: Page, base_url: str) -> None:
    place = opened(page, base_url, live)
    page.emulate_media(media="print")
    expect(place.locator("svg[role=img]").first).to_be_visible()
    for control in place.locator("button, input, summary").all():
        expect(control).not_to_be_visible()
