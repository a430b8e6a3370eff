"""What Sphinx's environment knows of the book: its reading order, and what we remember in it.

Sphinx saves its environment from one build to the next. An extension that remembers something
there must forget it when a page goes or is read again, and bring it together when pages are read
side by side; `PerPage` does both.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment

T = TypeVar("T")

_BUILDERS: WeakKeyDictionary[BuildEnvironment, Builder] = WeakKeyDictionary()


def builder_of(env: BuildEnvironment) -> Builder:
    """Return what a running build writes with, for whoever is handed its environment alone."""
    return _BUILDERS[env]


def note_builder(app: Sphinx) -> None:
    _BUILDERS[app.env] = app.builder


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up what `builder_of` needs; an extension that calls it sets this up too."""
    app.connect("builder-inited", note_builder, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class PerPage(Generic[T]):
    """Something that is remembered for each page, under a name of its own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, env: BuildEnvironment) -> dict[str, T]:
        """Return what is remembered, by page; to remember more, set an item."""
        found: dict[str, T] = env.__dict__.setdefault(self.name, {})
        return found

    def connect(self, app: Sphinx) -> None:
        """Follow the pages of this application as they go and come."""
        app.connect("env-purge-doc", self.forget)
        app.connect("env-merge-info", self.merge)

    def forget(self, app: Sphinx, env: BuildEnvironment, page: str) -> None:
        """Forget a page that is gone or will be read again."""
        self.of(env).pop(page, None)

    def merge(
        self, app: Sphinx, env: BuildEnvironment, pages: set[str], other: BuildEnvironment
    ) -> None:
        """Take over what another process remembered of the pages that it has read."""
        theirs = self.of(other)
        self.of(env).update({page: theirs[page] for page in pages if page in theirs})


class PerBook(Generic[T]):
    """One value that is remembered from build to build, under a name of its own."""

    def __init__(self, name: str, at_first: T) -> None:
        self.name, self.at_first = name, at_first

    def of(self, env: BuildEnvironment) -> T:
        """Return the value; at first the one that was given with the name."""
        found: T = env.__dict__.get(self.name, self.at_first)
        return found

    def update(self, env: BuildEnvironment, value: T) -> bool:
        """Remember a value; return whether it is another one than before."""
        is_new = value != self.of(env)
        env.__dict__[self.name] = value
        return is_new


def reading_order(env: BuildEnvironment) -> list[str]:
    """Return every page: as the table of contents lists them, then those it does not."""
    order: dict[str, None] = {}

    def visit(page: str) -> None:
        if page not in order:
            order[page] = None
            for child in env.toctree_includes.get(page, []):
                visit(child)

    visit(env.config.root_doc)
    return [*order, *sorted(env.found_docs - order.keys())]
