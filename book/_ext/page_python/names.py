"""What a page's Python is told of the page: the names that its cells import, and how they print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from evidence.code_cells import code_cells

from page_python.bundle import LEFT_OUT

#: What is imported, by the name that it has: a module, and what of it ("": the module itself).
Names = dict[str, tuple[str, str]]


def names_of(path: Path) -> Names:
    """Return the names that a page's cells import, of what a page has."""
    cells = code_cells(path.read_text(encoding="utf8"), str(path))
    found = (each for cell in cells for each in imports(parsed(cell.code)))
    return {name: origin for name, origin in found if in_page(origin[0])}


def print_options(path: Path) -> str:
    """Return how the page's first cell has tensors printed; "" if as PyTorch does."""
    cells = code_cells(path.read_text(encoding="utf8"), str(path))
    lines = (ast.unparse(node) for node in parsed(cells[0].code).body) if cells else ()
    return next((line for line in lines if line.startswith("torch.set_printoptions(")), "")


def imports(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name that some code imports, and where it is from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, (node.module or "", alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname or "." not in alias.name:
                    yield alias.asname or alias.name, (alias.name, "")


def in_page(module: str) -> bool:
    first, _, rest = module.partition(".")
    return first != "attention_book" or rest.partition(".")[0] not in LEFT_OUT


def parsed(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError:  # a magic of IPython, or what a cell has printed
        return ast.parse("")
