"""Source that a chapter shows loses its docstrings, which the reference has, and fits the column.

A docstring of thirty lines above ten lines of code hides on a phone what the chapter wants to
show, and a long line must be pushed aside to be read. The code itself stays what it is: ruff only
breaks its lines elsewhere.
"""

import ast
import functools
import subprocess
import sys
import textwrap
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def without_docstrings(code: str) -> str:
    """Return ``code`` without the docstrings of its classes and functions.

    Code that is not a whole statement, and so can't be parsed, is returned as it is. A body that
    holds nothing but its docstring keeps it.
    """
    try:
        tree = ast.parse(textwrap.dedent(code))
    except SyntaxError:
        return code
    lines = code.splitlines()
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and len(node.body) > 1 and ast.get_docstring(node):
            first, last = node.body[0].lineno, node.body[0].end_lineno or 0
            if last < len(lines) and not lines[last].strip():
                last += 1  # the blank line that set the docstring off
            lines[first - 1 : last] = [DROPPED] * (last - first + 1)
    return "\n".join(line for line in lines if line is not DROPPED)


DROPPED = "\0"

#: So many characters of the code's font fit the column of a window of 1280 pixels, and a box in it.
COLUMN, BOX = 77, 72
#: What code stands in without being indented by it.
FLUSH = (nodes.document, nodes.section, nodes.container)


@functools.cache
def fitted(code: str, width: int = COLUMN) -> str:
    """Return ``code`` without its outer indentation, its lines broken to fit the width.

    Code that is not a whole statement is returned as it is. A long string or comment stays long.
    """
    code = textwrap.dedent(code)
    if max(map(len, code.splitlines()), default=0) <= width:
        return code
    command = ["ruff", "format", "--isolated", "--quiet", f"--line-length={width}", "-"]
    done = subprocess.run(
        [sys.executable, "-m", *command], input=code, capture_output=True, text=True, check=False
    )
    return done.stdout.rstrip("\n") if done.returncode == 0 else code


def shorten(app: Sphinx, doctree: nodes.document) -> None:
    """Shorten and fit every block that a ``literalinclude`` with ``:pyobject:`` made."""
    for shown in doctree.findall(
        lambda node: isinstance(node, nodes.Element) and "shows_source" in node
    ):
        for block in shown.findall(nodes.literal_block):
            code = fitted(without_docstrings(block.astext()), width_at(block))
            block.rawsource = code
            block[:] = [nodes.Text(code)]


def width_at(block: nodes.Node) -> int:
    """Return how many characters fit where a block stands."""
    above = block.parent
    while isinstance(above, FLUSH):
        if above.parent is None:
            return COLUMN
        above = above.parent
    return BOX


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("doctree-read", shorten)
    return {"version": "1.0", "parallel_read_safe": True, "parallel_write_safe": True}
