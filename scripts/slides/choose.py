"""What of a chapter goes onto slides.

A chapter already has all that a lecture shows: a scene and its question, drawings, formulas, short
code, plots, questions to the reader, a line to keep. Each becomes a slide, in the chapter's order;
the text between two of them becomes the notes of the slide after it. Where the rule chooses badly
the source says so: `no-slide` takes away, `slide` adds.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from lxml import html
from pages.one_language import Element, class_is, is_a, words

from slides.sentences import (
    as_paragraph,
    asks,
    beginning_of,
    lead,
    measure,
    points,
    question_of,
    shown,
)

FEWEST, MOST = 16, 20
#: What is dropped first where there are more than MOST; what is 100 is never dropped.
WORTH = {
    "title": 100,
    "hook": 100,
    "keep": 100,
    "live": 90,
    "stages": 88,
    "formula": 85,
    "question": 80,
    "diagram": 75,
    "exercises": 100,
    "plot": 60,
    "code": 55,
    "text": 45,
    "goals": 40,
    "try": 35,
    "check": 34,  # code that says True
    "preparation": 33,  # code that says nothing and defines nothing
    "remark": 32,  # a line of code or two
    "table": 30,
}
NEVER_DROPPED, MARKED = 100, 200
#: At the most; what is longer is for reading.
CODE_LINES, TABLE_ROWS, TABLE_COLUMNS = 18, 9, 9
CODE_COLUMNS = 92
#: Letters of a caption, and of the question of a hook; a Chinese one counts for two.
CAPTION, HOOK = 190, 170
#: Of code that stands beside the plot that it makes.
BESIDE_LINES, BESIDE_COLUMNS = 10, 54
REMARK_LINES = 2
#: The exercises at the end that a lecture shows.
TO_DO, DO = 2, "●"
#: What stands beside the story, or is no lecturer's to show.
ASIDE = (
    "sources", "tag_evidence", "tag_setup", "solution", "toctree-wrapper", "own-file",
    "revealed", "page-python",
)  # fmt: skip
RIGHT = "✓"
_DEFINES = re.compile(r"^(def|class|@)", re.MULTILINE)
_SET_UP = re.compile(r"(import|from|notebook\.setup|set_seed|#|\))|^[\w, ]+,?$")


@dataclass
class Slide:
    """One slide: its kind, heading, what it shows, and what is said to it."""

    kind: str
    title: Element
    parts: dict[str, Any] = field(default_factory=dict)
    notes: list[Element] = field(default_factory=list)
    marked: bool = False

    @property
    def worth(self) -> int:
        kind = kind_of_code(self.parts["cells"]) if self.kind == "code" else self.kind
        return WORTH[kind] + (MARKED if self.marked else 0)


def kind_of_code(cells: list[tuple[Element, list[Element]]]) -> str:
    """Return what code on a slide is: most of it is worth less than a drawing or a question."""
    if sum(measure(code)[0] for code, _ in cells) <= REMARK_LINES:
        return "remark"
    said = [" ".join(each.text_content().split()) for _, printed in cells for each in printed]
    if not said and not any(_DEFINES.search(code.text_content()) for code, _ in cells):
        return "preparation"
    return "check" if set(said) == {"True"} else "code"


@dataclass
class Chosen:
    """The slides of a chapter, and what was left out because there were too many."""

    slides: list[Slide]
    left_out: list[str]


def slides_of(article: Element) -> Chosen:
    """Return the slides of a chapter that is in one language."""
    (main,) = article.xpath("./section")[:1]
    heading = main.find("h1")
    found = [Slide("title", heading)]
    found += beginning(heading, [block for block in main if block.tag not in ("h1", "span")])
    for section in main.findall("section"):
        found += section_slides(section)
    return fitting(found)


def fitting(found: list[Slide]) -> Chosen:
    """Drop what is worth least until a lecture can hold the rest."""
    left_out = []
    while len(found) > MOST:
        least = min(found, key=lambda slide: (slide.worth, -found.index(slide)))
        if least.worth >= NEVER_DROPPED:
            break
        place = found.index(least)
        if place + 1 < len(found):  # what was to be said is said before the next
            found[place + 1].notes = least.notes + found[place + 1].notes
        left_out.append(f"{least.kind}: {words(shown(least.title))}")
        found.remove(least)
    return Chosen(found, left_out)


# ---- marks ---------------------------------------------------------------------------------------


def marked(element: Element) -> bool:
    return bool(element.xpath(f"descendant-or-self::*[{class_is('slide', 'tag_slide')}]"))


def unwanted(element: Element) -> bool:
    """`no-slide` stands at the block itself or at all that is in it."""
    if is_a(element, "no-slide", "tag_no-slide"):
        return True
    inner = element.xpath(f".//*[{class_is('no-slide', 'tag_no-slide')}]")
    told = "".join(each.text_content() for each in inner)
    return bool(inner) and len(told) > 0.8 * len(element.text_content().strip())


# ---- the beginning -------------------------------------------------------------------------------


def beginning(heading: Element, blocks: list[Element]) -> list[Slide]:
    """Return a recall; the scene and its question; what follows it; what one will be able to do."""
    found: list[Slide] = []
    recalls: list[Slide] = []
    goals: list[Slide] = []
    hook: list[Element] = []
    for block in blocks:
        if block.tag == "section":
            break
        if unwanted(block) or is_a(block, *ASIDE):
            continue
        if is_a(block, "opening"):
            goals = aims(block)
        elif is_a(block, "question"):
            (recalls if is_a(block, "question-recall") else found).append(question(heading, block))
        elif block.tag == "figure":
            found.append(figure(heading, block, []))
        elif is_a(block, "cell"):
            found += cell(heading, block, [], found)
        elif is_text(block) and has_part(block, "part-hook"):
            hook.append(block)
    return recalls[:1] + scene(heading, hook) + found + goals


def has_part(block: Element, name: str) -> bool:
    return bool(block.xpath(f"descendant-or-self::*[{class_is(name)}]"))


def scene(heading: Element, hook: list[Element]) -> list[Slide]:
    """Return the first paragraph, and the last question that it leads to."""
    if not hook:
        return []
    asked = [block for block in hook if asks(block)]
    last = asked[-1] if asked else hook[0]
    before, question = question_of(last, HOOK)
    parts: dict[str, Any] = {"text": question}
    if last is not hook[0]:
        parts["scene"] = shown(hook[0])
    elif before is not None:
        parts["scene"] = before
    return [Slide("hook", heading, parts, hook)]


def aims(opening: Element) -> list[Slide]:
    goals = opening.xpath(f".//div[{class_is('opening-goal')}]")[:1]
    items = goals[0].find(".//ul") if goals else None
    if items is None:
        return []
    return [Slide("goals", goals[0].find(".//p"), {"list": shown(items)}, [])]


# ---- sections ------------------------------------------------------------------------------------


def section_slides(section: Element) -> list[Slide]:
    heading = section.find("h2")
    if heading is None or is_a(section, "no-slide", "part-reading"):
        return []
    if is_a(section, "part-keep"):
        return keep(section, heading)
    if is_a(section, "part-exercises"):
        return exercises(section, heading)
    optional = bool(heading.xpath(f".//*[{class_is('weight-optional')}]"))
    if optional and not marked(section):
        return []
    whole = not optional or is_a(section, "slide")  # MyST puts a heading's class at its section
    return [slide for slide in body(section, heading) if whole or slide.marked]


def body(section: Element, heading: Element) -> list[Slide]:
    """Return the slides of a section, in order; what is said before each becomes its notes."""
    found: list[Slide] = []
    pending: list[Element] = []
    texts: list[Element] = []
    for child in section:
        before = len(found)
        if child.tag in ("h2", "h3", "span") or unwanted(child) or is_a(child, *ASIDE):
            continue
        if child.tag == "section":  # a sub-section goes on under its own heading
            title = child.find("h3")
            found += body(child, heading if title is None else title)
        elif child.tag == "figure":
            found.append(figure(heading, child, pending))
        elif is_a(child, "math"):
            parts = {"lead": lead(pending), "formula": shown(child)}
            found.append(Slide("formula", heading, parts, list(pending), marked(child)))
        elif is_a(child, "question"):
            found.append(question(heading, child, pending))
        elif is_table(child):
            found += table(heading, child, pending)
        elif is_a(child, "cell"):
            found += cell(heading, child, pending, found)
        elif is_a(child, "exercise") and child.find(".//p") is not None:
            parts = {"exercise": shown(child)}
            found.append(Slide("try", heading, parts, list(pending), marked(child)))
        elif is_text(child) or is_a(child, "claim"):
            texts.append(child)
            pending.append(child)
            if marked(child):
                parts = {"list": points([child], whole=True)}
                found.append(Slide("text", heading, parts, [child], True))
        if len(found) > before:
            pending = []
    if not found and texts:
        found.append(Slide("text", heading, {"list": points(texts)}, texts))
    elif found and pending:  # what is said after the last thing is shown
        found[-1].notes += pending
    return found


def is_text(block: Element) -> bool:
    return block.tag in ("p", "ul", "ol", "dl") or (
        block.tag == "div" and is_a(block, "bl", "bl-pair", "text")
    )


def is_table(block: Element) -> bool:
    return block.tag == "table" or (block.find(".//table") is not None and not is_text(block)
                                    and not is_a(block, "cell", "exercise"))  # fmt: skip


def keep(section: Element, heading: Element) -> list[Slide]:
    """Return the line to keep; of an older summary, its first sentences."""
    blocks = [child for child in section if is_text(child)]
    items = [item for block in blocks for item in block.iter("li")]
    if items:
        return [Slide("keep", heading, {"list": points(items[:5])}, blocks)]
    return [Slide("keep", heading, {"text": shown(block)}, blocks[1:]) for block in blocks[:1]]


def exercises(section: Element, heading: Element) -> list[Slide]:
    """Return the exercises marked ●, else the first two."""
    boxes = [child for child in section if is_a(child, "exercise") and not unwanted(child)]
    chosen = [box for box in boxes if DO in box.text_content()] or boxes
    if not chosen:
        return []
    holder = html.Element("div")
    holder.extend(copy.deepcopy(box) for box in chosen[:TO_DO])
    return [Slide("exercises", heading, {"exercise": holder}, [])]


# ---- things --------------------------------------------------------------------------------------


def figure(heading: Element, element: Element, pending: list[Element]) -> Slide:
    """Return a drawing, a plot, stages or a live figure, with as much of its caption as fits."""
    drawing = copy.deepcopy(element)
    drawing.tail = None
    parts: dict[str, Any] = {"figure": drawing, "id": element.get("id")}
    caption = drawing.find("figcaption")
    legend = drawing.xpath(f".//div[{class_is('legend')}]")
    notes = list(pending)
    if caption is not None:
        line = caption.xpath(f".//*[{class_is('caption-text')}]")[:1] or [caption]
        parts["caption"] = beginning_of(shown(as_paragraph(line[0])), CAPTION)
        notes.append(as_paragraph(line[0]))
        caption.drop_tree()
    kinds = [name for name in ("live-figure", "stages", "diagram") if is_a(element, name)]
    kind = {"live-figure": "live", "stages": "stages", "diagram": "diagram"}[
        kinds[0]] if kinds else "plot"  # fmt: skip
    if kind == "stages" and legend:
        parts["stages"] = copy.deepcopy(legend[0])
    for each in [*legend, *drawing.xpath(f".//*[{class_is('stages-panel')}]")]:
        each.drop_tree()
    return Slide(kind, heading, parts, notes, marked(element))


def question(heading: Element, element: Element, pending: list[Element] | None = None) -> Slide:
    """Return a question: what is asked, its options, and in one step the right answer.

    What is said to the other answers is the lecturer's to say: it stands in the notes.
    """
    (fold,) = element.xpath(f"./details[{class_is('question-answer')}]")
    asked = [
        child
        for child in element
        if child is not fold and not is_a(child, "admonition-title") and child.tag != "script"
    ]
    parts: dict[str, Any] = {"prompt": [], "options": [], "right": -1, "answer": []}
    for child in asked:
        if is_a(element, "ask-choice", "ask-order") and child.tag == "ol":
            parts["options"] = [shown(item) for item in child.findall("li")]
        else:
            parts["prompt"].append(shown(child))
    replies = [child for child in fold if child.tag in ("ol", "ul")][:1]
    items = replies[0].findall("li") if replies else []
    rights = [number for number, item in enumerate(items) if RIGHT in item.text_content()[:4]]
    if is_a(element, "ask-choice") and rights:
        parts["right"] = rights[0]
    if rights:
        parts["answer"] = [without_sign(shown(items[rights[0]]))]
    elif replies:
        answer = shown(replies[0])
        for each in answer.xpath(f".//*[{class_is('question-reply')}]"):
            each.drop_tree()  # what is said to each place of an order
        parts["answer"] = [answer]
    if drawn := fold.xpath("./table | ./div[.//table]"):  # what was to be painted
        parts["prompt"] = [each for each in parts["prompt"] if each.find(".//table") is None]
        parts["painted"] = shown(drawn[0])
    told = [shown(child) for child in fold if child.tag != "summary"]
    return Slide("question", heading, parts, [*(pending or []), *told], marked(element))


def without_sign(answer: Element) -> Element:
    answer.tag = "div"
    for text in answer.iter("p", "div"):
        if text.text and RIGHT in text.text:
            text.text = text.text.replace(RIGHT, "", 1).lstrip()
    return answer


def table(heading: Element, element: Element, pending: list[Element]) -> list[Slide]:
    rows = list(element.iter("tr"))
    columns = max(len(row) for row in rows)
    if (len(rows) > TABLE_ROWS or columns > TABLE_COLUMNS) and not marked(element):
        return []
    (inner,) = element.xpath("descendant-or-self::table")[:1]
    parts = {"lead": lead(pending), "table": shown(inner)}
    return [Slide("table", heading, parts, list(pending), marked(element))]


def cell(
    heading: Element, element: Element, pending: list[Element], before: list[Slide]
) -> list[Slide]:
    """Return a cell's code and what it prints; of a plot, the plot (and code if it is short)."""
    figures = element.xpath(f".//div[{class_is('cell_output')}]//figure")
    folded = bool(element.xpath(f"./details[{class_is('hide')}]"))
    code = [] if folded else element.xpath(f"./div[{class_is('cell_input')}]//pre")
    wanted = is_a(element, "tag_slide")
    if figures:
        found = [figure(heading, each, pending) for each in figures]
        for slide in found:
            slide.marked |= wanted
            if code and is_small(code[0]):
                slide.parts["code"] = copy.deepcopy(code[0])
        return found
    if not code or only_set_up(code[0]):
        return []
    printed = element.xpath(f".//div[{class_is('cell_output')}]//pre")
    sizes = [measure(each) for each in (code[0], *printed)]
    lines, columns = sum(size[0] for size in sizes), max(size[1] for size in sizes)
    if (lines > CODE_LINES or columns > CODE_COLUMNS) and not wanted:
        return []
    both = copy.deepcopy(code[0]), [copy.deepcopy(each) for each in printed]
    last = before[-1] if before else None
    # A short cell goes on where the one before it stopped, if nothing is said between them.
    if last is not None and last.kind == "code" and not pending:
        together = sum(
            measure(each)[0] for pair in last.parts["cells"] for each in (pair[0], *pair[1])
        )
        if together + lines <= CODE_LINES:
            last.parts["cells"].append(both)
            last.marked |= wanted
            return []
    parts = {"lead": lead(pending), "cells": [both]}
    return [Slide("code", heading, parts, list(pending), wanted)]


def is_small(code: Element) -> bool:
    lines, columns = measure(code)
    return lines <= BESIDE_LINES and columns <= BESIDE_COLUMNS


def only_set_up(code: Element) -> bool:
    lines = [line.strip() for line in code.text_content().splitlines() if line.strip()]
    return all(_SET_UP.match(line) for line in lines)
