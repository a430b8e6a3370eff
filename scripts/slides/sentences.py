"""Copies of a page's text for slides: one sentence of it, some, or all, without links and notes."""

from __future__ import annotations

import copy
import re

from lxml import etree, html
from pages.one_language import Element, class_is

#: A bracket or a quotation mark that closes belongs to the sentence before it.
SENTENCE_END = re.compile(
    r"(?<=[。！？])(?![）”])|(?<=[。！？][）”])"
    r"|(?<=[.!?:])\s*\n\s*|(?<=[.!?])\s+(?=[A-Z“(])|(?<=[.!?][)”])\s+(?=[A-Z“(])"
)
CHINESE = re.compile("[\u4e00-\u9fff]")
EMPHASIS = ("strong", "em")
AFTER_EMPHASIS = re.compile(r"(?:[。！？]|[.!?](?=\s+[A-Z“(]))(\s*)(?=\S)")
#: What drawings lead to by its id.
DRAWN = ("svg", "use", "g", "clippath", "lineargradient", "marker", "path", "pattern", "mask")


def shown(element: Element) -> Element:
    """Return a copy for a slide: no links, no notes of sources, no ids."""
    copied = copy.deepcopy(element)
    copied.tail = None
    aside = class_is("bibtex-citation", "headerlink", "claim-mark")
    for citation in copied.xpath(f".//*[{aside}]"):
        without_blank_before(citation)
        citation.drop_tree()
    for gone in copied.xpath(f".//script | .//*[{class_is('section-weight', 'to-solution')}]"):
        gone.drop_tree()
    for language in copied.xpath(f".//span[{class_is('bl')}]"):
        language.drop_tag()
    for inner in [*copied.iter("section"), *copied.iter("aside")]:
        inner.tag = "div"  # to reveal.js a section is a slide, an aside may be its notes
    for anchor in list(copied.iter("a")):
        if anchor is copied:
            continue
        # The title of a section is told from the sentence around it; Chinese has marks for titles.
        is_title = anchor.xpath(f".//span[{class_is('std-ref')}]")
        if is_title and not CHINESE.search(anchor.text_content()):
            anchor.tag = "cite"
            anchor.attrib.clear()
        else:
            anchor.drop_tag()
    for each in copied.iter(etree.Element):
        if each.tag not in DRAWN:
            each.attrib.pop("id", None)
    return copied


def without_blank_before(element: Element) -> None:
    """Take away the blank between a word and a citation that goes."""
    before = element.getprevious()
    if before is not None and before.tail:
        before.tail = before.tail.rstrip()
    elif before is None and element.getparent().text:
        element.getparent().text = element.getparent().text.rstrip()


def as_paragraph(element: Element) -> Element:
    paragraph = copy.deepcopy(element)
    paragraph.tag, paragraph.tail = "p", None
    return paragraph


def paragraphs_of(block: Element) -> list[Element]:
    """Return the paragraphs of a block, but for those of lists."""
    found = block.xpath("descendant-or-self::p")
    return [each for each in found if not list(each.iterancestors("li"))]


def lead(pending: list[Element]) -> Element | None:
    """Return the sentence that leads to what is shown: the last one before it."""
    for block in reversed(pending):
        if found := paragraphs_of(block):
            paragraph = shown(found[-1])
            first = -1
            while is_open(sentences(paragraph, first, None)) and -first < count(paragraph):
                first -= 1
            return sentences(paragraph, first, None)
    return None


def is_open(sentence: Element) -> bool:
    """Does a sentence close a bracket that an earlier one has opened?"""
    text = sentence.text_content()
    return any(text.count(end) > text.count(begin) for begin, end in ("()", "（）", "“”"))


def points(blocks: list[Element], limit: int = 4, *, whole: bool = False) -> Element:
    """Return a list of the first sentences of some blocks, or of all that they say."""
    holder = html.Element("ul")
    for block in blocks[:limit]:
        paragraph = next(iter(block.xpath("descendant-or-self::p")), block)
        item = as_paragraph(shown(paragraph))
        if not whole:
            item = sentences(item, 0, 1)
        item.tag = "li"
        holder.append(item)
    return holder


def question_of(block: Element, limit: int) -> tuple[Element | None, Element]:
    """Return the last question of a paragraph, led to as far as there is room, after the rest."""
    paragraph = shown(next(iter(block.xpath("descendant-or-self::p"))))
    single = [sentences(paragraph, number, number + 1) for number in range(count(paragraph))]
    asked = [number for number, each in enumerate(single) if asks(each)]
    end = asked[-1] + 1 if asked else len(single)
    first = end - 1
    while first and wide(sentences(paragraph, first - 1, end).text_content()) <= limit:
        first -= 1
    before = sentences(paragraph, 0, first) if first else None
    return before, sentences(paragraph, first, end)


def asks(element: Element) -> bool:
    """Does it ask? A title that asks may be named within a sentence."""
    return bool(re.search("[?？](?![.,。，])", element.text_content()))


def beginning_of(caption: Element, limit: int) -> Element:
    """Return as many sentences of a caption as a slide has room for, one at least."""
    number = count(caption)
    while number > 1 and wide(sentences(caption, 0, number).text_content()) > limit:
        number -= 1
    return sentences(caption, 0, number)


def wide(text: str) -> int:
    """Return a text's width in letters; a Chinese one counts for two.

    >>> wide("a 掩码")
    6
    """
    return sum(2 if letter > "\u2e7f" else 1 for letter in text)


def count(paragraph: Element) -> int:
    """Return how many sentences a paragraph has."""
    return len(bounds_of(paragraph)) - 1


def bounds_of(paragraph: Element) -> list[tuple[int, int]]:
    """Return where sentences begin: (number of the child before, or -1; place in its tail).

    No sentence ends in a formula or in code; one that is emphasized may end with its emphasis.
    """
    pieces = [(-1, paragraph.text or "")]
    pieces += [(number, child.tail or "") for number, child in enumerate(paragraph)]
    cuts = [
        (number, found.end())
        for number, text in pieces
        for found in SENTENCE_END.finditer(text)
        if found.end()
    ]
    for number, child in enumerate(paragraph):
        if child.tag in EMPHASIS and (after := AFTER_EMPHASIS.match(ending(child))):
            cuts.append((number, len(after[1])))
    cuts.sort()
    last, text = pieces[-1]
    cuts = [cut for cut in cuts if not (cut[0] == last and not text[cut[1] :].strip())]
    return [(-1, 0), *cuts, (len(paragraph), 0)]


def ending(child: Element) -> str:
    """Return the last letter of an element, and the text after it."""
    return (child.text_content()[-1:] or " ") + (child.tail or "")


def sentences(paragraph: Element, first: int, end: int | None) -> Element:
    """Return a copy of a paragraph with some of its sentences, counted as a slice counts."""
    bounds = bounds_of(paragraph)
    chosen = list(range(len(bounds) - 1))[slice(first, end)] or [0]
    (start, start_at), (stop, stop_at) = bounds[chosen[0]], bounds[chosen[-1] + 1]
    result = copy.deepcopy(paragraph)
    children = list(result)
    if stop == -1:
        result.text = (result.text or "")[:stop_at]
    elif stop < len(children):
        children[stop].tail = (children[stop].tail or "")[:stop_at]
    for child in children[stop + 1 :]:
        result.remove(child)
    if start > -1:
        rest = (children[start].tail or "")[start_at:]
        for child in children[: start + 1]:
            result.remove(child)
        result.text = rest.lstrip()
    elif start_at:
        result.text = (result.text or "")[start_at:].lstrip()
    return result


def measure(block: Element) -> tuple[int, int]:
    """Return a block's lines and the width of its longest line."""
    lines = block.text_content().rstrip("\n").split("\n")
    return len(lines), max(map(wide, lines), default=0)
