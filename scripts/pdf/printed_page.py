"""One page of the built site becomes a chapter on paper, in one language.

On paper nothing folds, scrolls or can be clicked open. What only a screen can use goes, what is
folded is printed in full, and the answers of questions and the solutions stand at the end of their
chapter: beside its exercise an open solution is read before one has thought, at the end of a long
book nobody turns to it.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import etree, html

Element = html.HtmlElement

WORDS = {
    "zh": {
        "answers": "题的答案",
        "answer_to": "第 {} 题",
        "to_answer": "第 {} 题；答案见本章末",
        "solutions": "解答",
        "solution_to": "{}的解答",
        "to_solution": "解答见本章末",
    },
    "en": {
        "answers": "Answers to the questions",
        "answer_to": "Question {}",
        "to_answer": "Question {}; the answer stands at the end of the chapter",
        "solutions": "Solutions",
        "solution_to": "Solution to {}",
        "to_solution": "Solution at the end of the chapter",
    },
}
#: What only a screen can use. Evidence cells are long, and their numbers are in the text.
ON_SCREEN_ONLY = (
    "self::script or self::noscript or self::button or self::form or self::template",
    "self::*[contains(@class, 'headerlink') or contains(@class, 'katex-mathml')]",
    "self::*[contains(@class, 'stages-panel') or contains(@class, 'tag_evidence')"
    " or contains(@class, 'tag_setup')]",
    "self::p[contains(@class, 'downloads')]",
)
TWO_LANGUAGES = ("data-bl", "data-zh-", "data-en-", "data-alt-")
ANSWERS, SOLUTIONS = "answers-printed", "solutions-printed"  # no page has such ids
NAMES_AN_ID = ("aria-labelledby", "aria-describedby", "aria-controls", "for", "headers")
_URL_OF_ID = re.compile(r"url\((['\"]?)#")


@dataclass
class Book:
    """What a page must know of the whole: its pages, and where its readers find the rest."""

    site: Path
    address: str
    language: str
    pages: list[str]

    @property
    def words(self) -> dict[str, str]:
        return WORDS[self.language]

    @property
    def other(self) -> str:
        return "en" if self.language == "zh" else "zh"

    def on_the_web(self, path: str, fragment: str = "") -> str:
        query = f"?lang={self.language}" if path.endswith(".html") else ""
        return f"{self.address}/{path}{query}" + (f"#{fragment}" if fragment else "")


def prefix(page: str) -> str:
    """Return what makes a page's ids its own in a document of all pages.

    >>> prefix("api/attention")
    'api-attention'
    """
    return page.replace("/", "-")


def printed_page(book: Book, page: str) -> Element:
    """Return a page as a `section` whose headings begin at h2, below the book's parts."""
    text = (book.site / f"{page}.html").read_text(encoding="utf8")
    parser = html.HTMLParser(encoding="utf8", huge_tree=True)
    root = html.document_fromstring(text.encode(), parser=parser)
    (article,) = root.xpath("//article[contains(@class, 'bd-article')]")
    in_one_language(article, book)
    name_formulas(article)
    for condition in ON_SCREEN_ONLY:
        drop(article.xpath(f".//*[{condition}]"))
    for box in article.iter("details"):
        box.set("open", "open")
    move_answers(article, book)
    move_solutions(article, book)
    rewrite_links(article, book, page)
    own_ids(article, prefix(page))
    lower_headings(article)
    article.tag = "section"
    article.attrib.clear()
    article.set("class", "chapter")
    article.set("id", prefix(page))
    return article


def drop(elements: list[Element]) -> None:
    """Remove elements, and keep the text that follows them."""
    for element in elements:
        if element.getparent() is not None:
            element.drop_tree()


def in_one_language(article: Element, book: Book) -> None:
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


def name_formulas(article: Element) -> None:
    """A formula is a picture named by its source: read aloud, it is one thing and not fifty."""
    for formula in article.xpath(f".//span[{class_is('katex')}]"):
        (source,) = formula.xpath(".//annotation[@encoding='application/x-tex']")[:1]
        formula.set("role", "img")
        formula.set("aria-label", source.text or "")


def set_word(element: Element, name: str, text: str) -> None:
    if name == "text":
        element.text = text
    else:
        element.set(name, text)


def class_is(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def has_class(element: Element, name: str) -> bool:
    return bool(element.xpath(f"descendant-or-self::*[{class_is(name)}]"))


def move_answers(article: Element, book: Book) -> None:
    """Move the answer of each question behind the chapter, and number both; link the two."""
    questions = article.xpath(f".//div[{class_is('question')} and {class_is('admonition')}]")
    if not questions:
        return
    section = etree.SubElement(article, "section", {"class": "solutions", "id": ANSWERS})
    etree.SubElement(section, "h2").text = book.words["answers"]
    for number, question in enumerate(questions, start=1):
        (answer,) = question.xpath(f"./details[{class_is('question-answer')}]")
        answer.tag, answer.tail = "div", None
        answer.attrib.clear()
        answer.set("class", "printed-answer")
        answer.set("id", f"answer-{number}")
        (summary,) = answer.xpath("./summary")
        summary.tag = "p"
        for child in list(summary):
            summary.remove(child)
        summary.text = None
        there = etree.SubElement(summary, "a", {"href": f"#{question.get('id')}"})
        there.text = book.words["answer_to"].format(number)
        line = etree.SubElement(question, "p", {"class": "to-solution"})
        here = etree.SubElement(line, "a", {"href": f"#answer-{number}"})
        here.text = book.words["to_answer"].format(number)
        section.append(answer)


def move_solutions(article: Element, book: Book) -> None:
    """Move each solution behind the chapter, named by its exercise; link the two."""
    found = article.xpath(f".//div[{class_is('solution')} and {class_is('admonition')}]")
    if not found:
        return
    section = etree.SubElement(article, "section", {"class": "solutions", "id": SOLUTIONS})
    etree.SubElement(section, "h2").text = book.words["solutions"]
    for solution in found:
        exercise = solution.getprevious()
        tail, solution.tail = solution.tail, None
        section.append(solution)
        if tail and exercise is not None:
            exercise.tail = (exercise.tail or "") + tail
        if exercise is not None and has_class(exercise, "exercise"):
            link(exercise, solution, book)


def link(exercise: Element, solution: Element, book: Book) -> None:
    """Name a solution by its exercise, "Solution to Exercise 4.1", and lead from one to other."""
    numbers = exercise.xpath(".//*[contains(@class, 'caption-number')]")
    titles = solution.xpath("./p[contains(@class, 'admonition-title')]")
    if not (numbers and titles and exercise.get("id") and solution.get("id")):
        return
    number = " ".join(numbers[0].text_content().split())
    (title,) = titles
    for child in list(title):
        title.remove(child)
    title.text = None
    there = etree.SubElement(title, "a", {"href": f"#{exercise.get('id')}"})
    there.text = book.words["solution_to"].format(number)
    line = etree.SubElement(exercise, "p", {"class": "to-solution"})
    here = etree.SubElement(line, "a", {"href": f"#{solution.get('id')}"})
    here.text = book.words["to_solution"]


def rewrite_links(article: Element, book: Book, page: str) -> None:
    """Lead links to other pages of the book to their chapters, all others to the web."""
    for element in article.iter("a", "img"):
        name = "href" if element.tag == "a" else "src"
        target = element.get(name)
        if target is None or target.startswith(("data:", "#")):
            continue
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
        if element.tag == "img":
            element.set(name, f"/{path}")
        elif path.removesuffix(".html") in book.pages:
            other = prefix(path.removesuffix(".html"))
            element.set(name, f"#{other}--{parts.fragment}" if parts.fragment else f"#{other}")
            element.set("data-web", book.on_the_web(path, parts.fragment))
        else:
            element.set(name, book.on_the_web(path, parts.fragment))


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
