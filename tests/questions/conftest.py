"""The package `questions` can be imported, and the tiny books of other folders."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "tests" / "questions", ROOT / "tests" / "book", ROOT / "tests" / "lesson")
for folder in (*FOLDERS, ROOT / "book" / "_ext", ROOT / "scripts"):
    sys.path.append(str(folder))

from tiny import make_book  # noqa: E402
from written import GUESSED, PAGE  # noqa: E402


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """A book with a page of every kind of question, and one of predictions."""
    extensions = ["bilingual", "evidence", "questions", "website"]
    folder = tmp_path_factory.mktemp("questions")
    made = make_book(folder, extensions, intro="# T\n", a=PAGE, b=GUESSED)
    made.build()
    return made
