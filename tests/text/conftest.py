"""A web server on this machine that can misbehave: the tests of downloads use no network."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server:
    """Serves ``files``; drops the first ``drops`` connections after ``drop_after`` bytes."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.files: dict[str, bytes] = {}
        self.ranges_known = True
        self.drops, self.drop_after = 0, 0
        self.failures = 0  # answers with 503 so many times
        self.asked: list[str | None] = []  # the Range of every request
        self.sent = 0

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers["Range"]
        self.asked.append(wanted)
        content = self.files.get(handler.path.lstrip("/"))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if self.failures or content is None or start >= len(content):
            status = 503 if self.failures else 404 if content is None else 416
            self.failures -= status == 503
            handler.send_error(status)
            return
        partial = wanted is not None and self.ranges_known
        content = content[start:] if partial else content
        handler.send_response(206 if partial else 200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if self.drops:
            self.drops -= 1
            content = content[: self.drop_after]
        self.sent += len(content)
        handler.wfile.write(content)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state = Server(running.server_port)
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        running.shutdown()
        thread.join()
