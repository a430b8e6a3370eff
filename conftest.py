"""Checks shapes in all tests, and collects the `>>>` snippets of chapters and READMEs (Sybil)."""

import os
from collections.abc import Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path

from jaxtyping import install_import_hook
from sybil import Document, Region, Sybil
from sybil.parsers.myst import DocTestDirectiveParser, PythonCodeBlockParser, SkipParser

# tests/book covers the extensions, which run inside Sphinx; tests/page_torch the torch of pages.
# What the build wrote is not source.
collect_ignore = ["book/conf.py", "book/_ext", "book/_build", "book/page_torch"]
collect_ignore += ["benchmarks", "scripts", "audit"]

# Before anything imports the package: the tests check the data too (foundations.strict).
os.environ.setdefault("ATTENTION_BOOK_STRICT", "1")

# Every function checks the shapes and types that it declares, but the grammar's: there are no
# tensors in it, and it would draw its sentences fifteen times more slowly.
PACKAGE = Path(__file__).parent / "src" / "attention_book"
CHECKED = [
    f"attention_book.{path.relative_to(PACKAGE).with_suffix('').as_posix().replace('/', '.')}"
    for path in (*PACKAGE.glob("[a-z]*/"), *PACKAGE.glob("text/[a-z]*.py"))
    if path.name != "text"
]
install_import_hook(CHECKED, "beartype.beartype")

FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE


class Snippets(PythonCodeBlockParser):
    """The `>>>` snippets of plain blocks; a stub that readers fill in is no snippet."""

    def __call__(self, document: Document) -> Iterator[Region]:
        """Return those regions that show a prompt."""
        for region in super().__call__(document):
            if ">>>" in document.text[region.start : region.end]:
                yield region


pytest_collect_file = Sybil(
    parsers=[
        Snippets(doctest_optionflags=FLAGS),
        DocTestDirectiveParser(optionflags=FLAGS),
        SkipParser(),
    ],
    patterns=["book/*.md", "README*.md"],
).pytest()
