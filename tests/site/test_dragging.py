"""What can be dragged, by mouse and by finger: the numbers move, and they are the right ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

SIZES = {
    "mouse": {"width": 1280, "height": 900},
    "finger": {"width": 360, "height": 740},
}
Point = tuple[float, float]

pytestmark = pytest.mark.browser


class Hand:
    """A mouse, or a finger on a narrow screen."""

    def __init__(self, kind: str, page: Page) -> None:
        self.kind, self.page = kind, page
        self.touches = page.context.new_cdp_session(page) if kind == "finger" else None

    def drag(self, start: Point, end: Point) -> None:
        """Press, move in small steps, and let go."""
        steps = [
            tuple(a + (b - a) * i / 8 for a, b in zip(start, end, strict=True)) for i in range(9)
        ]
        self.down(steps[0])
        for step in steps[1:]:
            self.move(step)
        self.up()

    def down(self, at: Point) -> None:
        if self.touches:
            self.touch("touchStart", at)
        else:
            self.page.mouse.move(*at)
            self.page.mouse.down()

    def move(self, to: Point) -> None:
        if self.touches:
            self.touch("touchMove", to)
        else:
            self.page.mouse.move(*to)

    def up(self) -> None:
        if self.touches:
            self.touch("touchEnd")
        else:
            self.page.mouse.up()

    def touch(self, kind: str, *at: Point) -> None:
        points = [{"x": x, "y": y} for x, y in at]
        self.touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.fixture(params=SIZES)
def hand(request: pytest.FixtureRequest, browser: Browser, watch: Any) -> Iterator[Hand]:
    kind = request.param
    context = browser.new_context(viewport=SIZES[kind], has_touch=kind == "finger")
    yield Hand(kind, watch(context.new_page()))
    context.close()


def opened(hand: Hand, base_url: str, page: str, place: str) -> Locator:
    """Open a page at its figure, with the drawing in the middle of the screen."""
    hand.page.goto(f"{base_url}/{page}.html?lang=en")
    figure = hand.page.locator(f"#{place}")
    expect(figure).to_have_class(re.compile("live-ready"))
    figure.locator("details > summary").click()
    return figure


def middle(element: Locator) -> Point:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def in_sight(figure: Locator, of: str) -> Locator:
    """A part of a figure, scrolled to the middle of the screen."""
    found = figure.locator(of)
    found.evaluate("each => each.scrollIntoView({ block: 'center', behavior: 'instant' })")
    return found


def value(figure: Locator, label: str) -> float:
    return float(figure.get_by_role("slider", name=label, exact=True).input_value())


def numbers(row: Locator) -> list[float]:
    """The numbers of a row of the table, its head left out."""
    cells = [text.replace("−", "-").rstrip("°") for text in row.locator("td").all_inner_texts()]
    return [float(cell) for cell in cells if cell]


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def test_the_temperature_of_the_steps(hand: Hand, base_url: str) -> None:
    figure = opened(hand, base_url, "attention-cues", "live-attention-cues-steps-live")
    begin = value(figure, "Temperature T")
    slider = in_sight(figure, "input[type=range]")
    box = slider.bounding_box()
    assert box
    (x, y), thumb = middle(slider), 8 + (box["width"] - 16) * (begin - 0.2) / 4.8
    hand.drag((box["x"] + thumb, y), (x, y))
    temperature = value(figure, "Temperature T")
    assert temperature == pytest.approx(2.6, abs=0.15), "the middle of 0.2 to 5"
    weights = softmax([score / temperature for score in (1.5, 3, 2, 5, 0)])
    rows = figure.locator("tbody tr").all()
    shown = [numbers(row)[3] for row in rows[:5]]
    assert shown == pytest.approx(weights, abs=0.0006)
    pages = sum(w * v for w, v in zip(weights, (1, 16, 40, 300, 0), strict=True))
    assert numbers(rows[5])[-1] == pytest.approx(pages, abs=0.06)
    assert f"temperature={temperature:g}" in hand.page.url


def test_the_query_of_kernel_regression(hand: Hand, base_url: str) -> None:
    figure = opened(hand, base_url, "nadaraya-watson", WEEK)
    drawing = in_sight(figure, "svg")
    tick = drawing.locator("text.live-count", has_text=re.compile("^1$")).first
    handle = middle(drawing.locator("circle.live-handle").last)
    hand.drag(handle, (middle(tick)[0], handle[1]))
    assert value(figure, "Query") == pytest.approx(1, abs=0.051)
    expect_kernel_regression(figure, pages=[10, 20, 60])


def test_a_page_of_kernel_regression(hand: Hand, base_url: str) -> None:
    figure = opened(hand, base_url, "nadaraya-watson", WEEK)
    drawing = in_sight(figure, "svg")
    tick = drawing.locator("text.live-count", has_text=re.compile("^40$"))
    handle = middle(drawing.locator("circle.live-handle").nth(1))
    hand.drag(handle, (handle[0], middle(tick)[1]))
    pages = value(figure, "Pages on day 2")
    assert pages == pytest.approx(40, abs=2)
    assert value(figure, "Query") == 3, "only the nearest handle moves"
    expect_kernel_regression(figure, pages=[10, pages, 60])


def expect_kernel_regression(figure: Locator, pages: list[float]) -> None:
    """The table holds the Gaussian kernel's weights and the answer, from the sliders' values."""
    query, width = value(figure, "Query"), value(figure, "Bandwidth h")
    weights = softmax([-(((query - day) / width) ** 2) / 2 for day in (1, 2, 4)])
    rows = figure.locator("tbody tr").all()
    assert [numbers(row)[2] for row in rows[:3]] == pytest.approx(weights, abs=0.0006)
    answer = sum(w * v for w, v in zip(weights, pages, strict=True))
    assert numbers(rows[3])[-1] == pytest.approx(answer, abs=0.0006)


def test_the_query_of_the_scores(hand: Hand, base_url: str) -> None:
    figure = opened(hand, base_url, "scoring", SCORES)
    drawing = in_sight(figure, "svg")
    hand.drag(middle(drawing.locator("circle.live-handle")), middle(key(drawing, "C")))
    expect(figure.get_by_role("radio", name="query q")).to_be_checked()
    far, angle = value(figure, "Its length"), value(figure, "Its direction")
    assert (far, angle) == (pytest.approx(1.2, abs=0.051), pytest.approx(115, abs=2))
    expect_scores(figure, vector(far, angle), KEYS)


def test_a_key_of_the_scores(hand: Hand, base_url: str) -> None:
    figure = opened(hand, base_url, "scoring", SCORES)
    drawing = in_sight(figure, "svg")
    a, d = middle(key(drawing, "A")), middle(key(drawing, "D"))
    box = drawing.locator("path.live-axis").bounding_box()
    assert box
    origin = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    across = tuple(2 * o - end for o, end in zip(origin, d, strict=True))
    hand.drag(a, across)
    expect(figure.get_by_role("radio", name="key A")).to_be_checked()
    far, angle = value(figure, "Its length"), value(figure, "Its direction")
    assert (far, angle) == (pytest.approx(2.4, abs=0.051), pytest.approx(-65, abs=2))
    expect_scores(figure, vector(2, 45), [vector(far, angle), *KEYS[1:]])


def vector(far: float, degrees: float) -> Point:
    return far * math.cos(math.radians(degrees)), far * math.sin(math.radians(degrees))


WEEK, SCORES = "live-nadaraya-watson-week-live", "live-scoring-scores-live"
KEYS = [vector(1, 60), vector(2.8, 5), vector(1.2, 115), vector(2.4, 115)]


def key(drawing: Locator, name: str) -> Locator:
    """The letter of a key, which stands in the middle of its circle."""
    return drawing.locator("text", has_text=re.compile(f"^{name}$")).first


def expect_scores(figure: Locator, query: Point, keys: list[Point]) -> None:
    """The table holds the dot products, and their softmax."""
    products = [query[0] * x + query[1] * y for x, y in keys]
    rows = [numbers(row) for row in figure.locator("tbody tr").all()]
    assert [row[2] for row in rows] == pytest.approx(products, abs=0.0006)
    assert [row[3] for row in rows] == pytest.approx(softmax(products), abs=0.0006)


def test_a_finger_beside_the_handles_scrolls_the_page(
    browser: Browser, watch: Any, base_url: str
) -> None:
    context = browser.new_context(viewport=SIZES["finger"], has_touch=True)
    hand = Hand("finger", watch(context.new_page()))
    figure = opened(hand, base_url, "scoring", SCORES)
    drawing = in_sight(figure, "svg")
    before = figure.locator("table").inner_text(), hand.page.evaluate("scrollY")
    box = drawing.bounding_box()
    assert box
    x, y = box["x"] + 20, box["y"] + box["height"] / 2
    hand.drag((x, y - 60), (x, y - 200))
    assert figure.locator("table").inner_text() == before[0]
    assert hand.page.evaluate("scrollY") > before[1]
    context.close()
