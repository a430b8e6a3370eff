"""The built site, served on this machine and driven with chromium.

`BOOK_HTML` names another build.  Every test that drives a page also asserts that the page
raised no error, wrote none to the console and asked no other host for anything.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("BOOK_HTML", ROOT / "book" / "_build" / "html"))
#: A live figure; translators have tests of their own.
LIVE = re.compile(r'<div id="([\w-]+)" data-live="(?!translator")')
LANGUAGES = ("zh", "en", "both")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
]  # fmt: skip

sys.path.insert(0, str(ROOT / "book" / "_ext"))  # as Jupyter Book does for local extensions


def page_names() -> list[str]:
    """Every page of the built site, as seen from its root."""
    if not SITE.is_dir():
        return []
    pages = (path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    return sorted(page for page in pages if not page.startswith(("_", "index.html")))


def live_figures() -> list[tuple[str, str]]:
    """Every live figure of the built site: its page and its id."""
    pages = ((page, (SITE / page).read_text(encoding="utf8")) for page in page_names())
    return [(page, match[1]) for page, text in pages for match in LIVE.finditer(text)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "live" in metafunc.fixturenames:
        found = live_figures()
        metafunc.parametrize("live", found, ids=[place for _, place in found])
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names())


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "intro.html").is_file():
        if os.environ.get("BOOK_REQUIRE_BROWSER"):
            pytest.fail(f"no built site at {SITE}: run jupyter-book build book/ first")
        pytest.skip(f"no built site at {SITE}: run jupyter-book build book/ first")
    return SITE


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's chromium; with BOOK_REQUIRE_BROWSER set, missing it is a failure."""
    chromium = (
        os.environ.get("CHROME_PATH") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if not chromium:
        if os.environ.get("BOOK_REQUIRE_BROWSER"):
            pytest.fail("no chromium found: install it or set CHROME_PATH")
        pytest.skip("no chromium found: install it or set CHROME_PATH")
    return {**browser_type_launch_args, "executable_path": chromium, "args": FLAGS}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and says nothing."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def base_url(site: Path) -> Iterator[str]:
    """The address of the served site."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def watch(base_url: str) -> Iterator[Any]:
    """Watch a page for errors and for requests to other hosts; fail the test at its end."""
    troubles: list[str] = []

    def start(page: Any) -> Any:
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on(
            "console",
            lambda line: line.type == "error" and troubles.append(f"console error: {line.text}"),
        )
        page.on(
            "request",
            lambda request: (
                request.url.startswith((base_url, "file:", "data:", "blob:"))
                or troubles.append(f"request to another host: {request.url}")
            ),
        )
        return page

    yield start
    assert not troubles, troubles


@pytest.fixture
def page(page: Any, watch: Any) -> Any:
    """A watched page, 1280 × 900."""
    page.set_viewport_size({"width": 1280, "height": 900})
    return watch(page)
