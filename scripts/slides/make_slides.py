"""Make a deck of slides of each chapter in each language, from the built site.

    python scripts/slides/make_slides.py [--languages zh en] [--chapters masks …] [--site FOLDER]

The decks go into the site, `_slides/masks-en.html`: they use its styles, its drawings and its
scripts of live figures, and open from a folder as the site does. Each is then opened in chromium
once: a slide that does not fit its 1280 × 720 is named, and the command fails.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import shutil
import sys
import time
from html import escape
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from browser import MISSING, chromium
from pages.book import (
    BUILD,
    LANG,
    LANGUAGES,
    book_of,
    lessons,
    table_of_contents,
    title_of_book,
)
from pages.one_language import article_of, words

from slides.choose import FEWEST, MOST, Chosen, slides_of
from slides.deck import Deck, deck, scripts_of
from slides.fit import open_browser, overflowing
from slides.sentences import shown

HERE = Path(__file__).parent
#: In the site: beside its pages, and none of them.
FOLDER = "_slides"
REVEAL = ("reset.css", "reveal.css", "reveal.js", "notes.js", "LICENSE")
#: As on the site's pages; the speaker's window is a page that reveal.js writes, with a script.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'self'{speaker}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; frame-src 'self'; worker-src blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'\">"
)
LIST = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="deck.css">
</head>
<body class="decks"><main>
<h1>{title}</h1>
{lists}
</main></body>
</html>
"""
SLIDES = {"zh": "课件", "en": "Slides"}


def policy(notes: Path) -> str:
    """Return the policy of a deck, with the hash of the script of the speaker's window."""
    from py_mini_racer import MiniRacer

    source = notes.read_text(encoding="utf8")
    begin = source.index("document.write(`") + len("document.write(")
    window = str(MiniRacer().eval(source[begin : source.index("</html>`") + len("</html>`")]))
    (script,) = re.findall(r"<script>(.*?)</script>", window, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.replace("\r\n", "\n").encode()).digest())
    return POLICY.format(speaker=f" 'sha256-{digest.decode()}'")


def chosen(site: Path, page: str, language: str) -> Chosen:
    """Return the slides of a chapter in one language."""
    return slides_of(article_of(book_of(site, language, []), page))


def name_of(page: str, language: str) -> str:
    """Return the name of a deck's file.

    >>> name_of("masks", "en")
    'masks-en.html'
    """
    return f"{page}-{language}.html"


def make_deck(site: Path, page: str, language: str, folder: Path, guard: str) -> Chosen:
    """Write the deck of a chapter in one language."""
    found = chosen(site, page, language)
    title, book = words(shown(found.slides[0].title)), title_of_book(language)
    about = Deck(language, title, book, f"../{page}.html?lang={language}")
    live = any(slide.kind == "live" for slide in found.slides)
    scripts = scripts_of((site / f"{page}.html").read_text(encoding="utf8")) if live else []
    text = deck(found.slides, about, scripts=scripts, policy=guard)
    (folder / name_of(page, language)).write_text(text, encoding="utf8")
    return found


def prepare(folder: Path) -> str:
    """Put what all decks load into their folder; return their policy."""
    (folder / "reveal").mkdir(parents=True, exist_ok=True)
    for name in REVEAL:
        shutil.copy(HERE / "reveal" / name, folder / "reveal" / name)
    for name in ("deck.css", "deck.js"):
        shutil.copy(HERE / name, folder / name)
    return policy(folder / "reveal" / "notes.js")


def list_of_decks(titles: dict[str, dict[str, str]]) -> str:
    """Return a page that leads to every deck: titles by language, then by chapter."""
    lists = []
    for language, found in titles.items():
        lines = "".join(
            f'<li><a href="{name_of(page, language)}">{escape(title)}</a></li>\n'
            for page, title in found.items()
        )
        heading = f"<h2>{escape(title_of_book(language))}</h2>"
        lists.append(f'<section lang="{LANG[language]}">{heading}<ul>\n{lines}</ul></section>')
    title = " · ".join(SLIDES[language] for language in titles)
    only = LANG[next(iter(titles))]
    return LIST.format(
        lang=only, title=title, policy=POLICY.format(speaker=""), lists="\n".join(lists)
    )


def make(
    site: Path, folder: Path, pages: list[str], languages: list[str], *, whole: bool = True
) -> list[Path]:
    """Write the decks of some chapters, and their list; return the files of the decks.

    ``whole``: these are all that there are to be; else the others stay, and so does the list.
    """
    if whole:
        shutil.rmtree(folder, ignore_errors=True)
    guard = prepare(folder)
    decks: list[Path] = []
    titles: dict[str, dict[str, str]] = {language: {} for language in languages}
    for page in pages:
        for language in languages:
            found = make_deck(site, page, language, folder, guard)
            titles[language][page] = words(shown(found.slides[0].title))
            decks.append(folder / name_of(page, language))
            kinds = " ".join(slide.kind for slide in found.slides)
            odd = "" if FEWEST <= len(found.slides) <= MOST else " !"
            left = f"{len(found.left_out)} left out"
            print(f"{page}-{language}: {len(found.slides)}{odd} ({left})  {kinds}")
    if whole:
        (folder / "index.html").write_text(list_of_decks(titles), encoding="utf8")
    return decks


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--chapters", nargs="*", metavar="PAGE")
    parser.add_argument("--site", type=Path, default=BUILD / "html", metavar="FOLDER")
    options = parser.parse_args()
    if not (options.site / "intro.html").is_file():
        sys.exit(f"no built site at {options.site}: run make book first")
    pages = options.chapters or lessons(table_of_contents())
    if missing := [page for page in pages if not (options.site / f"{page}.html").is_file()]:
        sys.exit(f"{options.site} has no page {missing[0]}")
    folder, start = options.site / FOLDER, time.perf_counter()
    whole = not options.chapters and set(options.languages) == set(LANGUAGES)
    decks = make(options.site, folder, pages, options.languages, whole=whole)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(decks)} decks ({size / 1e6:.1f} MB, {time.perf_counter() - start:.0f} s)")
    if not chromium():
        sys.exit(f"nobody has seen whether the slides fit: {MISSING}")
    with open_browser() as browser:
        wrong = [f"{path.name}: {each}" for path in decks for each in overflowing(browser, path)]
    print(f"{len(wrong)} slides overflow ({time.perf_counter() - start:.0f} s in all)")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
