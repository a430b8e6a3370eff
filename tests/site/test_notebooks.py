"""The notebooks of the built site: plain, in one language, with the page's cells and numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

import nbformat
from evidence.code_cells import code_cells
from parsed import CODE, RESIDUE, ids, tree
from website.addresses import read_addresses
from website.notebooks import OWN_MAGIC

ROOT = Path(__file__).resolve().parents[2]
#: How cells begin that the build does not run: the reader answers in them, or writes.
ADDED = ("answer(", "%reload_ext ", "%%own_file ")


def notebooks(site: Path) -> Iterator[tuple[str, str, nbformat.NotebookNode]]:
    """Yield the language, the page and the notebook."""
    paths = sorted((site / "_notebooks").rglob("*.ipynb"))
    assert len(paths) > 60
    for path in paths:
        yield path.parent.name, path.stem, read(path)


@cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def prose(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def test_notebooks_hold_no_myst_and_no_outputs(site: Path) -> None:
    offenders = []
    for language, page, notebook in notebooks(site):
        nbformat.validate(notebook)
        if any(c.get("outputs") for c in notebook.cells):
            offenders.append(f"{language}/{page}: outputs")
        if "%pip install" not in notebook.cells[0].source:
            offenders.append(f"{language}/{page}: installs nothing")
        if found := RESIDUE.search(CODE.sub("", prose(notebook))):
            offenders.append(f"{language}/{page}: {found[0]!r}")
        if language == "en" and re.search(r"## [^\n]*[\u4e00-\u9fff]", prose(notebook)):
            offenders.append(f"{language}/{page}: a Chinese heading")
    assert not offenders


def test_both_languages_run_the_chapters_own_cells(site: Path) -> None:
    """What the build runs is what the notebooks hold, so that they need not be run again."""
    offenders = []
    for language, page, notebook in notebooks(site):
        cells = [
            c.source
            for c in notebook.cells[1:]
            if c.cell_type == "code" and c.id != "questions" and not c.source.startswith(ADDED)
        ]
        cells = [re.sub(r"^# @title (证据|Evidence|准备|Set-up)\n", "", source) for source in cells]
        path = ROOT / "book" / f"{page}.md"
        own = [c.code.strip("\n") for c in code_cells(path.read_text(encoding="utf8"), str(path))]
        if "".join(own).count("notebook.setup()") != 1:
            offenders.append(f"{page}: notebook.setup() must stand once")
        for source, expected in zip_longest(cells, own, fillvalue=""):
            ast.parse(source)
            if source.replace(f'setup(language="{language}")', "setup()") != expected:
                offenders.append(f"{language}/{page}: {expected[:60]!r}")
    assert not offenders


def test_links_to_the_site_lead_somewhere(site: Path) -> None:
    address, broken = re.escape(read_addresses(ROOT).site), []
    for language, name, notebook in notebooks(site):
        links = re.findall(
            rf"{address}/([\w/-]+\.html)\?lang=(\w+)(?:#([^)\s]+))?", prose(notebook)
        )
        assert links
        for page, its_language, anchor in set(links):
            known = (site / page).is_file() and (not anchor or anchor in ids(site / page))
            if its_language != language or not known:
                broken.append(f"{language}/{name}: {page}#{anchor}")
    assert not broken


def test_numbers_are_those_of_the_site(site: Path) -> None:
    offenders = []
    for language, page, notebook in notebooks(site):
        root, text = tree(site / f"{page}.html"), prose(notebook)
        tags = re.findall(r"\\tag\{([\d.]+)\}", text)
        shown = ["".join(e.itertext()) for e in root.xpath('//span[@class="eqno"]')]
        if tags != [re.search(r"[\d.]+", each)[0] for each in shown]:
            offenders.append(f"{language}/{page}: equations {tags}")
        for word, where in (
            ({"zh": "图", "en": "Fig."}, "//figcaption"),
            ({"zh": "练习", "en": "Exercise"}, '//p[contains(@class,"admonition-title")]'),
        ):
            numbers = re.findall(rf"^\*\*{re.escape(word[language])} ([\d.]+)", text, re.M)
            captions = root.xpath(f'{where}//span[@class="caption-number"]')
            on_site = [
                re.search(r"[\d.]+(?=\s*$)", "".join(c.itertext()).strip()) for c in captions
            ]
            if numbers != [found[0] for found in on_site if found]:
                offenders.append(f"{language}/{page}: {word[language]} {numbers}")
    assert not offenders


def test_every_step_of_the_readers_file_has_a_cell_to_write_it_in(site: Path) -> None:
    found = {"zh": [], "en": []}
    for language, page, notebook in notebooks(site):
        sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        for place, source in enumerate(sources):
            if step := re.match(r"%%own_file (\d+)\n# ", source):
                assert sources[place - 1] == OWN_MAGIC, page
                found[language].append(int(step[1]))
    assert sorted(found["zh"]) == sorted(found["en"]) == list(range(1, 17))
