"""The list of claims: some for every numbered chapter, each with its evidence and its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from lxml import html
from parsed import tree

# A chapter has a claim a section at most, where two numbers or a law carry it.
AT_LEAST = 1
RAW = re.compile(r"\{glue|`|\bNone\b|\bnan\b|\binf\b|[a-z]+_[a-z_]+(?=[:：]\.)|Traceback")


@pytest.fixture(scope="module")
def claims_page(site: Path) -> html.HtmlElement:
    page = site / "claims.html"
    assert page.is_file(), "the book has no page of claims"
    return tree(page)


def numbered_chapters(root: Path) -> list[str]:
    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text(encoding="utf8"))
    parts = [part for part in toc["parts"] if part.get("numbered")]
    return [chapter["file"] for part in parts for chapter in part["chapters"]]


def test_every_numbered_chapter_has_claims(root: Path, claims_page: html.HtmlElement) -> None:
    counts = {
        section.get("id").removeprefix("claims-"): len(section.xpath("./div[@id]"))
        for section in claims_page.xpath("//article//section[starts-with(@id, 'claims-')]")
    }
    chapters = numbered_chapters(root)
    few = {chapter: counts.get(chapter, 0) for chapter in chapters}
    assert not {chapter: n for chapter, n in few.items() if n < AT_LEAST}
    order = [chapter for chapter in counts if chapter in chapters]
    assert order == chapters


def test_each_claim_is_complete(site: Path, claims_page: html.HtmlElement) -> None:
    """Both languages, values instead of labels, evidence and its kind, a place that exists."""
    entries = claims_page.xpath("//div[contains(@class, 'claim-entry')]")
    assert entries
    for entry in entries:
        slug = entry.get("id")
        words = {
            language: " ".join(
                e.text_content() for e in entry.xpath(f"./div/*[@lang='{language}']")
            )
            for language in ("zh-Hans", "en")
        }
        assert re.search("[\u4e00-\u9fff]", words["zh-Hans"]), slug
        assert re.search("[A-Za-z]{3}", words["en"]), slug
        for text in words.values():
            assert not RAW.search(text), (slug, text)
        (code,) = entry.xpath(".//pre")
        (facts,) = entry.xpath("./p[contains(@class, 'claim-facts')]")
        if "A law:" in facts.text_content():
            assert "assert" in code.text_content(), slug
        else:
            assert "notebook.measure(" in code.text_content(), slug
            assert re.search(r"A measurement: \S+ [<>≤≥] \S+", facts.text_content()), slug
        for link in entry.xpath(".//a[contains(@class, 'claim-place')]/@href"):
            page, _, anchor = link.partition("#")
            assert f'id="{anchor}"' in (site / page).read_text(encoding="utf8"), (slug, link)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_claims_fit_a_narrow_screen(page, base_url: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    for language in ("zh", "en", "both"):
        page.goto(f"{base_url}/claims.html?lang={language}")
        wide = page.evaluate(
            "[...document.querySelectorAll('.claim-entry *')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1"
            " && !e.closest('.katex, .claim-word')).map(e => e.outerHTML.slice(0, 80))"
        )
        assert wide == []
