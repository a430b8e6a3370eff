"""A page of the built site becomes a chapter of the EPUB, its solutions a file of their own.

What an e-reader needs besides one language: formulas as MathML, drawings as files, code that
breaks its lines, links between files.
"""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass, field

from lxml import etree, html
from pages.answers import take_answers, take_solutions
from pages.book import Book
from pages.formulas import as_mathml
from pages.one_language import (
    ON_THE_PAGE_ONLY,
    Element,
    article_of,
    class_is,
    drop_where,
    is_a,
    place,
    words,
)

from epub.figures import drawings, file_of, width_of

WORDS = {
    "zh": {
        "solutions": "解答：{}",
        "to_solution": "看解答 →",
        "to_answer": "第 {} 题；看答案 →",
        "move": "这幅图在网上可以动手改",
    },
    "en": {
        "solutions": "Solutions: {}",
        "to_solution": "Solution →",
        "to_answer": "Question {}; answer →",
        "move": "On the web you can move this figure",
    },
}
#: What an e-reader cannot use, or what nobody reads there: the code of plots, controls.
LEFT_OUT = (
    *ON_THE_PAGE_ONLY,
    class_is(
        "toctree-wrapper", "live-controls", "claim-mark", "walk-lines", "walk-frame", "next-track"
    ),
    class_is("live-cut-narrow", "live-cut-tools"),  # the same drawing for phones; its buttons
    f"self::button[not({class_is('live-word')})]",
    f"self::details[{class_is('hide')}]",
    f"self::details[ancestor::div[{class_is('live')}]]",
    "self::textarea or self::input or self::progress or self::select",
)
#: Wrappers that mean nothing once there is one language.
UNWRAPPED = (
    f"self::span[{class_is('bl', 'pre', 'katex-mathml', 'katex', 'katex-display')}]",
    f"self::div[{class_is('bl-pair', 'bl', 'math-scroll', 'live-frame')}]",
    f"self::a[{class_is('number-link')}]",
)
#: Classes that reader.css or anything here asks for; all others go.
_KEPT = """
admonition admonition-title note tip warning important seealso exercise solution question claim
proof opening opening-part opening-title sources section-weight caption-number section-number
eqno math line unbroken citation citation-list label footnote verdict live live-readout live-note
live-hidden live-word live-weight live-line live-label glossary to-solution printed-answer
cell_output output stream wide drawing c1 cm cp k kc kd kn kr kt nb nc nd nf nn mi mf mb mh mo o
ow s s1 s2 sa sd se si bp fm ne gp go
"""
KEPT_CLASSES = frozenset(_KEPT.split())
#: What only a page asks of an element.
OF_PAGES = (
    "lang", "title", "target", "rel", "translate", "contenteditable", "hidden", "spellcheck",
)  # fmt: skip
OF_TABLES = ("width", "align", "valign", "border")
WIDE = 5  # columns
LONG_FORMULA = 50  # letters of its source
#: Sections that every chapter has: not in the table of contents.
EVERYWHERE = ("part-keep", "part-exercises", "part-reading")
REFERS = ("aria-labelledby", "aria-describedby", "aria-controls")


@dataclass
class File:
    """One file of the book: its name, title, body and the drawings that it shows."""

    name: str
    title: str
    body: Element
    headings: list[tuple[str, str]] = field(default_factory=list)
    drawings: dict[str, bytes] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)  # name in the book: path in the site


@dataclass
class Chapter:
    """A page as one file, or two: what it says, and the answers to what it asks."""

    page: str
    text: File
    solutions: File | None

    @property
    def files(self) -> list[File]:
        return [self.text] if self.solutions is None else [self.text, self.solutions]


def file_name(page: str) -> str:
    """Return what the files of a page are called.

    >>> file_name("api/attention")
    'api-attention'
    """
    return page.replace("/", "-")


def chapter(book: Book, page: str) -> Chapter:
    """Return a page of the site as the book has it."""
    article = article_of(book, page)
    as_mathml(article)
    drop_where(article, LEFT_OUT)
    for element in article.xpath(".//*[@tabindex]"):
        del element.attrib["tabindex"]  # of a page that folds and scrolls
    for box in article.xpath(f".//div[{class_is('page-python')}]"):
        box.attrib.pop("id", None)  # where a page has a place to write code
    text = File(f"{file_name(page)}.xhtml", words(next(article.iter("h1"))), article)
    lead_to_the_web(article, book, page)
    pictures(article, book, page, text)
    for condition in UNWRAPPED:
        for element in article.xpath(f".//*[{condition}]"):
            element.drop_tag()
    words_of_translators(article)
    long_formulas(article)
    tables(article)
    for block in article.iter("pre"):
        break_lines(block)
    links(article, book, page)
    article.tag = "section"
    solutions = solutions_of(article, book, page, text)
    text.headings = headings_of(article)
    found = Chapter(page, text, solutions)
    for each in found.files:
        for box in list(each.body.iter("details")):
            open_box(box)
        clean(each.body)
    return found


def headings_of(article: Element) -> list[tuple[str, str]]:
    """Return the id and the title of each section, but for those that every chapter has."""
    sections = [heading.getparent() for heading in article.iter("h2")]
    named = [each for each in sections if each.get("id") and not is_a(each, *EVERYWHERE)]
    return [(each.get("id"), words(each.find("h2"))) for each in named]


def open_box(box: Element) -> None:
    """Make of a folded box an open one: not all reading systems can open one."""
    box.tag = "div"
    box.attrib.pop("open", None)
    for summary in box.findall("summary"):
        summary.tag = "p"
        summary.set("class", f"admonition-title {summary.get('class', '')}")


def lead_to_the_web(article: Element, book: Book, page: str) -> None:
    """Lead from a live figure to the place where it answers."""
    for figure in article.xpath(f".//figure[{class_is('live-figure')}]"):
        for caption in figure.iter("figcaption"):
            line = etree.SubElement(caption, "p", {"class": "live-note"})
            address = book.on_the_web(f"{page}.html", figure.get("id") or "")
            etree.SubElement(line, "a", {"href": address}).text = WORDS[book.language]["move"]


def pictures(article: Element, book: Book, page: str, file: File) -> None:
    """Put drawings into files, and note the images of the site."""
    for svg in drawings(article):
        label = svg.get("aria-label") or described_by(svg, article)
        content = file_of(svg, book.site / "_static")
        name = f"images/{hashlib.sha256(content).hexdigest()[:12]}.svg"
        file.drawings[name] = content
        image = html.Element("img", {"src": name, "alt": label, "class": "drawing"})
        image.set("style", f"width:{width_of(content) / 16:.4g}em")
        image.tail, svg.tail = svg.tail, None
        svg.getparent().replace(svg, image)
    for image in article.iter("img"):
        found = place(image.get("src"), page)
        if image.get("src") in file.drawings or found is None:
            continue
        name = f"images/{posixpath.basename(found[0])}"
        file.images[name] = found[0]
        image.set("src", name)
        for attribute in ("width", "height", "style"):
            image.attrib.pop(attribute, None)
    for hidden in article.xpath(f".//p[{class_is('live-hidden')}]"):
        hidden.drop_tree()  # it was the drawing's name, and is the picture's now
    present = {element.get("id") for element in article.iter(etree.Element)}
    for element in article.iter(etree.Element):
        for name in REFERS:
            if element.get(name) and not set(element.get(name).split()) <= present:
                del element.attrib[name]


def described_by(svg: Element, article: Element) -> str:
    names = (svg.get("aria-labelledby") or "").split()
    found = [article.xpath(".//*[@id=$name]", name=name) for name in names]
    return " ".join(words(each[0]) for each in found if each)


def words_of_translators(article: Element) -> None:
    """A word that a reader can press on the page is a word."""
    for button in list(article.iter("button")):
        button.tag = "span"
        for name in ("type", "aria-pressed", "style", "aria-label"):
            button.attrib.pop(name, None)


def long_formulas(article: Element) -> None:
    """A formula that may be wider than a telephone scrolls, by keyboard as well."""
    for formula in article.xpath(f".//div[{class_is('math')}]"):
        if any(len(math.get("alttext", "")) > LONG_FORMULA for math in formula.iter("math")):
            formula.set("tabindex", "0")


def tables(article: Element) -> None:
    for numbered in article.xpath(".//ol[contains(@class, 'upperalpha')]"):
        numbered.set("type", "A")
    for table in article.iter("table"):
        if max((len(row) for row in table.iter("tr")), default=0) >= WIDE:
            table.set("class", f"{table.get('class', '')} wide")


def break_lines(block: Element) -> None:
    """Give each line of code its element: one that does not fit goes on indented.

    A block in which an element spans lines stays as it is.
    """
    if any("\n" in child.text_content() for child in block):
        return
    pieces: list[Element | str] = [block.text or ""]
    for child in list(block):
        pieces += [child, child.tail or ""]
        child.tail = None
        block.remove(child)
    block.text = None
    line = etree.SubElement(block, "span", {"class": "line"})
    for piece in pieces:
        if not isinstance(piece, str):
            line.append(piece)
            continue
        first, *others = piece.split("\n")
        append(line, first)
        for other in others:
            append(line, "\n")
            line = etree.SubElement(block, "span", {"class": "line"})
            append(line, other)
    if not line.text_content():
        block.remove(line)


def append(element: Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def links(article: Element, book: Book, page: str) -> None:
    """Lead links to other chapters to their files, all others to the web."""
    for anchor in article.iter("a"):
        if (found := place(anchor.get("href"), page)) is None:
            continue
        path, fragment = found
        other = path.removesuffix(".html")
        if other in book.pages:
            there = f"{file_name(other)}.xhtml"
            anchor.set("href", f"{there}#{fragment}" if fragment else there)
        else:
            anchor.set("href", book.on_the_web(path, fragment))


def solutions_of(article: Element, book: Book, page: str, text: File) -> File | None:
    """Take solutions, and the answers to questions, into a file of their own."""
    said = WORDS[book.language]
    answers = take_answers(article, book.language, said["to_answer"])
    solutions = take_solutions(article, book.language, said["to_solution"])
    sections = [each for each in (solutions, answers) if each is not None]
    if not sections:
        return None
    body = html.Element("section")
    etree.SubElement(body, "h1").text = text.title
    body.extend(sections)
    file = File(f"{file_name(page)}-solutions.xhtml", said["solutions"].format(text.title), body)
    for image in body.iter("img"):
        source = image.get("src")
        if source in text.drawings:
            file.drawings[source] = text.drawings[source]
        elif source in text.images:
            file.images[source] = text.images[source]
    return file


def clean(body: Element) -> None:
    """Drop classes and attributes that nothing here uses, and elements that then say nothing."""
    for element in body.iter(etree.Element):
        kept = [name for name in (element.get("class") or "").split() if name in KEPT_CLASSES]
        element.attrib.pop("class", None)
        if kept:
            element.set("class", " ".join(dict.fromkeys(kept)))
        of_page = [name for name in element.attrib if name.startswith("data-")]
        for name in (*OF_PAGES, *of_page):
            element.attrib.pop(name, None)
        if element.tag in ("td", "th", "col", "table", "tr"):
            for name in OF_TABLES:
                element.attrib.pop(name, None)
    for element in [*body.iter("span"), *body.iter("div")]:
        if not element.attrib and element.getparent() is not None:
            element.drop_tag()
