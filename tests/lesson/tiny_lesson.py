"""A tiny Sphinx project with the extensions `lesson` and `website.figures`, which has {diagram}."""

from pathlib import Path

from tiny_project import CONF, Project

OURS = CONF.replace('"bilingual"]', '"bilingual", "website.figures", "sphinx_exercise", "lesson"]')
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 90">
<text class="always">0</text>
<text data-stage="1">1</text>
<text data-stage="2-3">2</text>
<text data-stage="4">4</text>
</svg>
"""


def make_project(folder: Path) -> Project:
    """Write a project without pages, with a drawing in four stages, ``four``."""
    (folder / "figures").mkdir()
    (folder / "figures" / "four.svg").write_text(DRAWING, encoding="utf8")
    (folder / "conf.py").write_text(OURS, encoding="utf8")
    return Project(folder)
