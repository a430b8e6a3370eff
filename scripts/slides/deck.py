"""Slides become a page of reveal.js that needs nothing but the site's own files."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from lxml import etree, html
from pages.book import LANG
from pages.formulas import as_mathml
from pages.one_language import Element, class_is, is_a

from slides.choose import Slide
from slides.sentences import measure, shown

WORDS = {
    "zh": {
        "keys": "→ 下一步　S 讲稿　O 总览　F 全屏　打印：在地址后加 ?view=print",
        "chapter": "读这一章",
        "try": "试一试",
        "made": "课件由本章自动生成",
        "live": "在书里动手改这幅图",
    },
    "en": {
        "keys": "→ next   S notes   O overview   F full screen   "
        "print: add ?view=print to the address",
        "chapter": "Read the chapter",
        "try": "Try it",
        "made": "made from the chapter itself",
        "live": "Move this figure in the book",
    },
}
PAGE = """<!DOCTYPE html>
<html lang="{lang}" data-language="{language}" data-theme="light">
<head>
<meta charset="utf-8">
{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="reveal/reset.css">
<link rel="stylesheet" href="reveal/reveal.css">
<link rel="stylesheet" href="../_static/katex/katex.min.css">
<link rel="stylesheet" href="../_static/pygments.css">
<link rel="stylesheet" href="../_static/figures.css">
<link rel="stylesheet" href="../_static/diagrams.css">
<link rel="stylesheet" href="../_static/live.css">
<link rel="stylesheet" href="../_static/cut.css">
<link rel="stylesheet" href="../_static/walk.css">
<link rel="stylesheet" href="deck.css">
</head>
<body>
<main><div class="reveal"><div class="slides">
{slides}
</div></div></main>
{scripts}
<script src="reveal/reveal.js"></script>
<script src="reveal/notes.js"></script>
<script src="deck.js"></script>
</body>
</html>
"""
#: What a slide has for its thing, in pixels of 1280 × 720.
WIDE, HIGH = 1160, 520
LARGEST, LARGEST_CODE = 28, 26
#: Width of a letter of code by its size, height of a line by its letters.
LETTER, LINE = 0.605, 1.42
#: A drawing that is higher than this, by its width, stands beside its words.
HIGH_DRAWING = 0.8
LIVE_SCRIPT = re.compile(r'<script[^>]*src="(_static/live/[\w./-]+\.js)(?:\?[^"]*)?"')


@dataclass
class Deck:
    """What the slides of one chapter share: language, titles, where the chapter is."""

    language: str
    title: str
    book: str
    address: str

    @property
    def words(self) -> dict[str, str]:
        return WORDS[self.language]


def deck(slides: list[Slide], about: Deck, *, scripts: list[str], policy: str) -> str:
    """Return the page of a deck; ``scripts`` are files of the site that its live figures need."""
    return PAGE.format(
        lang=LANG[about.language],
        language=about.language,
        title=escape(f"{about.title} · {about.book}"),
        policy=policy,
        slides="\n".join(written(slide, about) for slide in slides),
        scripts="\n".join(f'<script src="../{name}"></script>' for name in scripts),
    )


def scripts_of(page: str) -> list[str]:
    """Return the scripts of live figures that a page of the site loads, in order."""
    return list(dict.fromkeys(LIVE_SCRIPT.findall(page)))


def written(slide: Slide, about: Deck) -> str:
    outer = html.Element("section", {"class": f"s-{slide.kind}"})
    inner = add(outer, "div", "page")
    heading = html.Element("h1" if slide.kind == "title" else "h2")
    source = shown(slide.title)
    heading.text = source.text
    heading.extend(list(source))
    inner.append(heading)
    FILL[slide.kind](inner, slide, about)
    if slide.notes:
        notes = add(outer, "aside", "notes")
        notes.extend(spoken(each) for each in slide.notes)
    return str(html.tostring(outer, encoding="unicode"))


def spoken(element: Element) -> Element:
    """Return text for the notes: formulas as MathML, which needs no stylesheet of ours."""
    copied = shown(element)
    as_mathml(copied)
    for each in copied.iter(etree.Element):
        each.attrib.pop("class", None)
    return copied


def add(parent: Element, tag: str, kind: str = "", text: str | None = None) -> Element:
    child = html.Element(tag, {"class": kind} if kind else {})
    child.text = text
    parent.append(child)
    return child


# ---- one function for each kind ------------------------------------------------------------------


def fill_title(page: Element, slide: Slide, about: Deck) -> None:
    add(page, "p", "book", about.book)
    link = add(add(page, "p", "source"), "a", "", about.words["chapter"])
    link.set("href", about.address)
    link.tail = f" · {about.words['made']}"
    add(page, "p", "keys", about.words["keys"])


def fill_hook(page: Element, slide: Slide, about: Deck) -> None:
    box = add(page, "div", "hook")
    if "scene" in slide.parts:
        add(box, "div", "scene").append(slide.parts["scene"])
    add(box, "div", "asked").append(slide.parts["text"])


def fill_keep(page: Element, slide: Slide, about: Deck) -> None:
    if "list" in slide.parts:
        fill_list(page, slide, about)
    else:
        add(page, "div", "keep").append(slide.parts["text"])


def fill_list(page: Element, slide: Slide, about: Deck) -> None:
    add(page, "div", "list").append(slide.parts["list"])


def fill_formula(page: Element, slide: Slide, about: Deck) -> None:
    put_line(page, slide.parts["lead"])
    add(page, "div", "formula").append(slide.parts["formula"])


def fill_question(page: Element, slide: Slide, about: Deck) -> None:
    """Put the question; the next step shows the answer."""
    for prompt in slide.parts["prompt"]:
        table = prompt.tag == "table" or prompt.find(".//table") is not None
        add(page, "div", "table" if table else "prompt").append(prompt)
    if (painted := slide.parts.get("painted")) is not None:
        for mark in painted.xpath(".//p[contains(., '●')]"):
            step(mark, "fragment", 0)
        add(page, "div", "table painted").append(painted)
    if slide.parts["options"]:
        options = add(page, "ol", "options")
        for number, option in enumerate(slide.parts["options"]):
            if number == slide.parts["right"]:
                tick = add(last_paragraph(option), "span", "fragment tick", "\u00a0✓")
                tick.set("data-fragment-index", "0")
            options.append(option)
    if slide.parts["answer"]:
        answer = add(page, "div", "answer fragment")
        answer.set("data-fragment-index", "0")
        answer.extend(slide.parts["answer"])


def last_paragraph(item: Element) -> Element:
    return (item.findall("p") or [item])[-1]


def fill_table(page: Element, slide: Slide, about: Deck) -> None:
    put_line(page, slide.parts["lead"])
    table = slide.parts["table"]
    rows = list(table.iter("tr"))
    columns = max(len(row) for row in rows)
    size = min(LARGEST, HIGH / len(rows) / 1.9, 210 / columns)
    table.set("style", f"font-size:calc({size:.0f}px * var(--scale))")
    add(page, "div", "table").append(table)


def fill_code(page: Element, slide: Slide, about: Deck) -> None:
    put_line(page, slide.parts["lead"])
    box = add(page, "div", "code")
    blocks = [each for code, printed in slide.parts["cells"] for each in (code, *printed)]
    size = size_of(blocks)
    for code, printed in slide.parts["cells"]:
        put_code(box, code, "input", size)
        for each in printed:
            put_code(box, each, "output", size)


def size_of(blocks: list[Element], wide: float = WIDE, high: float = HIGH) -> float:
    """Return the size of letters at which blocks of code fit, in pixels."""
    lines = sum(measure(block)[0] + 1.1 for block in blocks)
    columns = max(measure(block)[1] for block in blocks)
    return min(LARGEST_CODE, high / lines / LINE, (wide - 40) / columns / LETTER)


def put_code(box: Element, code: Element, kind: str, size: float) -> None:
    code.tail = None
    code.set("style", f"font-size:{size:.1f}px")
    add(box, "div", f"highlight {kind}").append(code)


def fill_drawing(page: Element, slide: Slide, about: Deck) -> None:
    """A drawing has the slide for itself; a high one stands beside its line, as does its code."""
    figure, code = slide.parts["figure"], slide.parts.get("code")
    high = tidy(figure) > HIGH_DRAWING
    if code is None and not high:
        put_line(page, slide.parts.get("caption"))
        page.append(figure)
        return
    both = add(page, "div", "two")
    left = add(both, "div", "beside")
    put_line(left, slide.parts.get("caption"))
    if code is not None:
        put_code(left, code, "input", size_of([code], 560, 400))
    both.append(figure)


def fill_live(page: Element, slide: Slide, about: Deck) -> None:
    """A live figure runs; one that needs a model or more room stands still, as a drawing."""
    figure = slide.parts["figure"]
    put_line(page, slide.parts.get("caption"))
    page.append(figure)
    figure.attrib.pop("id", None)
    for place in figure.xpath(".//*[@data-live]"):
        place.attrib.pop("id", None)
        if stands_still(place):
            stand_still(place)
            address = f"{about.address}#{slide.parts['id']}" if slide.parts["id"] else about.address
            link = add(add(page, "p", "to-live"), "a", "", about.words["live"])
            link.set("href", address)


def stands_still(place: Element) -> bool:
    return place.get("data-live") in ("translator", "cut", "walk", "next-word") or (
        place.find("./script") is not None
    )


def stand_still(place: Element) -> None:
    """Leave the widest drawing of a live figure, or where there is none, what does nothing."""
    del place.attrib["data-live"]
    drawings = place.xpath(".//svg[not(ancestor::noscript)]")
    if drawings:
        widest = max(drawings, key=lambda each: float(each.get("viewbox").split()[2]))
        widest.tail = None
        (kind, *_) = place.xpath(f"descendant-or-self::*[{class_is('live')}]/@class") or ["live"]
        place.set("class", f"{kind} still")
        place[:] = [widest]
    for part in place.xpath(".//script | .//form | .//details | .//button[not(@class)]"):
        part.drop_tree()


def fill_stages(page: Element, slide: Slide, about: Deck) -> None:
    """Each stage is a step: reveal.js counts fragments from 0, a drawing its stages from 1."""
    put_line(page, slide.parts.get("caption"))
    both = add(page, "div", "two")
    figure = slide.parts["figure"]
    tidy(figure)
    for part in list(figure.xpath(".//*[@data-stage]")):
        begin, _, end = part.get("data-stage").partition("-")
        del part.attrib["data-stage"]
        if int(begin) > 1:
            step(part, "fragment", int(begin) - 2)
        if end:
            around = html.Element("g", {"class": "fragment fade-out until"})
            around.set("data-fragment-index", str(int(end) - 1))
            part.addprevious(around)
            around.tail, part.tail = part.tail, None
            around.append(part)
    both.append(figure)
    told = add(both, "ol", "told")
    for number, item in enumerate(slide.parts["stages"].iter("li")):
        line = copy.deepcopy(item)
        line.tail = None
        if number:
            step(line, "fragment", number - 1)
        told.append(line)


def step(element: Element, kind: str, index: int) -> None:
    element.set("class", f"{element.get('class') or ''} {kind}".strip())
    element.set("data-fragment-index", str(index))


def fill_try(page: Element, slide: Slide, about: Deck) -> None:
    exercise = slide.parts["exercise"]
    for title in exercise.xpath("./p[contains(@class, 'admonition-title')]"):
        for child in list(title):
            title.remove(child)
        title.text = about.words["try"]
    add(page, "div", "exercises").append(exercise)


def fill_exercises(page: Element, slide: Slide, about: Deck) -> None:
    box = add(page, "div", "exercises")
    box.extend(shown(exercise) for exercise in list(slide.parts["exercise"]))


FILL: dict[str, Callable[[Element, Slide, Deck], None]] = {
    "title": fill_title,
    "hook": fill_hook,
    "keep": fill_keep,
    "goals": fill_list,
    "text": fill_list,
    "formula": fill_formula,
    "question": fill_question,
    "table": fill_table,
    "code": fill_code,
    "diagram": fill_drawing,
    "plot": fill_drawing,
    "live": fill_live,
    "stages": fill_stages,
    "try": fill_try,
    "exercises": fill_exercises,
}


def put_line(page: Element, line: Element | None) -> None:
    if line is not None:
        add(page, "div", "lead").append(shown(line))


def tidy(figure: Element) -> float:
    """Let a drawing fill its place, without the page's limit of width; return height by width."""
    figure.attrib.pop("id", None)
    ratio = 0.0
    for svg in figure.iter("svg"):
        svg.attrib.pop("style", None)
        box = (svg.get("viewbox") or svg.get("viewBox") or "").split()
        if len(box) == 4 and is_outer(svg):
            ratio = max(ratio, float(box[3]) / float(box[2]))
    return ratio


def is_outer(svg: Element) -> bool:
    return not any(each.tag == "svg" for each in svg.iterancestors()) and not is_a(svg, "icon")
