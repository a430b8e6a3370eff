"""What the file calls things: never what a chapter's cells call something else."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attention_book import models, text
from attention_book.course.own_file import STEPS, file_at
from attention_book.course.own_file.loading import load
from attention_book.course.own_file.source import LAST

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "book" / "_ext"))
from evidence.code_cells import code_cells  # noqa: E402
from website.addresses import read_addresses  # noqa: E402
from website.notebook_questions import bringing  # noqa: E402
from website.notebooks import HIDING, install_cell  # noqa: E402

#: The same three numbers in file, package and chapters, under the names that the field has.
SAME_NUMBERS = {"PAD", "BOS", "EOS"}
#: What the file ends as. Chapters import the package's, which the last page compares with it.
THE_THING_ITSELF = {"Transformer"}
#: What opens a scope of its own: what is bound inside does not reach the notebook.
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that code binds where it stands, and what binds each."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child.name, child
        elif isinstance(child, ast.Import | ast.ImportFrom):
            for alias in child.names:
                yield (alias.asname or alias.name).partition(".")[0], child
        elif not isinstance(child, SCOPES):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id, child
            yield from bound(child)


def parsed(code: str) -> ast.Module:
    return ast.parse(re.sub(r"^( *)[%!].*", r"\1pass", code, flags=re.M))


def cells() -> Iterator[tuple[str, bool, ast.Module]]:
    """Yield the cells of all pages: the page, whether a reader sees it, and the code."""
    for path in sorted((ROOT / "book").glob("*.md")):
        for cell in code_cells(path.read_text(encoding="utf8"), str(path)):
            yield path.stem, not HIDING & set(cell.tags), parsed(cell.code)
    for release in ("", "1.0.0"):
        install = install_cell(replace(read_addresses(ROOT), release=release))
        yield "every notebook", False, parsed(install)
    yield "every notebook", False, parsed(bringing({}, ""))


DEFINED = {
    name
    for step in range(1, LAST + 1)
    for name, node in bound(ast.parse(file_at(step)))
    if not isinstance(node, ast.Import | ast.ImportFrom)
}


def test_no_cell_of_a_page_binds_a_name_of_the_file() -> None:
    """Who imports the file in a chapter's notebook loses none of its functions to a variable."""
    taken = DEFINED - SAME_NUMBERS - THE_THING_ITSELF
    assert len(taken) > 20
    clashes = {(page, name) for page, _, code in cells() for name, _ in bound(code)
               if name in taken}  # fmt: skip
    assert not clashes


@pytest.mark.parametrize("name", sorted(SAME_NUMBERS))
def test_numbers_of_special_words_are_those_of_the_package(name: str) -> None:
    assert getattr(load(file_at(LAST)), name) == getattr(text, name)


def test_a_transformer_in_a_chapter_is_the_packages() -> None:
    found = [
        node for _, _, code in cells() for name, node in bound(code) if name in THE_THING_ITSELF
    ]
    assert found
    assert all(isinstance(each, ast.ImportFrom) and each.module == models.__name__
               for each in found)  # fmt: skip


def test_the_file_calls_a_mask_as_the_chapters_do() -> None:
    """Or the task says what its chapter calls it."""
    file = {node.id for node in ast.walk(ast.parse(file_at(LAST))) if isinstance(node, ast.Name)}
    assert "mask" in file
    assert "see" not in file
    says_see = {
        page
        for page, is_seen, code in cells()
        for name, _ in bound(code)
        if is_seen and name == "see"
    }
    with_mask = [step for step in STEPS if any("mask" in each for each in step.names.values())]
    first = {step.chapter: step for step in reversed(with_mask)}
    assert says_see & first.keys()
    for chapter in says_see & first.keys():
        assert "`see`" in first[chapter].task.zh, chapter
        assert "`see`" in first[chapter].task.en, chapter
