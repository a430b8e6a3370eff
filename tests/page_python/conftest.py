"""A tiny book with exercises that are written in the page, and a browser over it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (
    Path(__file__).parent,
    ROOT / "tests" / "book",
    ROOT / "book" / "_ext",
    ROOT / "scripts",
):
    sys.path.append(str(folder))

from browser import MISSING, chromium  # noqa: E402
from exercise_pages import EXTENSIONS, PAGE  # noqa: E402
from tiny import TinyBook, make_book  # noqa: E402

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
]  # fmt: skip


@pytest.fixture(scope="session")
def tiny_book(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """A book of two pages, one of which has exercises."""
    settings = {"exercise_style": "solution_follow_exercise"}
    folder = tmp_path_factory.mktemp("page_python")
    pages = {"intro": "# {zh}`前言` {en}`Intro`\n", "a": PAGE}
    book = make_book(folder, EXTENSIONS, settings=settings, **pages)
    book.build()
    return book


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """A function that serves a folder and returns its address."""
    with contextlib.ExitStack() as stack:

        def served(folder: Path) -> str:
            handler = functools.partial(Quiet, directory=str(folder))
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            stack.enter_context(server)
            stack.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return f"http://127.0.0.1:{server.server_port}"

        yield served


@pytest.fixture(scope="session")
def served(tiny_book: TinyBook, serve: Callable[[Path], str]) -> str:
    """The address of the tiny book."""
    return serve(tiny_book.html)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's chromium."""
    found = chromium()
    if not found:
        pytest.skip(MISSING)
    return {**browser_type_launch_args, "executable_path": found, "args": FLAGS}
