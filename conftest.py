"""Collects the `>>>` snippets of the chapters and of the READMEs (Sybil)."""

import os
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

from sybil import Sybil
from sybil.parsers.myst import DocTestDirectiveParser, PythonCodeBlockParser, SkipParser

# The extensions run inside Sphinx; tests/book covers them. What the build wrote is not source.
collect_ignore = ["book/_ext", "book/_build", "benchmarks", "scripts", "audit"]

# Before anything imports the package: the tests check the data too (foundations.strict).
os.environ.setdefault("ATTENTION_BOOK_STRICT", "1")

FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE

pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        DocTestDirectiveParser(optionflags=FLAGS),
        SkipParser(),
    ],
    patterns=["book/*.md", "README*.md"],
).pytest()
