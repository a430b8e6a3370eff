"""The code cells of a page's source, as MyST-NB reads them, which runs them: no second reader."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig


class Cell(NamedTuple):
    """A code cell: its place among all cells of its page, text included; the line of its fence, the
    line its code begins at, its tags, its code."""

    place: int
    line: int
    first: int
    tags: tuple[str, ...]
    code: str


#: What a page of the book is read with, as far as it matters for fences.
EXTENSIONS = {"colon_fence", "dollarmath"}


@lru_cache(maxsize=8)  # several checks look at the page that is being read
def code_cells(text: str, path: str | None = None) -> tuple[Cell, ...]:
    """Return the code cells of a page in their order, whatever their fences look like.

    ``path``: where the page stands, for cells whose code is in a file beside it (``load``).
    """
    config = MdParserConfig(enable_extensions=EXTENSIONS)
    notebook = read_myst_markdown_notebook(text, config, add_source_map=True, path=path)
    lines = text.split("\n")
    found = []
    places = zip(notebook.metadata["source_map"], notebook.cells, strict=True)
    for place, (line, cell) in enumerate(places):
        if cell.cell_type == "code":
            tags = cell.metadata.get("tags", [])
            tags = (tags,) if isinstance(tags, str) else tuple(tags)
            first = first_line(lines, line, cell.source)
            found.append(Cell(place, line, first, tags, cell.source))
    return tuple(found)


def first_line(lines: list[str], fence: int, code: str) -> int:
    """Return the line, counted from 1, at which a cell's code begins, after its options."""
    first = code.split("\n")[0]
    below = range(fence + 1, len(lines) + 1)
    return next((n for n in below if lines[n - 1].strip() == first.strip()), fence + 1)
