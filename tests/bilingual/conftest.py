"""The package `bilingual` can be imported, and a test can have a tiny project of its own."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parents[1] / "book" / "_ext"):
    sys.path.append(str(folder))

from tiny_project import Project, make_project  # noqa: E402


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project without pages."""
    return make_project(tmp_path)
