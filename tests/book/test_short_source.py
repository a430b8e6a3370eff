"""Shown source loses its docstrings, fits the column, and does the same."""

import ast
from pathlib import Path

import pytest
from reference.short_source import COLUMN, fitted, without_docstrings
from tiny import ROOT

SOURCES = sorted((ROOT / "src/attention_book/attention").glob("*.py"))


def test_the_docstring_goes_and_the_code_stays() -> None:
    code = '''
def pool(queries):
    """Pool.

    >>> pool(1)
    """
    # A comment stays.
    text = """not a docstring"""
    return queries, text
'''.strip()
    assert without_docstrings(code) == (
        "def pool(queries):\n    # A comment stays.\n"
        '    text = """not a docstring"""\n    return queries, text'
    )


def test_an_indented_method_keeps_its_indentation() -> None:
    code = '    def f(self):\n        """Say."""\n        return 1'
    assert without_docstrings(code) == "    def f(self):\n        return 1"


def test_a_body_of_one_docstring_keeps_it() -> None:
    code = 'class Empty:\n    """Nothing else."""'
    assert without_docstrings(code) == code


def test_a_fragment_is_left_alone() -> None:
    assert without_docstrings("return x)") == "return x)"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_what_runs_is_the_same(path: Path) -> None:
    def stripped(tree: ast.Module) -> str:
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if (
                isinstance(node, ast.ClassDef | ast.FunctionDef)
                and len(body) > 1
                and ast.get_docstring(node)
            ):
                del body[0]
        return ast.dump(tree)

    text = path.read_text(encoding="utf-8")
    assert stripped(ast.parse(text)) == stripped(ast.parse(without_docstrings(text)))


def test_long_lines_are_broken_and_indentation_goes() -> None:
    head = "def f(self, queries, keys, values, mask=None, *, dropout=0.0, scale=None, rate=0):"
    code = f"    {head}\n        return 1"
    assert fitted(code).splitlines()[0] == "def f("
    assert max(map(len, fitted(code).splitlines())) <= COLUMN


def test_a_long_fragment_is_left_alone() -> None:
    code = f"return {'x' * 90})"
    assert fitted(code) == code


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_fitted_source_does_the_same(path: Path) -> None:
    code = without_docstrings(path.read_text(encoding="utf-8"))
    assert ast.dump(ast.parse(fitted(code))) == ast.dump(ast.parse(code))
    _, _, below_the_module_docstring = fitted(code).partition('"""\n\n')
    wide = [line for line in below_the_module_docstring.splitlines() if len(line) > COLUMN]
    assert all("#" in line or '"' in line for line in wide)
