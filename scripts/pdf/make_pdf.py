"""Print the built site: one PDF in each language, with contents, bookmarks and links.

    python scripts/pdf/make_pdf.py [--languages zh en] [--site FOLDER] [--to FOLDER]

Chromium prints twice: the first time shows on which page each chapter begins, the second has
these numbers in the table of contents. Nothing is served and nothing fetched: what the document
asks for is handed to the browser from the site's folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

sys.path.append(str(Path(__file__).resolve().parents[1]))

from browser import MISSING, chromium
from pages.book import (
    ABOUT,
    BUILD,
    LICENSE,
    author,
    settings,
    table_of_contents,
    title_of_book,
    version,
)

from pdf.document import assemble
from pdf.small_pdf import smaller

NAME = "attention_book-{language}.pdf"
HOST = "http://book.invalid"
KEYWORDS = {
    "zh": "注意力机制, 自注意力, Transformer, 语言模型, 深度学习, 教材",
    "en": "attention, self-attention, Transformer, language models, deep learning, textbook",
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
COLUMN = 665  # CSS pixels between the margins of A4, see @page in book.css

#: What is wider than the column is made smaller, no further than one can read.
FIT = """(column) => {
  const wide = "div.math > .math-scroll, .math-scroll, table, figure svg, .cell_output svg, pre";
  for (const element of document.querySelectorAll(wide)) {
    const room = element.parentElement.clientWidth || column;
    const width = Math.max(element.scrollWidth || 0, element.getBoundingClientRect().width);
    if (width > room + 1) element.style.zoom = Math.max(0.55, (room / width) * 0.99);
  }
}"""


def whats_missing(site: Path) -> str:
    """Say in one line what is not there, "" if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
        import pypdf  # noqa: F401
    except ImportError as error:
        return f'make pdf needs {error.name}: pip install -c constraints.txt -e ".[book,test]"'
    if not (site / "intro.html").is_file():
        return f"make pdf needs the built site, and there is none at {site}: run make book"
    if not chromium():
        return f"make pdf: {MISSING}"
    return ""


def print_document(browser: Any, site: Path, text: str, target: Path) -> None:
    page = browser.new_page(viewport={"width": COLUMN, "height": 1000})

    def hand_over(route: Any) -> None:
        path = unquote(urlsplit(route.request.url).path).lstrip("/")
        if path == "book.html":
            route.fulfill(body=text, content_type="text/html; charset=utf-8")
        elif (site / path).is_file():
            route.fulfill(path=site / path)
        else:
            route.abort()

    page.route("**/*", hand_over)
    page.emulate_media(media="print", color_scheme="light")
    page.set_default_timeout(600_000)
    page.goto(f"{HOST}/book.html")
    page.evaluate("document.fonts.ready.then(() => true)")
    page.evaluate(FIT, COLUMN)
    page.pdf(
        path=target, prefer_css_page_size=True, print_background=True, outline=True, tagged=True
    )
    page.close()


def page_numbers(printed: Path) -> dict[str, int]:
    """Return the page, from 1, of everything in a PDF that links lead to."""
    from pypdf import PdfReader

    reader = PdfReader(printed)
    places = reader.named_destinations
    return {
        name.lstrip("/"): (reader.get_destination_page_number(place) or 0) + 1
        for name, place in places.items()
    }


def about(language: str) -> dict[str, str]:
    """Return what the document says of itself, by the names of PDF."""
    return {
        "Title": title_of_book(language),
        "Author": author(language),
        "Subject": f"{ABOUT[language]} {LICENSE[language]}",
        "Keywords": KEYWORDS[language],
        "Creator": f"attention_book {version()}, {settings()['html']['baseurl']}",
    }


def make(browser: Any, site: Path, language: str, target: Path, toc: dict[str, Any]) -> None:
    """Print one language, then once more with the numbers of the pages."""
    unfinished = target.with_suffix(".unfinished.pdf")
    document = assemble(site, language, toc)
    print_document(browser, site, document.numbered({}), unfinished)
    print_document(browser, site, document.numbered(page_numbers(unfinished)), unfinished)
    target.write_bytes(smaller(unfinished.read_bytes(), about(language)))
    unfinished.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--languages", nargs="+", default=["zh", "en"], choices=["zh", "en"])
    parser.add_argument("--site", type=Path, default=BUILD / "html", metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=BUILD, metavar="FOLDER")
    options = parser.parse_args()
    missing = whats_missing(options.site)
    if missing:
        sys.exit(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for language in options.languages:
            start = time.perf_counter()
            target = options.to / NAME.format(language=language)
            make(browser, options.site, language, target, table_of_contents())
            size, seconds = target.stat().st_size / 1e6, time.perf_counter() - start
            print(f"{target} ({size:.1f} MB, {seconds:.0f} s)")
        browser.close()


if __name__ == "__main__":
    main()
