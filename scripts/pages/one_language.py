"""A page of the built site in one language, as a tree: what a reader of that language sees."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lxml import etree, html

from pages.book import Book

#: An element of a page; lxml has no types.
Element = Any

TWO_LANGUAGES = ("data-bl", "data-zh-", "data-en-", "data-alt-")
#: What nobody can use but on the page itself, or what is not to be read: evidence and set-up stand
#: behind the story, and links lead to them.
ON_THE_PAGE_ONLY = (
    "self::script or self::noscript or self::form or self::template",
    "contains(@class, 'headerlink')",
    "contains(@class, 'stages-panel') or contains(@class, 'tag_evidence')"
    " or contains(@class, 'tag_setup')",
    "self::p[contains(@class, 'downloads')]",
)


def article_of(book: Book, page: str) -> Element:
    """Return what stands on a page, without the theme's frame, in the book's language.

    Raises:
        FileNotFoundError: The site has no such page.
    """
    return in_one_language(html_of(book.site / f"{page}.html"), book)


def html_of(path: Path) -> Element:
    parser = html.HTMLParser(encoding="utf8", huge_tree=True)
    root = html.document_fromstring(path.read_bytes(), parser=parser)
    (article,) = root.xpath("//article[contains(@class, 'bd-article')]")
    return article


def in_one_language(article: Element, book: Book) -> Element:
    """Leave one language: elements, attributes that scripts would set, descriptions."""
    own, other = f"bl-{book.language}", f"bl-{book.other}"
    for note in article.xpath(".//aside[contains(@class, 'footnote')]"):
        if has_class(note, other) and not has_class(note, own):
            drop([note])
    drop(article.xpath(f".//*[{class_is(other)} or {class_is('bl-sep')}]"))
    for element in article.iter(etree.Element):
        for name in (element.get("data-bl") or "").split():
            set_word(element, name, element.get(f"data-{book.language}-{name}") or "")
        alt = element.get(f"data-alt-{book.language}")
        if alt is not None:
            element.set("alt" if element.tag == "img" else "aria-label", alt)
        for name in [name for name in element.attrib if name.startswith(TWO_LANGUAGES)]:
            del element.attrib[name]
    for glossary in article.xpath(f".//dl[{class_is('glossary')}]"):
        order(glossary, book.language)
    return article


def order(glossary: Element, language: str) -> None:
    """Put the entries of a glossary in the language's order, as its script does on the page."""
    entries: list[tuple[str, list[Element]]] = []
    for part in list(glossary):
        if "data-pinyin" in part.attrib:
            entries.append((part.attrib.pop("data-pinyin"), []))
        entries[-1][1].append(part)
    if language == "zh":
        entries.sort(key=lambda entry: entry[0])
    glossary[:] = [part for _, parts in entries for part in parts]


def set_word(element: Element, name: str, text: str) -> None:
    if name == "text":
        element.text = text
    else:
        element.set(name, text)


def drop(elements: Iterable[Element]) -> None:
    """Remove elements, and keep the text that follows them."""
    for element in elements:
        if element.getparent() is not None:
            element.drop_tree()


def drop_where(article: Element, conditions: Iterable[str]) -> None:
    """Remove what any of some XPath conditions holds for."""
    for condition in conditions:
        drop(article.xpath(f".//*[{condition}]"))


def class_is(*names: str) -> str:
    """Return the XPath condition that an element has one of these classes.

    >>> class_is("question")
    "contains(concat(' ', normalize-space(@class), ' '), ' question ')"
    """
    each = "contains(concat(' ', normalize-space(@class), ' '), ' {} ')"
    return " or ".join(each.format(name) for name in names)


def has_class(element: Element, name: str) -> bool:
    """Has the element this class, or anything in it?"""
    return bool(element.xpath(f"descendant-or-self::*[{class_is(name)}]"))


def is_a(element: Element, *names: str) -> bool:
    """Has the element itself one of these classes?"""
    return bool(set(names) & set((element.get("class") or "").split()))


def words(element: Element) -> str:
    """Return an element's text on one line; of a formula that which is seen, once."""
    return " ".join(text_of(element).split())


def text_of(element: Element) -> str:
    if not isinstance(element.tag, str) or is_a(element, "katex-mathml", "section-weight"):
        return ""
    inner = "".join(text_of(child) + (child.tail or "") for child in element)
    return (element.text or "") + inner


def place(href: str | None, page: str) -> tuple[str, str] | None:
    """Return the site's file that a link of a page leads to, and where in it; None of the rest.

    >>> place("../masks.html#why", "api/attention")
    ('masks.html', 'why')
    """
    if href is None or href.startswith("#"):
        return None
    parts = urlsplit(href)
    if parts.scheme or parts.netloc:
        return None
    path = posixpath.join(posixpath.dirname(page), unquote(parts.path))
    return posixpath.normpath(path), parts.fragment
