"""A tiny Sphinx project with the extension `bilingual`: no Jupyter Book, no theme but Sphinx's."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EXTENSIONS = Path(__file__).resolve().parents[2] / "book" / "_ext"

CONF = """
project = "Tiny"
html_title = "小书 · Tiny book"
author = "Nobody"
extensions = ["myst_parser", "bilingual"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
numfig = True
bilingual_words = {"Page source": "本页的源文件"}
html_theme = "alabaster"
html_sidebars = {"**": ["language-toggle.html", "navigation.html", "searchbox.html"]}
"""


@dataclass
class Project:
    """A folder with a conf.py and a few pages, built by Sphinx's own command."""

    folder: Path

    @property
    def html(self) -> Path:
        return self.folder / "_build"

    def write(self, **pages: str) -> None:
        for name, text in pages.items():
            suffix = "rst" if text.startswith("..") else "md"
            (self.folder / f"{name}.{suffix}").write_text(text, encoding="utf8")

    def page(self, name: str) -> str:
        return (self.html / f"{name}.html").read_text(encoding="utf8")

    def build(self, *options: str, fails: bool = False) -> str:
        """Run `sphinx-build` with warnings as errors; return what it printed."""
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", *options]
        done = subprocess.run(
            [*command, str(self.folder), str(self.html)],
            env={**os.environ, "PYTHONPATH": str(EXTENSIONS)},
            capture_output=True,
            text=True,
            check=False,
        )
        log = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, log
        return log


def make_project(folder: Path, **pages: str) -> Project:
    """Write a project with these pages; a page that begins with ".." is reStructuredText."""
    project = Project(folder)
    (folder / "conf.py").write_text(CONF, encoding="utf8")
    project.write(**pages)
    return project
