"""What the audit measures where axe decides nothing (audit/contrast.js), by known ratios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

#: Gray on white and black: ratios that WCAG's own formula gives (#767676 is the lightest gray that
#: passes on white).
PAGE = """<!DOCTYPE html><style>body { background: white; color: #767676; font-size: 16px }</style>
<p id="passes">a</p>
<p id="fails" style="color: #777">a</p>
<p id="large" style="color: #949494; font-size: 24px">a</p>
<p id="bold" style="color: #949494; font-size: 19px; font-weight: 700">a</p>
<p id="faint" style="color: rgb(0 0 0 / 0.5)">a</p>
<div style="opacity: 0.5"><p id="opacity" style="color: black">a</p></div>
<div style="background: #000"><span><b id="inherited" style="color: #fff">a</b></span></div>
<p id="gradient" style="color: black; background: linear-gradient(white, rgb(128, 128, 128))">a</p>
<pre id="edge" style="color: black; overflow-x: auto; background:
  linear-gradient(black, black) left / 10px 100% no-repeat scroll, white">a</pre>
<p id="picture" style="background: url(data:image/png;base64,AA)">a</p>
<div style="position: relative; height: 2em"><p id="covered" style="margin: 0">a</p>
<i style="position: absolute; inset: 0; background: rgb(0 0 0 / 0.1)"></i></div>
<svg width="200" height="100" font-size="16">
<rect x="0" y="0" width="50" height="60" fill="#000"/>
<path d="M60 0H110V60H60Z" fill="#000" fill-opacity="0.5"/>
<circle cx="150" cy="30" r="30" fill="none" stroke="black"/>
<text id="on-rect" x="20" y="35" fill="#fff">a</text>
<text id="on-path" x="80" y="35" fill="#fff">a</text>
<text id="in-ring" x="147" y="35" fill="#fff">a</text>
<text id="behind" x="190" y="35" fill="#000">a</text>
<rect x="180" y="0" width="20" height="60" fill="#000"/>
<image x="0" y="70" width="40" height="30" href="data:image/png;base64,AA"/>
<text id="on-cells" x="15" y="90" fill="#fff">a</text>
</svg>"""
#: By an independent formula: (L1 + 0.05) / (L2 + 0.05) of these grays.
GRAY_50 = 0.2140  # the luminance of half black on white: ((0.5 + 0.055) / 1.055) ** 2.4
KNOWN = {
    "passes": (4.54, 4.5),
    "fails": (4.48, 4.5),
    "large": (3.03, 3),
    "bold": (3.03, 3),
    "faint": (1.05 / (GRAY_50 + 0.05), 4.5),
    "opacity": (1.05 / (GRAY_50 + 0.05), 4.5),
    "inherited": (21, 4.5),
    "gradient": ((0.2159 + 0.05) / 0.05, 4.5),  # at its darker end
    "edge": (21, 4.5),
    "on-rect": (21, 4.5),
    "on-path": (1.05 / (GRAY_50 + 0.05), 4.5),
    "in-ring": (1, 4.5),
    "behind": (21, 4.5),  # what is painted later is not its ground
}


@pytest.fixture(scope="module")
def measured(browser: Any, root: Path) -> Any:
    """A page with texts of known contrast, and what measures."""
    page = browser.new_page()
    page.set_content(PAGE)
    page.evaluate((root / "audit" / "contrast.js").read_text("utf8") + "\nvoid 0")
    yield lambda name, overlapped=False: page.evaluate(
        "([name, overlapped]) => measureContrast(document.getElementById(name), overlapped)",
        [name, overlapped],
    )
    page.close()


@pytest.mark.parametrize("name", KNOWN)
def test_contrast_is_that_of_the_formula(measured: Any, name: str) -> None:
    found = measured(name)
    assert found["ratio"] == pytest.approx(KNOWN[name][0], abs=0.01)
    assert found["needed"] == KNOWN[name][1]


def test_what_colors_do_not_tell_is_left_to_people(measured: Any) -> None:
    assert measured("picture") is None
    assert measured("on-cells") is None
    assert measured("covered", True) is None
    assert measured("passes", True)["ratio"] == measured("passes")["ratio"]
