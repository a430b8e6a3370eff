"""How a chapter is told: little code, all of it a reader's, questions, and one line to keep.

Its first cell is the set-up, folded; its other visible cells hold what a reader would type, and
neither an import nor a plot nor anything of the book's own machinery.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from evidence.code_cells import Cell, code_cells
from sphinx.application import Sphinx

from lesson.checks import counts
from lesson.checks.problems import PROBLEMS, Problem
from lesson.checks.source_lines import Line, source_lines
from lesson.checks.visible_cells import is_visible
from lesson.parts import EXERCISES, KEEP

#: The lines of visible code, outside exercises, at the most.
CODE_LINES = 80
#: The questions at the least; the exercises at the end at the most; those of them marked ``DO``.
QUESTIONS, AT_THE_END, TO_DO, DO = 4, 5, 2, "●"
#: The book's own helpers, which no reader types.
MACHINERY = ("L", "glue", "measure")
#: Whatever is imported of these draws; and what myst-nb knows a plot of.
PLOTS = re.compile(r"(attention_book\.plotting|matplotlib)\b")


def offences(text: str, path: str) -> Iterator[Problem]:
    """Yield where a chapter does not keep to the rules."""
    cells, lines = code_cells(text, path), list(source_lines(text))
    sections = [line for line in lines if counts.is_section(line)]
    yield from setup_first(cells)
    plots = set().union(*map(plots_in, cells))
    for cell in filter(is_visible, cells):
        for number, thing in sorted(set(machinery_in(cell, plots))):
            advice = "a reader would not type it: fold it with setup, evidence or hide-input"
            yield Problem(cell.first + number - 1, f"{thing} in a cell that readers see; {advice}")
    yield from too_long(lines, cells)
    folds = sum("evidence" in cell.tags for cell in cells)
    if folds > len(sections):
        yield Problem(1, f"{folds} folds of evidence for {len(sections)} sections: one each")
    questions = sum(line.opens and line.inside[-1] == "question" for line in lines)
    if questions < QUESTIONS:
        yield Problem(1, f"{questions} questions, fewer than {QUESTIONS}")
    yield from exercises_wrong(lines)
    if sum(counts.section(line).title == KEEP for line in sections) != 1:
        yield Problem(1, f"no section {KEEP!r}, {{zh}}`带走一句话` {{en}}`{KEEP}`")


def setup_first(cells: tuple[Cell, ...]) -> Iterator[Problem]:
    for number, cell in enumerate(cells):
        if ("setup" in cell.tags) != (number == 0):
            yield Problem(
                cell.line + 1, "the first cell, and no other, is the set-up: `:tags: [setup]`"
            )


def plots_in(cell: Cell) -> set[str]:
    """Return the names that a cell imports to draw with."""
    found = set()
    for node in nodes_of(cell):
        if isinstance(node, ast.ImportFrom) and PLOTS.match(node.module or ""):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name.partition(".")[0]
                for alias in node.names
                if PLOTS.match(alias.name)
            }
    return found


def machinery_in(cell: Cell, plots: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a cell, counted from 1, with what each has that no reader types."""
    for node in nodes_of(cell):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, "an import"
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in MACHINERY:
                yield node.lineno, f"a call of `{name}`"
            elif plots & {each.id for each in ast.walk(node.func) if isinstance(each, ast.Name)}:
                yield node.lineno, f"a plot, `{ast.unparse(node.func)}`"


def nodes_of(cell: Cell) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(cell.code))
    except SyntaxError:
        return  # such as a magic of IPython's


def too_long(lines: list[Line], cells: tuple[Cell, ...]) -> Iterator[Problem]:
    aside = {line.number for line in lines if {"exercise", "solution"} & set(line.inside)}
    shown = [cell for cell in cells if is_visible(cell) and cell.first not in aside]
    code = sum(bool(line.strip()) for cell in shown for line in cell.code.split("\n"))
    if code > CODE_LINES:
        yield Problem(1, f"{code} lines of visible code, more than {CODE_LINES}")


def exercises_wrong(lines: list[Line]) -> Iterator[Problem]:
    """The exercises at the end; one beside its formula is no such exercise."""
    title, found = "", []
    for line in lines:
        if counts.is_section(line):
            title = counts.section(line).title
        elif title == EXERCISES and counts.opens_exercise(line):
            found.append(line)
    if len(found) > AT_THE_END:
        yield Problem(
            found[AT_THE_END].number, f"{len(found)} exercises at the end, more than {AT_THE_END}"
        )
    marked = sum(DO in line.text for line in found)
    if marked != TO_DO:
        first = found[0].number if found else 1
        yield Problem(first, f"{marked} exercises are marked {DO}, those to do; expected {TO_DO}")


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Note what a chapter has and should not, or lacks."""
    page = app.env.docname
    if counts.is_counted(app, page):
        path = Path(app.env.doc2path(page))
        PROBLEMS.of(app.env)[page] += offences(path.read_text(encoding="utf8"), str(path))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("lesson.checks.problems")
    app.connect("doctree-read", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
