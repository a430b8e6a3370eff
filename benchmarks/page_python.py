"""How long Python in the page takes: from the press to the first verdict, and further checks.

    python benchmarks/page_python.py [--site FOLDER] [--page masks.html] [--checks 5]

Opens a built page in the system's chromium and runs what stands in its first editor. Beside the
seconds that pass it prints those that the page's process computes, which depend less on what else
the machine does. The files are at hand: what they take to come is the network's.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))
from browser import chromium  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def computed() -> float:
    """Return the seconds that the pages of browsers begun by this process have computed."""
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
    ticks = sum(
        int(tick)
        for pid, (_, command, spent) in processes.items()
        if pid in ours and "--type=renderer" in command
        for tick in spent
    )
    return ticks / os.sysconf("SC_CLK_TCK")


def pressed(page: Any) -> tuple[float, float]:
    """Press Run; return the seconds until the verdict stands there, and those computed."""
    box = page.locator(".page-python").first
    seconds, spent = time.perf_counter(), computed()
    box.locator(".py-run").click()
    box.locator(".py-stop").wait_for(state="hidden", timeout=120_000)
    assert box.locator(".verdict").count() == 1, box.locator(".py-result").inner_text()
    return time.perf_counter() - seconds, computed() - spent


def main() -> None:
    """Print the times."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--site", type=Path, default=ROOT / "book" / "_build" / "html")
    options.add_argument("--page", default="masks.html")
    options.add_argument("--checks", type=int, default=5)
    given = options.parse_args()
    handler = functools.partial(Quiet, directory=str(given.site))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/{given.page}?lang=en")
        first = pressed(page)
        further = [pressed(page) for _ in range(given.checks)]
        print(f"from the press to the first verdict {first[0]:.1f} s, computed {first[1]:.1f} s")
        passed, spent = (statistics.median(each) for each in zip(*further, strict=True))
        print(f"a further check {passed:.2f} s, computed {spent:.2f} s (median of {given.checks})")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
