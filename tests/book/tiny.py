"""A book of a few pages, built by the real command with the book's own extensions."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml
from warm import jupyter_book

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "book" / "_ext"

HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""


def cell(code: str, **options: str) -> str:
    """Return a code cell in MyST."""
    lines = "".join(f":{name}: {value}\n" for name, value in options.items())
    return f"```{{code-cell}} python3\n{lines}{code}\n```\n"


@dataclass
class TinyBook:
    """``repo/book`` with the pages of a test; ``repo/src`` holds a package of one module."""

    repo: Path

    @property
    def book(self) -> Path:
        return self.repo / "book"

    @property
    def html(self) -> Path:
        return self.book / "_build" / "html"

    @property
    def written(self) -> Path:
        """Where a build writes what becomes the site if it is sound."""
        return self.book / "_build" / ".site"

    def write(self, **pages: str) -> None:
        for name, text in pages.items():
            self.book.joinpath(f"{name}.md").write_text(text, encoding="utf8")

    def page(self, name: str) -> str:
        return self.html.joinpath(f"{name}.html").read_text(encoding="utf8")

    def copy(self, folder: Path) -> "TinyBook":
        """Return the book as it is, in another folder: what it has executed, it has there."""
        shutil.copytree(self.repo, folder / "repo")
        return TinyBook(folder / "repo")

    def build(self, *, fails: bool = False, **environment: str) -> str:
        """Run `jupyter-book build book/`; return what it printed.

        How strict the build that runs these tests is does not count here.
        """
        ours = {name: value for name, value in os.environ.items() if name != "BOOK_STRICT"}
        status, log = jupyter_book(["build", "book/"], self.repo, {**ours, **environment})
        assert (status != 0) == fails, f"exit status {status}\n{log}"
        return log


def make_book(
    folder: Path, extensions: list[str], *, settings: dict[str, object] | None = None, **pages: str
) -> TinyBook:
    """Write ``folder/repo`` with a book of these pages that uses these extensions."""
    repo = folder / "repo"
    for folder in ("book/figures", "src/tiny"):
        (repo / folder).mkdir(parents=True)
    (repo / "src/tiny/__init__.py").write_text("ANSWER = 42\n", encoding="utf8")
    config = {
        "title": "Tiny",
        "author": "Nobody",
        "only_build_toc_files": True,
        "execute": {"execute_notebooks": "force", "timeout": 60},
        "parse": {
            "myst_enable_extensions": ["amsmath", "attrs_inline", "colon_fence", "dollarmath"]
        },
        "repository": {
            "url": "https://github.com/example/tiny",
            "path_to_book": "book",
            "branch": "main",
        },
        "sphinx": {
            "local_extensions": {name: str(EXTENSIONS) for name in extensions},
            "recursive_update": True,
            "config": {"language": "en", **(settings or {})},
        },
    }
    toc = {
        "format": "jb-book",
        "root": "intro",
        "chapters": [{"file": name} for name in pages if name != "intro"],
    }
    if not toc["chapters"]:
        del toc["chapters"]
    book = TinyBook(repo)
    (repo / "book/_config.yml").write_text(yaml.safe_dump(config), encoding="utf8")
    (repo / "book/_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf8")
    book.write(**pages)
    return book
