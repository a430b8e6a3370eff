"""What can be taken along, and the slides, are linked if, and only if, they are in the site."""

from __future__ import annotations

from pathlib import Path

from lxml import html


def linked(site: Path, page: str) -> set[str]:
    tree = html.fromstring((site / page).read_text(encoding="utf8"))
    return {Path(href).name for href in tree.xpath("//p[@class='downloads']/a/@href")}


def test_the_front_page_links_what_is_there(site: Path) -> None:
    there = {path.name for path in (site / "downloads").glob("*")}
    cards = {name for name in there if name.endswith(".apkg")}
    slides = {"index.html"} & {path.name for path in (site / "_slides").glob("*")}
    assert linked(site, "intro.html") == there - cards | slides
    assert linked(site, "for-lecturers.html") == slides
    assert linked(site, "today.html") == cards


def test_each_chapter_links_its_slides(site: Path) -> None:
    decks = {path.name for path in (site / "_slides").glob("*-*.html")}
    for page in site.glob("*.html"):
        tree = html.fromstring(page.read_text(encoding="utf8"))
        hrefs = tree.xpath("//a[starts-with(@href, '_slides/')][not(ancestor::article)]/@href")
        own = {name for name in decks if name[:-8] == page.stem}
        assert {Path(href).name for href in hrefs} == own
