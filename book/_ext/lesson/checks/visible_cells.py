"""A cell that a reader sees shows what a reader would type, in lines that fit the column.

What gives numbers to the prose or proves its claims belongs into a cell with the tag `evidence`.
An assertion that is the point of the text stays in view, with the tag `shown-assertion`.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from evidence.code_cells import Cell, code_cells
from sphinx.application import Sphinx

from lesson.checks.problems import PROBLEMS, Problem, is_chapter

#: Cells with one of these tags show no code until a reader asks for it.
FOLDED = ("setup", "evidence", "hide-input", "hide-cell", "remove-input", "remove-cell")
SHOWN_ASSERTION = "shown-assertion"
CLAIM = re.compile(r"#\s*claim\b")

#: So many characters of the code's font fit into the column of a window of 1280 pixels, and into
#: a box (a solution, a note) inside it; measured in chromium: 77.7 and 72.5.
COLUMN, BOX = 77, 72
#: What code stands in without being indented by it.
FLUSH = (nodes.document, nodes.section, nodes.container)


def is_visible(cell: Cell) -> bool:
    return not set(FOLDED) & set(cell.tags)


def evidence_in_sight(path: Path) -> Iterator[Problem]:
    """Yield what stands in the visible cells of a page and belongs into a cell of evidence."""
    for cell in filter(is_visible, code_cells(path.read_text(encoding="utf8"), str(path))):
        for line, thing in sorted(set(evidence_in(cell))):
            if thing == "an assertion" and SHOWN_ASSERTION in cell.tags:
                continue
            advice = "move it into a cell with the tag evidence"
            if thing == "an assertion":
                advice += (
                    f"; if it is the point of the text, give its cell the tag {SHOWN_ASSERTION}"
                )
            yield Problem(cell.first + line - 1, f"{thing} in a cell that readers see: {advice}")


def evidence_in(cell: Cell) -> Iterator[tuple[int, str]]:
    """Yield the lines of a cell, counted from 1, with what each has of evidence."""
    for number, line in enumerate(cell.code.split("\n"), start=1):
        if CLAIM.search(line):
            yield number, "a comment `# claim`"
    try:
        tree = ast.parse(cell.code)
    except SyntaxError:
        return  # such as a magic of IPython's: no cell of evidence has any
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.lineno, "an assertion"
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("glue", "measure"):
                yield node.lineno, f"a call of `{name}`"
            elif name.startswith("assert_"):
                yield node.lineno, "an assertion"


def width(line: str) -> int:
    """Return how many columns a line of code takes; a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def wide_lines(doctree: nodes.document, path: Path) -> Iterator[Problem]:
    """Yield the lines of code that don't fit: of cells, of blocks, of source that is shown."""
    source = path.read_text(encoding="utf8").split("\n")
    for block in doctree.findall(nodes.literal_block):
        above = list(ancestors(block))
        if any(is_out_of_sight(node) for node in above):
            continue
        limit = COLUMN if all(isinstance(node, FLUSH) for node in above) else BOX
        file = other_file(block, path)
        where = f" in {file}, shown here" if file else ""
        for line in block.astext().split("\n"):
            if width(line) > limit:
                told = f"a line of {width(line)} characters, of which {limit} fit: break it{where}"
                yield Problem(place(source, line, file), f"{told}: {line.strip()}")


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


def is_out_of_sight(node: nodes.Element) -> bool:
    """Whether a part of a page is output, folded code, or the reader's own file (its own tests)."""
    return (
        node.get("nb_element") == "cell_code_output"
        or bool(node.get("hide_mode"))
        or "own-file" in node.get("classes", ())
    )


def other_file(block: nodes.literal_block, page: Path) -> str:
    """Return the name of the file whose source a block shows; "" where it stands in the page."""
    file = block.get("source")
    return Path(file).name if file and Path(file) != page else ""


def place(source: list[str], line: str, file: str) -> int:
    """Return the line of the page's file that holds this code, or that shows it of a file."""
    for number, each in enumerate(source, start=1):
        if each.endswith(f"/{file}") if file else each.strip() == line.strip():
            return number
    return 1


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Note what a chapter shows and should not."""
    page = app.env.docname
    if is_chapter(app.env, page):
        path = Path(app.env.doc2path(page))
        problems = PROBLEMS.of(app.env)[page]
        problems += evidence_in_sight(path)
        problems += wide_lines(doctree, path)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("lesson.checks.problems")
    app.setup_extension("lesson.evidence_cells")
    # after evidence is folded, and docstrings are taken out of the source that is shown
    app.connect("doctree-read", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
