"""A build with a warning fails, names each cause once, and leaves the site as it was.

Sphinx writes into a folder beside the site. Where nothing is to mend, the site becomes what was
written; else every warning (a failing cell, an unknown reference, a formula that KaTeX cannot
parse) makes the exit status 1, also where `-W` was forgotten, its page is read again next time, and
the end of the build lists the causes: where, what, and the names that may have been meant.

What only follows from a cell that failed, such as its missing numbers and figures, is not told.
"""

from __future__ import annotations

import logging as python_logging
import re
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from docutils.nodes import Node
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.console import red

from evidence.fresh_pages import forget_saved_pages
from evidence.nearest import line_of_name, with_nearest
from evidence.published import publish

logger = logging.getLogger(__name__)

LINE_NUMBER = re.compile(r":(\d+|None)?$")
#: An autodoc warning's place: "file.py:docstring of attention_book.foundations.shapes:3".
IN_DOCSTRING = re.compile(r":docstring of .*$")
#: What Sphinx and its extensions print at each build, and nobody reads.
NOISE = re.compile(r"\S*myst(-nb)? v[\d.]+|Copying the source path ")


_FAILED: WeakKeyDictionary[Sphinx, set[str]] = WeakKeyDictionary()


def failed_pages(app: Sphinx) -> set[str]:
    """Return the pages of this build with a failed cell, for whoever executes cells to add to."""
    return _FAILED.setdefault(app, set())


class Problem(NamedTuple):
    """One warning: on which page, and where it says that it comes from."""

    page: str | None  # None: not a page's own, such as a wrong setting
    place: str


class Collector(python_logging.Handler):
    """Listens to Sphinx's log and keeps the warnings that its settings do not suppress."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(python_logging.WARNING)
        self.app = app
        self.problems: dict[str, dict[Problem, None]] = {}  # by what they say, in their order

    def emit(self, record: python_logging.LogRecord) -> None:
        if getattr(record, "strict_build_has_seen", False):
            return  # Sphinx passes the records of the reading phase on a second time
        record.strict_build_has_seen = True
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        suppressed = self.app.config.suppress_warnings
        if kind and logging.is_suppressed_warning(kind, subtype, suppressed):
            return
        if self.is_consequence(record):
            return
        place, message = place_of(getattr(record, "location", None)), message_of(record)
        page = self.page_of(place)
        if page is not None and not LINE_NUMBER.search(place):
            line = line_of_name(message, Path(self.app.env.doc2path(page)))
            place += f":{line}" if place and line else ""
        self.problems.setdefault(message, {})[Problem(page, self.shorten(place))] = None

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

    def shorten(self, place: str) -> str:
        """Return the place relative to the repository, as an editor wants it."""
        return place.removeprefix(f"{Path(self.app.srcdir).parent}/")

    def is_consequence(self, record: python_logging.LogRecord) -> bool:
        """Tell whether a warning only follows from a failed cell: a number that is not there."""
        failed = failed_pages(self.app)
        kind, subtype = getattr(record, "type", None), getattr(record, "subtype", None)
        if not failed or not (kind == "ref" or (kind, subtype) == ("mystnb", "glue")):
            return False
        return self.page_of(place_of(getattr(record, "location", None))) in failed

    def finish(self, app: Sphinx, exception: Exception | None) -> None:
        """Stop listening; judge a build that came to its end."""
        python_logging.getLogger(logging.NAMESPACE).removeHandler(self)
        if exception is None and self.problems:
            self.reject()
        elif exception is None and app.builder.name == "html":
            publish(app)

    def reject(self) -> None:
        """Fail the build, list the causes, and have the pages read again until they are mended."""
        self.app.statuscode = 1
        logger.info(red(f"The book is not sound; {len(self.problems)} to mend:"))
        for message, found in self.problems.items():
            places = [each.place or each.page or "the book" for each in found]
            logger.info(red(f"  {places[0]}: {with_nearest(message, self.app.env)}"))
            if more := ", ".join(dict.fromkeys(places[1:])):
                logger.info(red(f"    also {more}"))
            for page, _ in found:
                if page is None:
                    forget_saved_pages(self.app)  # no page to mark: read them all again
                else:
                    Path(self.app.doctreedir, f"{page}.doctree").unlink(missing_ok=True)


class Told(python_logging.Filter):
    """Keeps silent what has been told: noise, a cause at its further places, consequences."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self.collector = collector
        self.told: set[str] = set()

    def filter(self, record: python_logging.LogRecord) -> bool:
        message = message_of(record)
        if record.levelno < python_logging.WARNING:
            return not NOISE.match(message)
        if message in self.told or self.collector.is_consequence(record):
            return False
        self.told.add(message)
        return True


def message_of(record: python_logging.LogRecord) -> str:
    """Return what a record says, without the place that Sphinx puts before it."""
    return python_logging.LogRecord.getMessage(record)


def place_of(location: object) -> str:
    """Return "file:line" (or "page:line") for each of the forms that Sphinx's log allows."""
    if isinstance(location, tuple):
        docname, line = location
        return f"{docname or ''}:{line or ''}".strip(":")
    if isinstance(location, Node):
        while location.line is None and location.parent is not None:
            location = location.parent  # the nearest around it that knows its line
        return (logging.get_node_location(location) or "").rstrip(":")
    return IN_DOCSTRING.sub("", str(location or ""))


def listen(app: Sphinx) -> Collector:
    """Begin to listen to Sphinx's log."""
    collector = Collector(app)
    log = python_logging.getLogger(logging.NAMESPACE)
    for handler in log.handlers:
        handler.addFilter(Told(collector))
    log.addHandler(collector)
    return collector


def setup(app: Sphinx) -> dict[str, bool]:
    for part in ("fresh_pages", "some_chapters", "contents", "published"):
        app.setup_extension(f"evidence.{part}")
    collector = listen(app)
    app.connect("build-finished", collector.finish, priority=999)  # after every extension's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
