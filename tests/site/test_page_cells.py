"""Cells that can be changed and run in the page show there what they show in the book."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from offenders import no_offenders
from parsed import SITE, tree
from playwright.sync_api import expect


class Cell(NamedTuple):
    """A cell of a page: its code, what it shows, the call of ``check`` that its editor adds."""

    page: str
    place: str
    code: str
    shown: str
    check: str

    def __str__(self) -> str:
        return f"{self.page}#{self.place}"


def known() -> dict[str, Any]:
    """What the build tells the pages' Python of each page."""
    text = (SITE / "_static" / "page_python" / "pages.js").read_text(encoding="utf8")
    pages: dict[str, Any] = json.loads(text.removeprefix("pagePython.pages = ").rstrip(";\n"))
    return pages


@pytest.fixture(scope="module")
def cells(site: Path) -> list[Cell]:
    """Every cell with a button."""
    found = []
    for page, told in known().items():
        marked = tree(site / f"{page}.html").xpath("//div[contains(@class, 'py-cell')]")
        for cell, check in zip(marked, told["checks"], strict=True):
            (source,) = cell.xpath("./div[contains(@class, 'cell_input')]")
            outputs = cell.xpath("./div[contains(@class, 'cell_output')]//pre")
            code, *shown = (each.text_content().rstrip("\n") for each in (source, *outputs))
            place = str(source.get("id"))
            found.append(Cell(page, place, code.strip("\n"), "\n".join(shown), check))
    return found


def test_there_are_such_cells_and_few_are_left_out_by_hand(cells: list[Cell], root: Path) -> None:
    pages = (root / "book").glob("*.md")
    by_hand = sum(page.read_text(encoding="utf8").count("% notebook-only:") for page in pages)
    assert len(cells) > 60
    assert by_hand < 10


def test_each_shows_in_the_page_what_it_shows_in_the_book(cells: list[Cell], root: Path) -> None:
    pages = known()
    asked = json.dumps([[cell.code, pages[cell.page]] for cell in cells])
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "page_cells_run.py")],
        input=asked,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    results = dict(zip(cells, json.loads(told.stdout), strict=True))

    def check(cell: Cell) -> None:
        printed, value, error, missing = results[cell]
        assert not error, error
        assert not missing, missing
        shown = "\n".join(each.rstrip("\n") for each in (printed, value) if each)
        assert cell.check or words(shown) == words(cell.shown), f"{shown!r} in the page"

    no_offenders(check, cells)


def test_every_exercise_whose_mistake_stands_in_a_cell_can_be_mended(cells: list[Cell]) -> None:
    checks = {cell.check for cell in cells if cell.page == "find-the-bug"}
    boxes = tree(SITE / "find-the-bug.html").xpath("//div[@class='page-python']/@data-name")
    exercises = tree(SITE / "find-the-bug.html").xpath("//div[contains(@class, 'solution')]")
    asked = {text.split('"')[1] for each in exercises for text in checks_in(each)}
    assert asked == {text.split('"')[1] for text in checks if text} | set(boxes)


def checks_in(solution: Any) -> list[str]:
    lines = "\n".join(each.text_content() for each in solution.xpath(".//pre")).split("\n")
    return [line for line in lines if 'check("' in line]


@pytest.mark.browser
@pytest.mark.parametrize(("language", "scheme"), [("zh", "dark"), ("en", "light")])
def test_in_a_browser(
    browser: Any, watch: Any, base_url: str, root: Path, language: str, scheme: str
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    context = browser.new_context(**phone)
    page = watch(context.new_page())
    page.goto(f"{base_url}/masks.html?lang={language}")
    for number, cell in enumerate(page.locator(".py-cell").all()):
        # What lies far below is not laid out yet, and has no inner text.
        shown = "\n".join(each.text_content() for each in cell.locator(".cell_output pre").all())
        cell.locator(".py-change").click()
        cell.locator(".py-run").click()
        cell.locator(".py-stop").wait_for(state="hidden", timeout=120_000)
        expect(cell.locator(".py-status")).to_contain_text({"zh": "用时", "en": " s"}[language])
        parts = [each.inner_text() for each in cell.locator(".py-out, .py-result pre").all()]
        assert words("\n".join(parts)) == words(shown), number
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if axe.is_file():
        page.evaluate(axe.read_text(encoding="utf8"))
        found = page.evaluate(
            """axe.run({ include: [['.py-cell']] },
              { resultTypes: ['violations'], preload: false }).then(found => found.violations)"""
        )
        assert not [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
    context.close()


def words(text: str) -> list[str]:
    return text.split()
