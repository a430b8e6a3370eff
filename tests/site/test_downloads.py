"""The front page leads to the PDFs and the archive if, and only if, they are in the site."""

from __future__ import annotations

from pathlib import Path

from lxml import html


def test_the_front_page_links_what_is_there(site: Path) -> None:
    page = html.fromstring((site / "intro.html").read_text(encoding="utf8"))
    linked = {Path(href).name for href in page.xpath("//p[@class='downloads']/a/@href")}
    assert linked == {path.name for path in (site / "downloads").glob("*")}
