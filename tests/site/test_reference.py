"""The reference and the chapters lead to each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import html
from parsed import tree

PAGES = ("attention", "text", "translation", "inspection", "other")


def entries(page: Path) -> list[html.HtmlElement]:
    """The reference's own entries; a method belongs to its class."""
    return tree(page).xpath(
        "//dl[contains(@class, 'py')][dt[@id]][not(ancestor::dl[contains(@class, 'py')])]"
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_entry_leads_back_to_a_chapter(site: Path, name: str) -> None:
    found = entries(site / "api" / f"{name}.html")
    assert found
    lost = []
    for entry in found:
        links = entry.xpath(".//*[contains(@class, 'api-explained')]//a/@href")
        targets = [(site / "api" / link.split("#")[0]).resolve() for link in links]
        if not targets or not all(target.is_file() for target in targets):
            lost.append(entry.xpath("string(dt/@id)"))
    assert not lost, f"no chapter shows, names or calls {lost}"
