"""The package `lesson` can be imported; a test can have a tiny project or book of its own."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OTHERS = (ROOT / "tests" / "bilingual", ROOT / "tests" / "book")
for folder in (HERE, *OTHERS, ROOT / "book" / "_ext", ROOT / "scripts"):
    sys.path.append(str(folder))

from tiny import TinyBook, make_book  # noqa: E402
from tiny_lesson import make_project  # noqa: E402
from tiny_project import Project  # noqa: E402


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a Sphinx project without cells."""
    return make_project(tmp_path)


@pytest.fixture
def tiny_book(tmp_path: Path) -> Callable[..., TinyBook]:
    """Return a maker: ``tiny_book(["lesson"], intro="# Title ...", other=...)``."""
    return partial(make_book, tmp_path)
