"""Each page with cells as Markdown: one language, its numbers and its code; and the way to it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from parsed import CODE, RESIDUE, tree

MARKS = re.compile("[\ue000-\ue002]")
HEADING = re.compile(r"^(#+) (.+)$", re.M)
FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2$", re.S | re.M)


def texts(site: Path) -> dict[tuple[str, str], str]:
    """The Markdown of each page with notebooks, by page and language."""
    pages = {path.stem for path in (site / "_notebooks" / "en").glob("*.ipynb")}
    return {
        (page, language): (site / f"{page}.{language}.md").read_text(encoding="utf8")
        for page in sorted(pages)
        for language in ("zh", "en")
    }


def test_each_is_plain_markdown_in_one_language(site: Path) -> None:
    found = texts(site)
    assert len(found) > 60
    offenders = []
    for (page, language), text in found.items():
        prose = CODE.sub("", FENCED.sub("", text))
        if residue := MARKS.search(text) or RESIDUE.search(prose):
            offenders.append(f"{page}.{language}: {residue[0]!r}")
        if language == "en" and re.search(r"## [^\n]*[\u4e00-\u9fff]", prose):
            offenders.append(f"{page}.{language}: a Chinese heading")
        if text.count("\n$$\n") % 2 or "data:image" in text or "notebook.glue" in text:
            offenders.append(f"{page}.{language}: a formula, a drawing or evidence in pieces")
    assert not offenders


def test_its_sections_are_those_of_the_page(site: Path) -> None:
    for (page, language), text in texts(site).items():
        if language == "en":
            titles = tree(site / f"{page}.html").xpath("//article//section/*[self::h1 or self::h2]")
            told = [title for sign, title in HEADING.findall(FENCED.sub("", text)) if len(sign) < 3]
            assert len(told) == len(titles), page


def test_numbers_are_those_of_the_page(site: Path) -> None:
    """A sentence of the prose stands there with the value that the page shows."""
    page = html.fromstring((site / "masks.html").read_text(encoding="utf8"))
    shown = [
        each.text_content() for each in page.xpath("//div[contains(@class, 'bl-en')]//p//a[@class]")
        if "number" in each.get("class")
    ]  # fmt: skip
    text = (site / "masks.en.md").read_text(encoding="utf8")
    assert len(shown) > 3
    assert all(number in text for number in shown)
    assert not re.search(r"`masks_\w+`", text)  # the names by which a notebook calls them


def test_the_list_leads_to_each_of_them(site: Path) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf8")
    assert listed.startswith("# ")
    linked = {Path(each).name for each in re.findall(r"^- \[.+\]\((\S+)\)$", listed, re.M)}
    assert linked == {f"{page}.{language}.md" for page, language in texts(site)}
    assert linked == {path.name for path in site.glob("*.md")}


def test_the_script_holds_the_same(site: Path) -> None:
    for (page, language), text in texts(site).items():
        script = (site / f"{page}.{language}.md.js").read_text(encoding="utf8")
        call = re.fullmatch(r"attentionBookMarkdown\((.*)\);\n", script, re.S)
        assert call
        assert json.loads(call[1]) == text


@pytest.mark.browser
@pytest.mark.parametrize("from_a_folder", [False, True])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_copies_it(
    browser: Any, watch: Any, base_url: str, site: Path, language: str, from_a_folder: bool
) -> None:
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watch(context.new_page())
    address = site.as_uri() if from_a_folder else base_url
    page.goto(f"{address}/masks.html?lang={language}")
    page.locator(".dropdown-download-buttons > button").first.click()
    entry = page.locator("a[class*='btn-markdown-']:visible")
    assert entry.count() == 1
    entry.click()
    words = {"zh": "已复制", "en": "Copied"}[language]
    page.wait_for_function("words => document.body.innerText.includes(words)", arg=words)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == (site / f"masks.{language}.md").read_text(encoding="utf8")
    context.close()
