"""The package `lesson` can be imported, and a test can have a tiny book of its own."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in (HERE, ROOT / "tests" / "book", ROOT / "book" / "_ext", ROOT / "scripts"):
    sys.path.append(str(folder))

from tiny import TinyBook, make_book  # noqa: E402


@pytest.fixture
def tiny_book(tmp_path: Path) -> Callable[..., TinyBook]:
    """Return a maker: ``tiny_book(["lesson"], intro="# Title ...", other=...)``."""
    return partial(make_book, tmp_path)
