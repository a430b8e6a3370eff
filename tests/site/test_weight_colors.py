"""A weight has one color: in a drawing, in a plot and in a live figure, in light and in dark."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from attention_book.plotting.ramp import weight_color

pytestmark = pytest.mark.browser

MODES = {"light": False, "dark": True}
#: What rounding, and the filter that a plot has in the dark, may change of 255.
NEAR = 3


def ramp(weight: float, mode: str) -> np.ndarray:
    return np.array(to_rgb(weight_color(weight, dark=MODES[mode])))


def off(color: Any, weight: float, mode: str) -> float:
    """How far a color is from the ramp's at this weight, of 255."""
    return float(255 * np.abs(np.asarray(color)[:3] - ramp(weight, mode)).max())


def off_the_ramp(color: Any, mode: str) -> float:
    """How far a color is from the nearest of the ramp."""
    return min(off(color, weight, mode) for weight in np.linspace(0, 1, 501))


def computed(text: str) -> list[float]:
    """Read a computed color: ``rgb(163, 36, 111)`` or ``color(srgb 0.5 0.2 0.4)``."""
    numbers = [float(each) for each in re.findall(r"[\d.]+", text)]
    return [each / 255 for each in numbers] if text.startswith("rgb") else numbers


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, page: Any) -> str:
    page.add_init_script(f"localStorage.mode = localStorage.theme = '{request.param}'")
    return str(request.param)


def test_a_drawing(page: Any, base_url: str, mode: str) -> None:
    page.goto(f"{base_url}/attention-cues.html?lang=en")
    discs = page.locator(".diagram-svg .dg-weight")
    colors = discs.evaluate_all("all => all.map(each => getComputedStyle(each).fill)")
    assert colors
    assert max(off_the_ramp(computed(each), mode) for each in colors) <= NEAR


def test_a_plot(page: Any, base_url: str, mode: str) -> None:
    page.goto(f"{base_url}/attention-cues.html?lang=en")
    plot = page.locator(".figure-svg:has(.weight-cells)").first
    plot.scroll_into_view_if_needed()
    cells = plot.locator(".weight-cells").first
    written = [
        float(text)
        for text in plot.locator("text").all_text_contents()
        if re.fullmatch(r"[01]\.\d\d", text.strip())
    ][: 2 * 5]
    plot.locator("text").evaluate_all("all => all.forEach(each => each.remove())")
    shot = imread(io.BytesIO(cells.screenshot()), format="png")
    height, width = shot.shape[0] / 2, shot.shape[1] / 5
    for place, weight in enumerate(written):
        row, column = divmod(place, 5)
        color = shot[int((row + 0.5) * height), int((column + 0.5) * width)]
        share = weight / max(written)
        assert (
            min(off(color, share + d, mode) for d in (-0.006, 0, 0.006) if 0 <= share + d <= 1)
            <= NEAR
        )


def test_a_live_figure(page: Any, base_url: str, mode: str) -> None:
    page.goto(f"{base_url}/looking-inside.html?lang=en")
    cells = page.locator(".live .live-heads-map .live-ink")
    cells.first.scroll_into_view_if_needed()
    colors = cells.evaluate_all("all => all.map(each => getComputedStyle(each).fill)")
    assert len(colors) > 3
    assert max(off_the_ramp(computed(each), mode) for each in colors) <= NEAR
    assert len(set(colors)) == len(colors), "a color for each strength"
