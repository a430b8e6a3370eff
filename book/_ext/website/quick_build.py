"""The same pages are built sooner: written on every core, and what Sphinx repeats is done once.

- For each `{numref}` Sphinx unpickles the whole page that the figure stands on.
- For each citation pybtex searches all installed packages for its plugin.
- A page is some ten thousand small objects that stay: Python's search for reference cycles among
  them finds nothing, and takes a third of the time; one more, at the very end, takes ten seconds.
"""

import atexit
import gc
import os
from functools import cache
from typing import Any, cast

from docutils.nodes import Element
from pybtex.plugin import find_plugin, register_plugin
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

#: What citations are made with, as sphinxcontrib-bibtex asks for it.
PLUGINS = (
    ("pybtex.backends", "docutils"),
    ("pybtex.backends", "plaintext"),
    ("pybtex.style.formatting", "alpha"),
    ("pybtex.style.labels", "alpha"),
    ("pybtex.style.names", "last"),
    ("pybtex.style.names", "plain"),
    ("pybtex.style.sorting", "author_year_title"),
)


class ReadPages:
    """The environment, but each page is read from the disk once. Nobody may change such a page."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.env = env
        self.get_doctree = cache(env.get_doctree)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)


class QuickStandardDomain(StandardDomain):
    """Sphinx's own, which looks a number up and changes no page."""

    pages: ReadPages | None = None

    def resolve_xref(
        self, env: BuildEnvironment, page: str, builder: Builder, kind: str, *place: Any
    ) -> Element | None:
        if kind == "numref":
            self.pages = self.pages or ReadPages(env)
            env = cast(BuildEnvironment, self.pages)
        return super().resolve_xref(env, page, builder, kind, *place)


def write_side_by_side(app: Sphinx, env: BuildEnvironment) -> None:
    """Have the pages written on every core; Sphinx itself, which often waits, is one more.

    They have been read one after the other before: reading them side by side was tried and hung.
    """
    app.parallel = max(app.parallel, min(os.cpu_count() or 1, 4) + 1)


def setup(app: Sphinx) -> dict[str, Any]:
    gc.set_threshold(100_000, 20, 100)  # look for cycles a hundred times less often
    atexit.register(gc.freeze)  # and not at all in what goes with the process
    app.connect("env-check-consistency", write_side_by_side)
    for group, name in PLUGINS:
        register_plugin(group, name, find_plugin(group, name), force=True)
    app.add_domain(QuickStandardDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
