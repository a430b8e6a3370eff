"""How long the translator in the page takes: the first word, each further word, the longest task.

    python benchmarks/translator_page.py [--sentences 20]

Opens the built front page in the system's chromium, loads each model, and has it translate four
sentences in turn, once before anything is timed. Times count from the press of the button to the
change of the words that a reader sees. A task is what keeps the page from answering for 50 ms or
more, as the browser reports it.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import statistics
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))
from browser import chromium  # noqa: E402

SITE = ROOT / "book" / "_build" / "html"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SENTENCES = (
    "The girl reads a book.", "They run with Anna in the street.",
    "The boy reads two red books in the garden today.", "We buy an apple in the city.",
)  # fmt: skip

#: Asks for one sentence; answers with the moments at which the translation changed.
TIMED = """
([place, text]) => new Promise((done) => {
  const words = place.querySelectorAll(".live-words")[1]; // the second sentence: the translation
  const status = place.querySelector(".live-status"), moments = [];
  let began = 0;
  const watch = new MutationObserver(() => moments.push(performance.now() - began));
  const end = new MutationObserver(() => {
    if (!/ms/.test(status.textContent)) return;
    watch.disconnect();
    end.disconnect();
    done(moments);
  });
  status.replaceChildren();
  watch.observe(words, { childList: true, subtree: true });
  end.observe(status, { childList: true, subtree: true, characterData: true });
  place.querySelector("textarea").value = text;
  began = performance.now();
  place.querySelector(".live-go").click();
})
"""
TASKS = """
window.tasks = [];
new PerformanceObserver((list) => {
  window.tasks.push(...list.getEntries().map((each) => each.duration));
}).observe({ type: "longtask", buffered: true });
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def timed(page: Any, place: Any, sentences: int) -> None:
    """Print the times of the chosen model."""
    texts = [SENTENCES[i % len(SENTENCES)] for i in range(sentences)]
    handle = place.element_handle()
    for text in texts[:4]:  # the engine's code is compiled as it is used
        page.evaluate(TIMED, [handle, text])
    page.evaluate("window.tasks.length = 0")
    first, further = [], []
    for text in texts:
        moments = page.evaluate(TIMED, [handle, text])
        first.append(moments[0])
        further += [after - before for before, after in pairwise(moments)]
    tasks = page.evaluate("window.tasks")
    print(
        f"  first word {statistics.median(first):.1f} ms (at most {max(first):.1f}), further words "
        f"{statistics.median(further):.2f} ms (at most {max(further):.1f}), "
        f"tasks of 50 ms or more: {len(tasks)}{f' ({max(tasks):.0f} ms)' if tasks else ''}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20)
    sentences = parser.parse_args().sentences
    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as play:
        page = play.chromium.launch(executable_path=chromium(), args=FLAGS).new_page()
        page.add_init_script(TASKS)
        page.goto(f"http://127.0.0.1:{server.server_port}/intro.html?lang=en")
        place = page.locator("[data-live=translator]")
        place.locator(".live-word").first.wait_for()
        page.wait_for_timeout(1000)
        tasks = page.evaluate("window.tasks")
        print(f"opening the page: tasks of 50 ms or more: {[round(task) for task in tasks]}")
        for model in place.locator(".live-choice").first.locator("input").all():
            name = model.get_attribute("value")
            page.evaluate("window.tasks.length = 0")
            model.click()
            place.locator(".live-go").click()
            page.wait_for_function(
                "place => / ms|毫秒/.test(place.querySelector('.live-status').textContent)",
                arg=place.element_handle(), timeout=60_000,
            )  # fmt: skip
            tasks = page.evaluate("window.tasks")
            print(f"{name}: loaded; tasks of 50 ms or more: {[round(task) for task in tasks]}")
            timed(page, place, sentences)
    server.shutdown()


if __name__ == "__main__":
    main()
