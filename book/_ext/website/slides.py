"""A chapter links its slides where they have been made: `make slides` puts them into the site.

They are made of the built pages, so a build links what the one before has brought; whether a deck
is there is looked up for every chapter, and a chapter is written anew when one has come or gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evidence.published import site_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

#: In the site; a name with a line before it is no page of the book.
FOLDER = "_slides"
LIST = f"{FOLDER}/index.html"
LANGUAGES = ("zh", "en")


def decks_of(app: Sphinx, page: str) -> dict[str, str]:
    """Return the addresses of a page's decks in the site, by language."""
    names = {language: f"{FOLDER}/{page}-{language}.html" for language in LANGUAGES}
    return {key: name for key, name in names.items() if Path(site_of(app), name).is_file()}


def changed(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Write a page again whose decks have come or gone."""
    before: dict[str, list[str]] = getattr(env, "website_decks", {})
    now = {page: list(decks_of(app, page)) for page in env.found_docs}
    env.website_decks = now  # type: ignore[attr-defined]
    return [page for page, languages in now.items() if languages != before.get(page, [])]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", changed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
