"""The site as a folder on somebody's disk: opened by double click, without a network."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SAMPLE = ("intro.html", "masks.html", "transformer.html", "glossary.html", "api/attention.html")
ALLOWED = {"offline": True, "permissions": ["clipboard-read", "clipboard-write"]}


@pytest.fixture
def offline(browser: Any, watch: Any) -> Iterator[Any]:
    """A watched page of a browser that reaches no network."""
    context = browser.new_context(**ALLOWED)
    yield watch(context.new_page())
    context.close()


@pytest.fixture
def first_visit(browser: Any, watch: Any) -> Iterator[Any]:
    """The same for who comes for the first time: nothing is stored but what the reader chooses.

    Of what two pages opened from a folder store at once, Chromium can lose one.
    """
    context = type(browser).new_context(browser, **ALLOWED)
    yield watch(context.new_page())
    context.close()


@pytest.mark.parametrize("name", SAMPLE)
def test_a_page_opens(offline: Any, site: Path, name: str) -> None:
    offline.goto(f"{(site / name).as_uri()}?lang=zh")
    expect(offline.locator("article h1 .bl-zh").first).to_be_visible()
    fonts = offline.evaluate("document.fonts.ready.then(fonts => fonts.size)")
    assert fonts > 0  # the stylesheet and its fonts were read
    offline.locator("[data-set-language=en]").click()
    expect(offline.locator("article h1 .bl-zh").first).to_be_hidden()
    expect(offline.locator("article h1 .bl-en").first).to_be_visible()


def test_the_front_page_leads_into_the_book(first_visit: Any, site: Path) -> None:
    first_visit.goto((site / "index.html").as_uri())
    first_visit.locator("[data-set-language=en]").click()
    first_visit.locator("article a[href^='masks.html']:visible").first.click()
    first_visit.wait_for_url("**/masks.html*")
    expect(first_visit.locator("article h1 .bl-en")).to_be_visible()  # the choice is kept
    expect(first_visit.locator("article h1 .bl-zh")).to_be_hidden()


def test_color_mode(offline: Any, site: Path, choose_color_mode: Any) -> None:
    offline.emulate_media(color_scheme="light")
    offline.goto((site / "masks.html").as_uri())
    light = offline.evaluate("getComputedStyle(document.body).backgroundColor")
    choose_color_mode(offline, "dark")
    assert offline.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_search(offline: Any, site: Path) -> None:
    offline.goto(f"{(site / 'search.html').as_uri()}?q=padding&lang=en")
    results = offline.locator("#search-results li a")
    expect(results.first).to_be_visible()
    before = results.first.get_attribute("href")
    offline.locator("#book-search").fill("多头注意力")
    expect(results.first).not_to_have_attribute("href", before)
    results.first.click()
    expect(offline.locator("article h1")).to_be_visible()


def test_search_from_a_page(offline: Any, site: Path) -> None:
    offline.goto(f"{(site / 'masks.html').as_uri()}?lang=zh")
    offline.keyboard.press("Control+k")
    offline.locator("#pst-search-dialog input").fill("掩码")
    offline.keyboard.press("Enter")
    offline.wait_for_url("**/search.html?q=*")
    expect(offline.locator("#search-results li a").first).to_be_visible()


def test_solutions_stages_and_copying(offline: Any, site: Path) -> None:
    offline.goto(f"{(site / 'masks.html').as_uri()}?lang=en")
    fold = offline.locator(".solution.dropdown .fold-button").first
    fold.click()
    assert fold.get_attribute("aria-expanded") == "true"
    offline.locator("article .copy-button").first.evaluate("button => button.click()")
    expect(offline.locator("article .copy-button path[d^='M5 12']").first).to_be_attached()
    with_stages = next(
        page for page in sorted(site.glob("*.html")) if 'class="stages-panel"' in page.read_text()
    )
    offline.goto(f"{with_stages.as_uri()}?lang=en")
    figure = offline.locator("figure.stages").first
    figure.locator("button[data-step='1']").click()
    expect(figure.locator(".stages-now")).to_have_text("1")


def wait_until_another_page_knows(page: Any, file: Path, language: str) -> None:
    """The browser hands the choice of a language on to other pages with a delay."""
    other = page.context.new_page()
    for _ in range(100):
        other.goto(file.as_uri())
        if other.locator("html").get_attribute("data-language") == language:
            break
        other.wait_for_timeout(100)
    other.close()


def test_the_packed_book(first_visit: Any, site: Path, root: Path, tmp_path: Path) -> None:
    """`make zip`: unpacked anywhere, also below a folder with blanks and Chinese in its name."""
    archive = tmp_path / "book.zip"
    script = [sys.executable, str(root / "scripts" / "pack_site.py")]
    subprocess.run([*script, "--site", str(site), "--to", str(archive)], check=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "我的 书")
    (index,) = (tmp_path / "我的 书").glob("*/index.html")
    first_visit.goto(index.as_uri())
    expect(first_visit.locator("article h1")).to_be_visible()
    first_visit.goto(f"{(index.parent / 'search.html').as_uri()}?q=掩码&lang=zh")
    expect(first_visit.locator("#search-results li a").first).to_be_visible()
    wait_until_another_page_knows(first_visit, index.parent / "intro.html", language="zh")
    first_visit.locator("#search-results li a").first.click()
    expect(first_visit.locator("article h1 .bl-zh")).to_be_visible()
