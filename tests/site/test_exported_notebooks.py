"""What the exported notebooks say about the site is true of the built site."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from parsed import ids, tree
from website.addresses import read_addresses

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


@cache
def prose(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)
    return "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_links_to_the_site_lead_somewhere(site: Path, path: Path) -> None:
    address = re.escape(read_addresses(ROOT).site)
    links = re.findall(rf"{address}/([\w/-]+\.html)\?lang=(\w+)(?:#([^)\s]+))?", prose(path))
    assert links
    broken = []
    for page, language, anchor in set(links):
        assert language == path.parent.name
        if not (site / page).is_file():
            broken.append(page)
        elif anchor and anchor not in ids(site / page):
            broken.append(f"{page}#{anchor}")
    assert not broken, broken


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_numbers_are_those_of_the_site(site: Path, path: Path) -> None:
    page = tree(site / f"{path.stem}.html")
    language = path.parent.name
    tags = re.findall(r"\\tag\{([\d.]+)\}", prose(path))
    shown = ["".join(e.itertext()) for e in page.xpath('//span[@class="eqno"]')]
    assert tags == [re.search(r"[\d.]+", text)[0] for text in shown]
    for word, where in (
        ({"zh": "图", "en": "Fig."}, "//figcaption"),
        ({"zh": "练习", "en": "Exercise"}, '//p[contains(@class,"admonition-title")]'),
    ):
        numbers = re.findall(rf"^\*\*{re.escape(word[language])} ([\d.]+)", prose(path), re.M)
        captions = page.xpath(f'{where}//span[@class="caption-number"]')
        on_site = [re.search(r"[\d.]+(?=\s*$)", "".join(c.itertext()).strip()) for c in captions]
        assert numbers == [found[0] for found in on_site if found]
