"""The book as its settings name it: parts in order, titles, addresses, what is left to the web."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "book" / "_build"
LANGUAGES = ("zh", "en")
#: The languages as HTML and EPUB name them.
LANG = {"zh": "zh-Hans", "en": "en"}

#: The package's reference is looked up and not read, and a quarter of all pages: links lead to
#: the site's.
LOOKED_UP = "api/"
#: What a script makes, and neither paper nor an e-reader can.
ON_THE_SITE = ("today", "translator")
#: What is said of the book wherever it begins.
ABOUT = {
    "zh": "一本讲注意力机制的书：从平均讲起，到 Transformer。",
    "en": "A textbook on attention, from a plain average to the Transformer.",
}
LICENSE = {
    "zh": "文字与插图：CC BY-SA 4.0；代码：MIT。",
    "en": "Text and figures: CC BY-SA 4.0; code: MIT.",
}


@dataclass
class Part:
    """A part of the book: its name, "" for the pages before the first, and its pages."""

    name: str
    pages: list[str]


@dataclass
class Book:
    """What a page must know of the whole: its pages, and where its readers find the rest."""

    site: Path
    address: str
    language: str
    pages: list[str]

    @property
    def other(self) -> str:
        return "en" if self.language == "zh" else "zh"

    def on_the_web(self, path: str, fragment: str = "") -> str:
        """Return the address of a file of the site, in this book's language.

        >>> Book(Path(), "https://book.org", "en", []).on_the_web("masks.html", "why")
        'https://book.org/masks.html?lang=en#why'
        """
        query = f"?lang={self.language}" if path.endswith(".html") else ""
        return f"{self.address}/{path}{query}" + (f"#{fragment}" if fragment else "")


def book_of(site: Path, language: str, pages: list[str]) -> Book:
    return Book(site, settings()["html"]["baseurl"].rstrip("/"), language, pages)


def settings() -> dict[str, Any]:
    """Return the book's settings."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "book" / "_config.yml").read_text("utf8"))
    return loaded


def table_of_contents() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text("utf8"))
    return loaded


def parts(language: str, toc: dict[str, Any], without: tuple[str, ...] = ()) -> list[Part]:
    """Return the parts in the order of the table of contents, but for what is on the site only."""
    left_out = (*ON_THE_SITE, *without)
    found = [Part("", [toc["root"]])]
    for part in toc["parts"]:
        pages = [
            page
            for chapter in part["chapters"]
            for page in with_sections(chapter)
            if page not in left_out and not page.startswith(LOOKED_UP)
        ]
        found.append(Part(in_language(part["caption"], language, " | "), pages))
    return [part for part in found if part.pages]


def with_sections(chapter: dict[str, Any]) -> list[str]:
    return [chapter["file"], *(section["file"] for section in chapter.get("sections", []))]


def lessons(toc: dict[str, Any]) -> list[str]:
    """Return the chapters: the pages of the numbered parts."""
    numbered = [part for part in toc["parts"] if part.get("numbered")]
    return [page for part in numbered for each in part["chapters"] for page in with_sections(each)]


def in_language(pair: str, language: str, between: str) -> str:
    """Return one language of a text that the settings hold in both.

    >>> in_language("掩码 | Masks", "en", " | ")
    'Masks'
    """
    zh, _, en = pair.partition(between)
    return zh if language == "zh" else en


def title_of_book(language: str) -> str:
    return in_language(settings()["title"], language, " · ")


def author(language: str) -> str:
    config = settings()
    name: str = config["author"]
    if language == "zh":
        name = config["sphinx"]["config"]["bilingual_words"].get(name, name)
    return name


def version() -> str:
    """Return the latest release, as it is cited."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    return str(citation["version"])
