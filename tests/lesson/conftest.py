"""A test of `lesson` can have a tiny Sphinx project of its own."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "bilingual", HERE.parents[1] / "book" / "_ext"):
    sys.path.append(str(folder))

from tiny_lesson import make_project  # noqa: E402
from tiny_project import Project  # noqa: E402


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project of the test's own."""
    return make_project(tmp_path)
