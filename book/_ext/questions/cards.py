"""The questions as cards for Anki: front and back in each language, in what HTML Anki shows.

They are made of the boxes of the built pages, whose numbers, references and formulas are final.
"""

from __future__ import annotations

import json
import re
from copy import copy
from typing import Any

from bs4 import BeautifulSoup, Tag

from questions.grammar import JUDGED, LANGUAGES

#: What Anki shows as it stands; of everything else the words are kept.
KEPT = {
    *("p", "ul", "ol", "li", "pre", "code", "sub", "sup", "b", "i", "br"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ALSO_CALLED = {"strong": "b", "em": "i"}
HIDDEN = "script, template, .bl-sep, .headerlink, .copybtn, .admonition-title"


def card_of(box: str, page: str, titles: list[str]) -> dict[str, Any]:
    """Return a question as a card: its name, page and role, and of each language both sides."""
    root = parsed(box)
    data = json.loads(one(root, "script").string or "")
    fold = one(root, ".question-answer")
    asked = [each for each in fold.previous_siblings if isinstance(each, Tag)][::-1]
    answered = [each for each in fold.children if isinstance(each, Tag) and each.name != "summary"]
    answered = [
        each for each in answered if "question-back" not in each.get_attribute_list("class")
    ]
    if data["kind"] in JUDGED:
        answered = [
            words_of(items(each)[data["right"]]) if each.name in ("ul", "ol") else each
            for each in answered
        ]
    if data["kind"] == "choice":
        options = next(each for each in reversed(asked) if each.name == "ol")
        answered.insert(0, words_of(items(options)[data["right"]], "<b></b>"))
    card: dict[str, Any] = {"id": data["id"], "page": page, "role": data["role"]}
    for language, title in zip(LANGUAGES, titles, strict=True):
        sides = {"front": side(asked, language), "back": side(answered, language)}
        card[language] = {**sides, "title": title}
    return card


def parsed(markup: str) -> Tag:
    return one(BeautifulSoup(markup, "html.parser"), "*")


def one(root: Tag, selector: str) -> Tag:
    """Return the first element that a selector finds: there is one."""
    found = root.select_one(selector)
    assert found is not None, selector
    return found


def items(listed: Tag) -> list[Tag]:
    return listed.find_all("li", recursive=False)


def words_of(item: Tag, around: str = "") -> Tag:
    """Return the words of an item of a list as a paragraph."""
    made = parsed(f"<p>{around}</p>")
    inner = one(made, "*") if around else made
    for child in one(item, "p").children:
        inner.append(copy(child))
    return made


def side(elements: list[Tag], language: str) -> str:
    """Return one side of a card in one language."""
    holder = parsed("<div></div>")
    holder.extend([copy(each) for each in elements])
    other = next(each for each in LANGUAGES if each != language)
    for each in holder.select(f"{HIDDEN}, .bl-{other}"):
        each.decompose()
    for each in holder.select(".math:has(annotation)"):
        tex = one(each, "annotation").get_text()
        each.string = rf"\[{tex}\]" if each.name == "div" else rf"\({tex}\)"
    for each in holder.find_all(True):
        each.name = ALSO_CALLED.get(each.name, each.name)
        lettered = "upperalpha" in each.get_attribute_list("class")
        each.attrs = {"type": "A"} if lettered else {}
        if each.name not in KEPT:
            each.unwrap()
    return unbroken(
        holder.decode_contents().replace("<p>✓ ", "<p>"), "" if language == "zh" else " "
    )


def unbroken(text: str, between: str) -> str:
    """Return a text without the line breaks of its source, but for those of code."""
    parts = re.split(r"(<pre>.*?</pre>)", text.strip(), flags=re.S)
    tight = (re.sub(r"(?<=>)\s*\n\s*(?=<)", "", part) for part in parts)
    return "".join(
        part if part.startswith("<pre>") else re.sub(r"\s*\n\s*", between, part) for part in tight
    )
