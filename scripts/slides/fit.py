"""Does every slide fit? Each deck is opened in chromium, and each slide looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import chromium

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
SIZE = {"width": 1280, "height": 720}
#: What of the slide in view does not fit, or scrolls, with all its steps shown.
OVERFLOWS = """() => {
  const slide = Reveal.getCurrentSlide(), page = slide.querySelector(":scope > .page");
  const found = [];
  const name = (box) => box.className || box.tagName.toLowerCase();
  const place = page.getBoundingClientRect();
  for (const box of [page, ...page.querySelectorAll("*")]) {
    if (box.closest("svg") || box.closest(".katex") || !box.getClientRects().length) continue;
    if (box.closest(".live-hidden")) continue;
    const style = getComputedStyle(box);
    const hides = (side) => style[`overflow${side}`] !== "visible" && style.display !== "inline";
    const high = box.scrollHeight > box.clientHeight + 2 && hides("Y");
    const wide = box.scrollWidth > box.clientWidth + 2 && hides("X");
    if (high || wide) found.push(`${name(box)} overflows by ${box.scrollWidth - box.clientWidth}`
      + ` × ${box.scrollHeight - box.clientHeight}`);
    const at = box.getBoundingClientRect();
    if (at.right > place.right + 2 || at.bottom > place.bottom + 2)
      found.push(`${name(box)} reaches out of its slide`);
  }
  return found.slice(0, 2);
}"""
#: A slide is laid out when it is shown, and made smaller in the frames after that.
SETTLED = """() => new Promise((resolve) => {
  const look = () => Reveal.getCurrentSlide().querySelector(":scope > .page").dataset.fitted
    ? requestAnimationFrame(() => resolve(true)) : requestAnimationFrame(look);
  look();
})"""


@contextmanager
def open_browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


def overflowing(browser: Any, path: Path) -> list[str]:
    """Return what does not fit in a deck that is opened as a file, slide by slide."""
    page = browser.new_page(viewport=SIZE)
    page.goto(path.resolve().as_uri())
    found = list(overflowing_in(page))
    page.close()
    return found


def overflowing_in(page: Any) -> Iterator[str]:
    """Yield what does not fit in the deck that a page shows."""
    for number in range(start(page)):
        show(page, number)
        for problem in page.evaluate(OVERFLOWS):
            yield f"slide {number + 1}: {problem}"


def start(page: Any) -> int:
    """Wait until a deck is there; return how many slides it has."""
    page.locator(".reveal.ready").wait_for()
    return int(page.evaluate("Reveal.getTotalSlides()"))


def show(page: Any, number: int) -> None:
    """Show a slide, counted from 0, with all its steps, as it stays."""
    page.evaluate("(number) => Reveal.slide(number, 0, 99)", number)
    page.evaluate(SETTLED)
