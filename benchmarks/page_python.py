"""How long Python in the page takes: from the press to the first verdict, and further checks.

    python benchmarks/page_python.py [--site FOLDER] [--page masks.html] [--checks 5] [--write]

Opens a built page in the system's chromium and runs what stands in its first editor, on this
processor, and as on one four times slower. Beside the seconds that pass it prints those that the
page's process computes, which depend less on what else the machine does. The files are at hand:
what they take to come is the network's.

Chromium's own throttling (Emulation.setCPUThrottlingRate) slows the page's main thread and no
worker, and Python runs in a worker. So there is a second slow processor: all the page's threads are
stopped three quarters of the time.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))
from browser import chromium  # noqa: E402

SLOWER = 4
PLAIN = "as it is"
THROTTLED = f"Chromium's throttling, {SLOWER} times (not the worker)"
STOPPED = f"all threads, {SLOWER} times"
HEAD = """\
# How long Python in the page takes

Made by `python benchmarks/page_python.py --write`: seconds from the press of Run to the verdict of
the first editor of *Masks*, the first time (Python starts) and the median of further ones. What is
computed is the time of the page's process. The bounds: 4 and 1 seconds, on a processor four times
slower 16 and 4.

| processor | first, passed | computed | further, passed | computed |
|---|---|---|---|---|"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def pages() -> dict[int, list[str]]:
    """Return the processes of pages of browsers begun by this one, each with its times so far."""
    processes = {}
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_text()
                processes[int(folder.name)] = (int(fields[1]), command, fields[11:13])
        except OSError:  # it has ended meanwhile
            continue
    ours = {os.getpid()}
    for _ in range(6):  # playwright's driver, the browser, its zygote, a page
        ours |= {pid for pid, (parent, *_) in processes.items() if parent in ours}
    return {
        pid: spent
        for pid, (_, command, spent) in processes.items()
        if pid in ours and "--type=renderer" in command
    }


def computed() -> float:
    """Return the seconds that the pages have computed."""
    ticks = sum(int(tick) for spent in pages().values() for tick in spent)
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def stopped(part: float, period: float = 0.04) -> Iterator[None]:
    """Stop all threads of the pages for a part of each period."""
    over = threading.Event()

    def send(sign: signal.Signals, processes: Iterable[int]) -> None:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, sign)

    def run() -> None:
        processes, looked = list(pages()), time.perf_counter()
        while not over.is_set():
            if time.perf_counter() - looked > 1:  # another page's process may have begun
                processes, looked = list(pages()), time.perf_counter()
            send(signal.SIGSTOP, processes)
            time.sleep(part * period)
            send(signal.SIGCONT, processes)
            time.sleep((1 - part) * period)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def pressed(page: Any) -> tuple[float, float]:
    """Press Run; return the seconds until the verdict stands there, and those computed."""
    box = page.locator(".page-python").first
    seconds, spent = time.perf_counter(), computed()
    box.locator(".py-run").click()
    box.locator(".py-stop").wait_for(state="hidden", timeout=120_000)
    assert box.locator(".verdict").count() == 1, box.locator(".py-result").inner_text()
    return time.perf_counter() - seconds, computed() - spent


def measured(browser: Any, address: str, checks: int, how: str) -> list[float]:
    """Return the seconds of the first verdict and of a further one, passed and computed."""
    page = browser.new_page()
    page.goto(address)
    page.locator(".page-python").first.scroll_into_view_if_needed()
    page.locator(".page-python .py-run").first.wait_for()
    if how == THROTTLED:
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    with stopped(1 - 1 / SLOWER) if how == STOPPED else nullcontext():
        first = pressed(page)
        further = [pressed(page) for _ in range(checks)]
    page.close()
    return [*first, *(statistics.median(each) for each in zip(*further, strict=True))]


def main() -> None:
    """Print the times; with --write, into benchmarks/page_python.md."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--site", type=Path, default=ROOT / "book" / "_build" / "html")
    options.add_argument("--page", default="masks.html")
    options.add_argument("--checks", type=int, default=5)
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    handler = functools.partial(Quiet, directory=str(given.site))
    lines = [HEAD]
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{given.page}?lang=en"
        for how in (PLAIN, THROTTLED, STOPPED):
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            found = measured(browser, address, given.checks, how)
            lines.append(f"| {how} | " + " | ".join(f"{each:.1f}" for each in found) + " |")
            browser.close()
        server.shutdown()
    load = os.getloadavg()[0]
    lines.append(f"\n{os.cpu_count()} processors; their load at the end: {load:.1f}.")
    text = "\n".join(lines) + "\n"
    print(text)
    if given.write:
        (ROOT / "benchmarks" / "page_python.md").write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
