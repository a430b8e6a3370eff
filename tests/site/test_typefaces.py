"""A page loads at most 100 kB of its own type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FONT = re.compile(r"_static/(fonts/song-[\w-]+\.woff2)")
MOST = 100_000


def test_the_fonts_of_a_page_are_small(site: Path, page_name: str) -> None:
    static = site / "_static"
    latin = sum(each.stat().st_size for each in (static / "fonts").glob("book-*.woff2"))
    headings = set(FONT.findall((site / page_name).read_text(encoding="utf8")))
    if not headings:
        pytest.skip("no heading of the page is Chinese")
    (own,) = headings
    assert latin + (static / own).stat().st_size <= MOST
