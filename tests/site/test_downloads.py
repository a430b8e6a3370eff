"""The PDFs, the archive and the cards are linked if, and only if, they are in the site."""

from __future__ import annotations

from pathlib import Path

from lxml import html


def linked(site: Path, page: str) -> set[str]:
    tree = html.fromstring((site / page).read_text(encoding="utf8"))
    return {Path(href).name for href in tree.xpath("//p[@class='downloads']/a/@href")}


def test_the_front_page_links_what_is_there(site: Path) -> None:
    there = {path.name for path in (site / "downloads").glob("*")}
    cards = {name for name in there if name.endswith(".apkg")}
    assert linked(site, "intro.html") == there - cards
    assert linked(site, "today.html") == cards
