"""The table of contents names every page of the book, and no other: told before any page is read.

A file that is meant to be left out stands in the setting ``exclude_patterns``.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import SphinxError
from sphinx.project import Project

from evidence.nearest import nearest


class ContentsError(SphinxError):
    """The contents and the files differ."""

    category = "The table of contents"


def check(app: Sphinx, config: Config) -> None:
    """Stop a build whose contents name no file, or leave one out."""
    path = Path(app.srcdir, config.external_toc_path)
    config.external_toc_path = path.relative_to(app.srcdir).as_posix()  # wherever the book lies
    suffixes = "|".join(re.escape(suffix) for suffix in config.source_suffix)
    named = {re.sub(f"({suffixes})$", "", name) for name in config.external_site_map}
    hidden = [*config.exclude_patterns, *config.templates_path]
    found = Project(app.srcdir, config.source_suffix).discover(hidden)
    folder = Path(app.srcdir).name
    problems = [
        f"{folder}/{path.name}:{line_of(name, path)}: there is no {folder}/{name}.md"
        + nearest(name, found - named or found)
        for name in sorted(named - found)
    ]
    forgotten = set() if config.external_site_map.globs() else found - named
    problems += [
        f"{folder}/{name}.md is in no part of {folder}/{path.name}"
        for name in sorted(forgotten)
        if not nearest(name, named - found)  # else it is what a wrong name meant
    ]
    if problems:
        raise ContentsError("\n".join(problems))


def line_of(name: str, contents: Path) -> int:
    """Return the line of the contents that names a page."""
    names = re.compile(rf"\b(?:file|root):\s*[\"']?{re.escape(name)}(\.\w+)?[\"']?\s*(#|$)")
    lines = contents.read_text(encoding="utf8").splitlines()
    return next((n for n, line in enumerate(lines, start=1) if names.search(line)), 1)


def setup(app: Sphinx) -> dict[str, bool]:
    if "sphinx_external_toc" in app.extensions:
        app.connect("config-inited", check, priority=910)  # when the contents have been read
    return {"parallel_read_safe": True, "parallel_write_safe": True}
