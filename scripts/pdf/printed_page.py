"""One page of the built site becomes a chapter on paper, in one language.

On paper nothing folds, scrolls or can be clicked open. What only a screen can use goes, what is
folded is printed in full, and the answers of questions and the solutions stand at the end of their
chapter: at the end of a long book nobody turns to them.
"""

from __future__ import annotations

import re

from lxml import etree
from pages.answers import take_answers, take_solutions
from pages.book import Book
from pages.one_language import (
    ON_THE_PAGE_ONLY,
    Element,
    article_of,
    class_is,
    drop_where,
    place,
)

WORDS = {
    "zh": {"to_answer": "第 {} 题；答案见本章末", "to_solution": "解答见本章末"},
    "en": {
        "to_answer": "Question {}; the answer stands at the end of the chapter",
        "to_solution": "Solution at the end of the chapter",
    },
}
#: What only a screen can use.
ON_SCREEN_ONLY = (*ON_THE_PAGE_ONLY, "self::button", "contains(@class, 'katex-mathml')")
NAMES_AN_ID = ("aria-labelledby", "aria-describedby", "aria-controls", "for", "headers")
_URL_OF_ID = re.compile(r"url\((['\"]?)#")


def prefix(page: str) -> str:
    """Return what makes a page's ids its own in a document of all pages.

    >>> prefix("api/attention")
    'api-attention'
    """
    return page.replace("/", "-")


def printed_page(book: Book, page: str) -> Element:
    """Return a page as a `section` whose headings begin at h2, below the book's parts."""
    article, words = article_of(book, page), WORDS[book.language]
    name_formulas(article)
    drop_where(article, ON_SCREEN_ONLY)
    for box in article.iter("details"):
        box.set("open", "open")
    answers = take_answers(article, book.language, words["to_answer"])
    solutions = take_solutions(article, book.language, words["to_solution"])
    article.extend(section for section in (answers, solutions) if section is not None)
    rewrite_links(article, book, page)
    own_ids(article, prefix(page))
    lower_headings(article)
    article.tag = "section"
    article.attrib.clear()
    article.set("class", "chapter")
    article.set("id", prefix(page))
    return article


def name_formulas(article: Element) -> None:
    """A formula is a picture named by its source: read aloud, it is one thing and not fifty."""
    for formula in article.xpath(f".//span[{class_is('katex')}]"):
        (source,) = formula.xpath(".//annotation[@encoding='application/x-tex']")[:1]
        formula.set("role", "img")
        formula.set("aria-label", source.text or "")


def rewrite_links(article: Element, book: Book, page: str) -> None:
    """Lead links to other pages of the book to their chapters, all others to the web."""
    for element in article.iter("a", "img"):
        name = "href" if element.tag == "a" else "src"
        if (found := place(element.get(name), page)) is None:
            continue
        path, fragment = found
        if element.tag == "img":
            element.set(name, f"/{path}")
        elif path.removesuffix(".html") in book.pages:
            other = prefix(path.removesuffix(".html"))
            element.set(name, f"#{other}--{fragment}" if fragment else f"#{other}")
            element.set("data-web", book.on_the_web(path, fragment))
        else:
            element.set(name, book.on_the_web(path, fragment))


def own_ids(article: Element, own: str) -> None:
    """Put the page's name before its ids and whatever in it names one."""
    for element in article.iter(etree.Element):
        if element.get("id"):
            element.set("id", f"{own}--{element.get('id')}")
        for name in NAMES_AN_ID:
            if element.get(name):
                each = element.get(name).split()
                element.set(name, " ".join(f"{own}--{identifier}" for identifier in each))
        for name, value in element.attrib.items():
            if (
                name in ("href", "xlink:href")
                and value.startswith("#")
                and not is_rewritten(element)
            ):
                element.set(name, f"#{own}--{value[1:]}")
            elif "url(" in value:
                element.set(name, _URL_OF_ID.sub(rf"url(\1#{own}--", value))


def is_rewritten(element: Element) -> bool:
    return element.get("data-web") is not None


def lower_headings(article: Element) -> None:
    for level in (5, 4, 3, 2, 1):
        for heading in article.iter(f"h{level}"):
            heading.tag = f"h{level + 1}"


def without_dead_links(document: Element, book: Book) -> int:
    """Lead links to what paper leaves out to the site; return how many stay without an end."""
    ids = {element.get("id") for element in document.iter(etree.Element) if element.get("id")}
    dead = 0
    for anchor in list(document.iter("a")):
        target = anchor.get("href") or ""
        if target.startswith("#") and target[1:] not in ids:
            page = owner(target[1:], book)
            if page is None:
                anchor.drop_tag()
                dead += 1
            else:
                fragment = target[1:].removeprefix(f"{prefix(page)}--")
                anchor.set("href", book.on_the_web(f"{page}.html", fragment))
        anchor.attrib.pop("data-web", None)
    return dead


def owner(identifier: str, book: Book) -> str | None:
    """Return the page that an id was on."""
    own = identifier.partition("--")[0]
    return next((page for page in book.pages if prefix(page) == own), None)
