"""The built site, served on this machine and driven with chromium.

`BOOK_HTML` names another build.  Every test that drives a page also asserts that the page
raised no error, wrote none to the console and asked no other host for anything.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
#: A live figure; those with a model have tests of their own.
LIVE = re.compile(r'<div id="([\w-]+)" data-live="(?!(?:translator|cut|walk|next-word)")')
LANGUAGES = ("zh", "en", "both")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
]  # fmt: skip

sys.path.insert(0, str(ROOT / "book" / "_ext"))  # as Jupyter Book does for local extensions
sys.path.append(str(Path(__file__).parent))
sys.path.append(str(ROOT / "scripts"))

from browser import MISSING, chromium  # noqa: E402
from parsed import SITE  # noqa: E402


def page_names() -> list[str]:
    """Every page of the built site, as seen from its root."""
    if not SITE.is_dir():
        return []
    pages = (path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    apart = ("_", "index.html", "404.html")  # a copy of the front page; one that stands alone
    return sorted(page for page in pages if not page.startswith(apart))


def live_figures() -> list[tuple[str, str]]:
    """Every live figure of the built site: its page and its id."""
    pages = ((page, (SITE / page).read_text(encoding="utf8")) for page in page_names())
    return [(page, match[1]) for page, text in pages for match in LIVE.finditer(text)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The scope has all that is asked of one page, or one figure, asked in a row."""
    if "live" in metafunc.fixturenames:
        found = live_figures()
        names = [place for _, place in found]
        metafunc.parametrize("live", found, ids=names, scope="session")
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names(), scope="session")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "intro.html").is_file():
        if os.environ.get("BOOK_REQUIRE_BROWSER"):
            pytest.fail(f"no built site at {SITE}: run make book first")
        pytest.skip(f"no built site at {SITE}: run make book first")
    return SITE


#: A reader who wants no text folded: what a test looks for is to be seen.
FOLDS_NOTHING = """try {
  const started = { version: 1, cards: {}, log: [], lines: {}, settings: { mode: "open" } };
  localStorage["attention-book-questions"] ??= JSON.stringify(started);
} catch { /* a page without a store */ }"""


@pytest.fixture(scope="session")
def browser(browser: Any) -> Any:
    """The browser of a reader who has chosen that questions fold nothing.

    For one who comes for the first time: ``type(browser).new_context(browser)``.
    """

    def with_choice(opened: Any) -> Callable[..., Any]:
        def open_one(**options: Any) -> Any:
            made = opened(**options)
            made.add_init_script(FOLDS_NOTHING)
            return made

        return open_one

    browser.new_context = with_choice(browser.new_context)
    browser.new_page = with_choice(browser.new_page)
    return browser


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's chromium; with BOOK_REQUIRE_BROWSER set, missing it is a failure."""
    found = chromium()
    if not found:
        missing = pytest.fail if os.environ.get("BOOK_REQUIRE_BROWSER") else pytest.skip
        missing(MISSING)
    return {**browser_type_launch_args, "executable_path": found, "args": FLAGS}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and says nothing."""

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """The address of a folder, which is served meanwhile."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def base_url(site: Path) -> Iterator[str]:
    """The address of the served site."""
    with served_folder(site) as address:
        yield address


@pytest.fixture(scope="session")
def serve() -> Any:
    """What serves another folder than the site's, for a block of `with`."""
    return served_folder


def watcher(base_url: str, troubles: list[str]) -> Callable[[Any], Any]:
    """A function that writes a page's errors down, and its requests to other hosts."""

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

    return start


@pytest.fixture(scope="session")
def watch_at() -> Callable[[str, list[str]], Callable[[Any], Any]]:
    """What `watch` is made of, for pages at another address: it notes down their troubles."""
    return watcher


@pytest.fixture
def watch(base_url: str) -> Iterator[Any]:
    """Watch a page for errors and for requests to other hosts; fail the test at its end."""
    troubles: list[str] = []
    yield watcher(base_url, troubles)
    assert not troubles, troubles


@pytest.fixture
def page(page: Any, watch: Any) -> Any:
    """A watched page, 1280 × 900."""
    page.set_viewport_size({"width": 1280, "height": 900})
    return watch(page)


@pytest.fixture
def phone(browser: Any, watch: Any) -> Iterator[Any]:
    """A watched page on a telephone: touched, 390 px wide."""
    page = watch(
        browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    )
    yield page
    page.close()


@pytest.fixture
def choose_color_mode() -> Callable[[Any, str], None]:
    """A function that sets a page to "light", "dark" or "auto" as a reader would.

    The theme has a button that goes round (0.17), or opens a menu of the three (0.20).
    """

    def choose(page: Any, mode: str) -> None:
        button = page.locator(".theme-switch-button").first
        entry = page.locator(f".theme-change-button[data-mode={mode}]").first
        if entry.count():
            button.click()
            entry.click()
        for _ in range(3):
            if page.locator("html").get_attribute("data-mode") != mode:
                button.click()
        assert page.locator("html").get_attribute("data-mode") == mode

    return choose


class Tab:
    """A watched page that goes from one address to the next, for test after test.

    It keeps what it has fetched, so an address is there in half the time; whatever else a page
    may keep, it keeps as well: for tests that ask for nothing of that kind.
    """

    def __init__(self, browser: Any, base_url: str, **options: Any) -> None:
        self.troubles: list[str] = []
        self.page = watcher(base_url, self.troubles)(browser.new_page(**options))

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """The page; the troubles that it has meanwhile are those of this test."""
        self.troubles.clear()
        yield self.page
        assert not self.troubles, self.troubles


@pytest.fixture(scope="session")
def open_tab(browser: Any, base_url: str) -> Iterator[Callable[..., Tab]]:
    """A function that opens a tab for the rest of the tests: a telephone's, for example."""
    tabs: list[Tab] = []

    def opened(**options: Any) -> Tab:
        tabs.append(Tab(browser, base_url, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.page.close()


@pytest.fixture(scope="session")
def tab(open_tab: Callable[..., Tab]) -> Tab:
    """The tab of the tests that look at one page after the other."""
    return open_tab()


@pytest.fixture
def tab_page(tab: Tab) -> Iterator[Any]:
    """The page of the tab, 1280 × 900, where nothing moves."""
    with tab.lend() as page:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
        yield page


@pytest.fixture
def laid_out(tab_page: Any, base_url: str, page_name: str) -> Any:
    """A page of the book, all of it laid out: loaded once for all tests that only look at it.

    It comes as the last of them left it: each says in which language and width it looks.
    """
    if tab_page.evaluate("window.laidOut") != page_name:
        tab_page.goto(f"{base_url}/{page_name}?lang=zh")
        tab_page.keyboard.press("Tab")
        tab_page.evaluate("name => { window.laidOut = name; }", page_name)
    return tab_page
