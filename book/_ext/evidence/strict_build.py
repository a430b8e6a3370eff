"""A build with a warning fails, says what and where, and fails again until that is mended.

`jupyter-book build` returns 0 whatever Sphinx warns about, and with `-W` the second unchanged run
returns 0 because Sphinx does not read the pages again. Here every warning (a failing cell, an
unknown reference, a formula that KaTeX cannot parse) makes the build's exit status 1, is repeated
in a list at the end, and marks its page to be read again until it is mended.

What only follows from a cell that failed, such as its missing numbers and figures, is not told.
"""

from __future__ import annotations

import json
import logging as python_logging
import re
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from docutils.nodes import Node
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.console import red

from evidence.fresh_pages import forget_saved_pages

logger = logging.getLogger(__name__)

STATE = "unsound_pages.json"
LINE_NUMBER = re.compile(r":(\d+|None)?$")
#: An autodoc warning's place: "file.py:docstring of attention_book.foundations.shapes:3".
IN_DOCSTRING = re.compile(r":docstring of .*$")


_FAILED: WeakKeyDictionary[Sphinx, set[str]] = WeakKeyDictionary()


def failed_pages(app: Sphinx) -> set[str]:
    """Return the pages of this build with a failed cell, for whoever executes cells to add to."""
    return _FAILED.setdefault(app, set())


@dataclass(frozen=True)
class Problem:
    """One warning: on which page, where it says that it comes from, and what it says."""

    page: str | None  # None: not a page's own, such as a wrong setting
    place: str
    message: str

    def __str__(self) -> str:
        place = self.place or self.page or "the book"
        return (
            self.message
            if self.message.startswith(f"{self.page}: ")
            else f"{place}: {self.message}"
        )


class Consequences(python_logging.Filter):
    """Keeps silent what only follows from a failed cell: a number or a figure that is not there."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self.collector = collector

    def filter(self, record: python_logging.LogRecord) -> bool:
        app = self.collector.app
        failed = failed_pages(app)
        kind, subtype = getattr(record, "type", None), getattr(record, "subtype", None)
        if not failed or not (kind == "ref" or (kind, subtype) == ("mystnb", "glue")):
            return True
        page = self.collector.page_of(place_of(getattr(record, "location", None)))
        return page not in failed


class Collector(python_logging.Handler):
    """Listens to Sphinx's log and keeps the warnings that its settings do not suppress."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(python_logging.WARNING)
        self.app = app
        self.problems: dict[Problem, None] = {}  # in order, each once

    def emit(self, record: python_logging.LogRecord) -> None:
        if getattr(record, "strict_build_has_seen", False):
            return  # Sphinx passes the records of the reading phase on a second time
        record.strict_build_has_seen = True
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        suppressed = self.app.config.suppress_warnings
        if kind and logging.is_suppressed_warning(kind, subtype, suppressed):
            return
        place = place_of(getattr(record, "location", None))
        page = self.page_of(place)
        self.problems[Problem(page, self.shorten(place), record.getMessage())] = None

    def page_of(self, place: str) -> str | None:
        """Return the page that a place names, else the page that is being read or written."""
        env = getattr(self.app, "env", None)  # there is none while the extensions are loaded
        if env is None:
            return None
        file = LINE_NUMBER.sub("", place)
        if file in env.found_docs:
            return file
        docname = env.path2doc(file) if file else None
        if docname in env.found_docs:
            return docname
        current = env.temp_data.get("docname") or getattr(self.app.builder, "current_docname", "")
        return str(current) if current in env.found_docs else None

    def finish(self, app: Sphinx, exception: Exception | None) -> None:
        """Stop listening; judge a build that came to its end."""
        python_logging.getLogger(logging.NAMESPACE).removeHandler(self)
        if exception is None:
            judge(app, list(self.problems))

    def shorten(self, place: str) -> str:
        """Return the place relative to the repository, as an editor wants it."""
        return place.removeprefix(f"{Path(self.app.srcdir).parent}/")


def place_of(location: object) -> str:
    """Return "file:line" (or "page:line") for each of the forms that Sphinx's log allows."""
    if isinstance(location, tuple):
        docname, line = location
        return f"{docname or ''}:{line or ''}".strip(":")
    if isinstance(location, Node):
        return logging.get_node_location(location) or ""
    return IN_DOCSTRING.sub("", str(location or ""))


def listen(app: Sphinx) -> Collector:
    """Begin to listen to Sphinx's log."""
    collector = Collector(app)
    log = python_logging.getLogger(logging.NAMESPACE)
    log.addHandler(collector)
    for handler in log.handlers:
        handler.addFilter(Consequences(collector))
    return collector


def unsound_pages(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read the pages again that had a warning last time."""
    state = Path(app.doctreedir, STATE)
    pages: list[str] = json.loads(state.read_text(encoding="utf8")) if state.is_file() else []
    return pages


def judge(app: Sphinx, problems: list[Problem]) -> None:
    """Fail the build if there was any warning; list them all."""
    pages = sorted({problem.page for problem in problems if problem.page})
    Path(app.doctreedir, STATE).write_text(json.dumps(pages), encoding="utf8")
    if any(problem.page is None for problem in problems):
        forget_saved_pages(app)  # no page to mark: read them all again
    if problems:
        app.statuscode = 1
        logger.info(red(f"The book is not sound; {len(problems)} to mend:"))
        for problem in problems:
            logger.info(red(f"  {problem}"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("evidence.fresh_pages")
    collector = listen(app)
    app.connect("env-get-outdated", unsound_pages)
    app.connect("build-finished", collector.finish, priority=999)  # after every extension's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
