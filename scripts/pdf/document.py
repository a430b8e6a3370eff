"""All pages of the site in one document for paper: title, contents, parts, chapters."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree, html
from pages.book import (
    ABOUT,
    LANG,
    LICENSE,
    Book,
    Part,
    author,
    book_of,
    parts,
    title_of_book,
    version,
)
from pages.one_language import Element

from pdf.printed_page import prefix, printed_page, without_dead_links

HERE = Path(__file__).parent
WORDS = {
    "zh": {
        "contents": "目录",
        "edition": "版本 {version}，由网站排印",
        "web": "网页版可以交互，有每个数的证据，也有可以运行的笔记本：",
    },
    "en": {
        "contents": "Contents",
        "edition": "Version {version}, printed from the site",
        "web": "The site is interactive, has the evidence for every number, and notebooks to run:",
    },
}
NUMBER_OF = "[{}]"  # until it is known
FRAME = """<!DOCTYPE html>
<html lang="{lang}" data-language="{language}" data-theme="light">
<head><meta charset="utf-8"><title>{title}</title>
{stylesheets}
<style>{style}</style>
</head>
<body><div class="bd-main"><div class="bd-content"><div class="bd-article-container">
<div class="bd-article" id="book"></div>
</div></div></div></body></html>"""
LINK = '<link rel="stylesheet" href="/_static/{}">'
STYLESHEET = re.compile(r'href="_static/(book\.\w+\.css)')
HEAD = """@page {name} {{ @top-left {{ content: "{title}"; }} }}
#{name} {{ page: {name}; }}
"""


@dataclass
class Printed:
    """The document, its pages' titles in order, and how many links it had to give up."""

    text: str
    titles: dict[str, str]
    dead_links: int

    def numbered(self, numbers: dict[str, int]) -> str:
        """Return the document with the numbers of its pages in the table of contents."""
        text = self.text
        for page in self.titles:
            name = prefix(page)
            text = text.replace(NUMBER_OF.format(name), str(numbers.get(name, "")), 1)
        return text


def assemble(site: Path, language: str, toc: dict[str, Any]) -> Printed:
    """Return the document; `Printed.numbered` names the page on which each chapter begins."""
    sequence = parts(language, toc)
    pages = [page for part in sequence for page in part.pages]
    book = book_of(site, language, pages)
    sections = {page: printed_page(book, page) for page in pages}
    raise_headings(sections[toc["root"]])
    titles = {page: title_of(section) for page, section in sections.items()}
    document = frame(book, titles)
    body = document.get_element_by_id("book")
    body.append(title_page(book))
    body.append(contents(book, sequence, titles))
    for number, part in enumerate(sequence):
        if part.name:
            body.append(part_page(part, number))
        body.extend(sections[page] for page in part.pages)
    dead = without_dead_links(document, book)
    text = html.tostring(document, encoding="unicode", doctype="<!DOCTYPE html>")
    return Printed(text, titles, dead)


def raise_headings(section: Element) -> None:
    """The first page stands above the parts."""
    for level in (2, 3, 4):
        for heading in section.iter(f"h{level}"):
            heading.tag = f"h{level - 1}"


def title_of(section: Element) -> str:
    heading = next(section.iter("h1", "h2"))
    return " ".join(heading.text_content().split())


def frame(book: Book, titles: dict[str, str]) -> Element:
    """Return the empty document, with the site's styles and a running head for each chapter."""
    heads = "".join(
        HEAD.format(name=prefix(page), title=words.replace("\\", "").replace('"', '\\"'))
        for page, words in titles.items()
    )
    pages = [(book.site / f"{page}.html").read_text(encoding="utf8") for page in titles]
    used = dict.fromkeys(style for page in pages for style in STYLESHEET.findall(page))
    text = FRAME.format(
        lang=LANG[book.language],
        language=book.language,
        title=entities.escape(title_of_book(book.language)),
        stylesheets="".join(LINK.format(style) for style in used),
        style=(HERE / "paper.css").read_text(encoding="utf8") + heads,
    )
    return html.document_fromstring(text)


def title_page(book: Book) -> Element:
    words = WORDS[book.language]
    lines = {
        "book-title": title_of_book(book.language),
        "book-other": title_of_book(book.other),
        "book-about": ABOUT[book.language],
        "book-author": author(book.language),
        "book-edition": words["edition"].format(version=version()),
        "book-web": words["web"],
    }
    section = html.Element("section", {"class": "title-page"})
    for name, line in lines.items():
        etree.SubElement(section, "p", {"class": name}).text = line
    address = etree.SubElement(section[-1], "a", {"href": f"{book.address}/?lang={book.language}"})
    address.text = f"{book.address}/"
    etree.SubElement(section, "p", {"class": "book-license"}).text = LICENSE[book.language]
    return section


def contents(book: Book, sequence: list[Part], titles: dict[str, str]) -> Element:
    """Return the table of contents: each line leads to its chapter and names its page."""
    section = html.Element("nav", {"class": "book-contents"})
    etree.SubElement(section, "h1").text = WORDS[book.language]["contents"]
    for part in sequence:
        if part.name:
            etree.SubElement(section, "p", {"class": "contents-part"}).text = part.name
        for page in part.pages:
            there = {"class": "contents-line", "href": f"#{prefix(page)}"}
            line = etree.SubElement(section, "a", there)
            etree.SubElement(line, "span").text = titles[page]
            number = etree.SubElement(line, "span", {"class": "contents-page"})
            number.text = NUMBER_OF.format(prefix(page))
    return section


def part_page(part: Part, number: int) -> Element:
    section = html.Element("section", {"class": "part", "id": f"part-{number}"})
    etree.SubElement(section, "h1").text = part.name
    return section
