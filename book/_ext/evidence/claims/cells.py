"""The evidence of a page's claims, as it is found in the page's cells.

A law is an assertion with a comment: ``assert loss < 0.1  # claim: training-converges``. The
comment stands on the assertion's own lines, after any other, or alone on the line before it where
the line would get too long. ``torch.testing.assert_close(…)`` and its like are assertions, too.

A measurement is a call that names its claim: ``notebook.measure("training-converges", loss,
below=0.1)``. A name that no claim bears is a measurement of its own.

Either inside a function, an ``if`` or a ``try`` proves nothing: the cell may run without it.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeGuard

from evidence.code_cells import code_cells

COMMENT = re.compile(r"#\s*claim:\s*(\S.*?)\s*$")
#: Blanks that line a cell's comments up; elsewhere there is nothing to line up with.
GAP = re.compile(r"(?<=\S) {3,}#")
#: Cells with these tags may fail, or never run.
NO_PROOF = ("raises-exception", "skip-execution")


class Evidence(NamedTuple):
    """An assertion or a measurement, with its line in the page."""

    line: int
    code: str
    kind: Literal["law", "measurement"]


Problem = tuple[int, str]


def evidence(text: str, path: str | None = None) -> tuple[dict[str, list[Evidence]], list[Problem]]:
    """Return a page's evidence by the slug of its claim, and what is wrong with other marks."""
    found: dict[str, list[Evidence]] = {}
    problems: list[Problem] = []
    for _, _, first, tags, code in code_cells(text, path):
        if "# claim:" not in code and "measure(" not in code:
            continue
        try:
            marked = [*marked_assertions(code), *measurements(code)]
        except (SyntaxError, tokenize.TokenError) as error:
            if "# claim:" in code:
                problems.append((first, f"a cell with '# claim:' is no plain Python: {error}"))
            continue
        for line, slug, statement, kind in marked:
            place = first + line - 1
            if statement is None and kind == "measurement":
                continue  # it may not run, or its name is not known before: evidence of no claim
            if statement is None:
                problems.append((place, f"'# claim: {slug}' belongs to an assertion"))
            elif tag := next((tag for tag in NO_PROOF if tag in tags), None):
                problems.append((place, f"the claim {slug} in a cell with the tag {tag}"))
            else:
                found.setdefault(slug, []).append(Evidence(place, shown(code, statement), kind))
    return found, problems


Marked = tuple[int, str, ast.stmt | None, Literal["law", "measurement"]]


def marked_assertions(code: str) -> Iterator[Marked]:
    """Yield each marked line: its number, the slug, the assertion it belongs to."""
    statements = [node for node in always_run(ast.parse(code).body) if is_assertion(node)]
    lines = code.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        comment = token.type == tokenize.COMMENT and COMMENT.search(token.string)
        if comment:
            line = token.start[0]
            alone = not lines[line - 1][: token.start[1]].strip()
            own = [s for s in statements if s.lineno <= line <= (s.end_lineno or s.lineno)]
            next_one = [s for s in statements if alone and s.lineno == line + 1]
            yield line, comment[1], next(iter(own + next_one), None), "law"


def measurements(code: str) -> Iterator[Marked]:
    """Yield each measurement: its line, its name, and the statement that takes it."""
    tree = ast.parse(code)
    sure = {id(node.value): node for node in always_run(tree.body) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if is_measurement(node):
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, name.value, sure.get(id(node)), "measurement"
            else:
                yield node.lineno, ast.unparse(name) if name else "", None, "measurement"


def is_measurement(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether this is a call of ``notebook.measure``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "measure"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "notebook"
    )


def always_run(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that a cell runs in any case, those in loops and ``with`` included."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.For | ast.With):
            yield from always_run(statement.body)


def is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)  # `assert True` says nothing
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    function = node.value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.startswith("assert_")


def shown(code: str, statement: ast.stmt) -> str:
    """Return an assertion's source without comments of claims and common indentation."""
    lines = code.split("\n")[statement.lineno - 1 : statement.end_lineno]
    lines = [GAP.sub("  #", COMMENT.sub("", line).rstrip()) for line in lines]
    return textwrap.dedent("\n".join(lines))
