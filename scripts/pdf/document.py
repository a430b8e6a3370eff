"""All pages of the site in one document for paper: title, contents, parts, chapters."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from lxml import etree, html
from printed_page import Book, Element, prefix, printed_page, without_dead_links

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: The package's reference is looked up and not read, and a quarter of all pages: links lead to
#: the site's.
LOOKED_UP = "api/"
#: What a script makes, and paper cannot.
ON_THE_SITE = ("today",)
WORDS = {
    "zh": {
        "contents": "目录",
        "about": "一本讲注意力机制的书：从平均讲起，到 Transformer。",
        "edition": "版本 {version}，由网站排印",
        "web": "网页版可以交互，有每个数的证据，也有可以运行的笔记本：",
        "license": "文字与插图：CC BY-SA 4.0；代码：MIT。",
    },
    "en": {
        "contents": "Contents",
        "about": "A textbook on attention, from a plain average to the Transformer.",
        "edition": "Version {version}, printed from the site",
        "web": "The site is interactive, has the evidence for every number, and notebooks to run:",
        "license": "Text and figures: CC BY-SA 4.0; code: MIT.",
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
class Part:
    """A part of the book: its name, "" for the pages before the first, and its pages."""

    name: str
    pages: list[str]


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


def settings() -> dict[str, Any]:
    text = (ROOT / "book" / "_config.yml").read_text(encoding="utf8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def parts(language: str, toc: dict[str, Any]) -> list[Part]:
    """Return the parts in the order of the table of contents."""
    found = [Part("", [toc["root"]])]
    for part in toc["parts"]:
        pages = [page for chapter in part["chapters"] for page in with_sections(chapter)]
        found.append(Part(in_language(part["caption"], language, " | "), pages))
    return found


def with_sections(chapter: dict[str, Any]) -> list[str]:
    pages = [chapter["file"], *(section["file"] for section in chapter.get("sections", []))]
    printed = (page for page in pages if page not in ON_THE_SITE)
    return [page for page in printed if not page.startswith(LOOKED_UP)]


def in_language(pair: str, language: str, between: str) -> str:
    zh, _, en = pair.partition(between)
    return zh if language == "zh" else en


def table_of_contents() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text("utf8"))
    return loaded


def assemble(site: Path, language: str, toc: dict[str, Any]) -> Printed:
    """Return the document; `Printed.numbered` names the page on which each chapter begins."""
    config = settings()
    sequence = [part for part in parts(language, toc) if part.pages]
    pages = [page for part in sequence for page in part.pages]
    book = Book(site, config["html"]["baseurl"].rstrip("/"), language, pages)
    sections = {page: printed_page(book, page) for page in pages}
    raise_headings(sections[toc["root"]])
    titles = {page: title_of(section) for page, section in sections.items()}
    title = in_language(config["title"], language, " · ")
    document = frame(book, title, titles)
    body = document.get_element_by_id("book")
    body.append(title_page(book, title, config))
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


def frame(book: Book, title: str, titles: dict[str, str]) -> Element:
    """Return the empty document, with the site's styles and a running head for each chapter."""
    heads = "".join(
        HEAD.format(name=prefix(page), title=words.replace("\\", "").replace('"', '\\"'))
        for page, words in titles.items()
    )
    pages = [(book.site / f"{page}.html").read_text(encoding="utf8") for page in titles]
    used = dict.fromkeys(style for page in pages for style in STYLESHEET.findall(page))
    text = FRAME.format(
        lang="en" if book.language == "en" else "zh-Hans",
        language=book.language,
        title=entities.escape(title),
        stylesheets="".join(LINK.format(style) for style in used),
        style=(HERE / "paper.css").read_text(encoding="utf8") + heads,
    )
    return html.document_fromstring(text)


def title_page(book: Book, title: str, config: dict[str, Any]) -> Element:
    words = WORDS[book.language]
    other = in_language(config["title"], book.other, " · ")
    author = config["author"]
    if book.language == "zh":
        author = config["sphinx"]["config"]["bilingual_words"].get(author, author)
    source = (ROOT / "src/attention_book/__init__.py").read_text(encoding="utf8")
    (version,) = re.findall(r'__version__ = "([^"]+)"', source)
    lines = {
        "book-title": title,
        "book-other": other,
        "book-about": words["about"],
        "book-author": author,
        "book-edition": words["edition"].format(version=version),
        "book-web": words["web"],
    }
    section = html.Element("section", {"class": "title-page"})
    for name, line in lines.items():
        etree.SubElement(section, "p", {"class": name}).text = line
    address = etree.SubElement(section[-1], "a", {"href": f"{book.address}/?lang={book.language}"})
    address.text = f"{book.address}/"
    etree.SubElement(section, "p", {"class": "book-license"}).text = words["license"]
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
