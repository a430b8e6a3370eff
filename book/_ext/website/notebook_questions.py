"""The questions of a page, for its notebooks: what ``attention_book.course.questions`` judges by.

They stand packed in a folded cell, so that nobody reads the answers by accident.
"""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from collections.abc import Callable
from typing import Any

from bilingual.marks import Bilingual
from docutils import nodes

#: The cell that brings the questions along, and the one that a reader answers in.
BRINGING = '''\
{title}
from attention_book.course.questions import answer, pose

pose("""
{packed}
""")'''
TITLE = Bilingual("# @title 本页的题", "# @title Questions")
ANSWERING = 'answer("{name}", ...)'
Say = Callable[..., str]


def question_of(box: nodes.Element, say: Say) -> dict[str, Any] | None:
    """Return what an answer to a question is judged by, and the replies as Markdown.

    Args:
        box: the question on its page.
        say: returns nodes as Markdown, in one language.
    """
    found = [each["data"] for each in box.findall(nodes.comment) if "data" in each]
    if not found:
        return None
    data = {key: value for key, value in found[0].items() if key != "role"}
    (fold,) = (each for each in box.children if type(each).__name__ == "AnswerFold")
    place, items = next(
        (n, each)
        for n, each in enumerate(fold.children)
        if isinstance(each, nodes.bullet_list | nodes.enumerated_list)
    )
    assert isinstance(items, nodes.Element)
    is_judged = "right" in data
    data["replies"] = [
        (f"{'✓' if n == data['right'] else '✗'} " if is_judged else "") + say(*reply_of(item))
        for n, item in enumerate(items.children)
    ]
    after = [each for each in fold.children[place + 1 :] if isinstance(each, nodes.Element)]
    data["closing"] = say(*(each for each in after if "question-back" not in each["classes"]))
    data["back"] = say(*(each for each in after if "question-back" in each["classes"]))
    if "variants" in data:  # a notebook asks for the first of them
        data["values"] = data.pop("variants")[0]
    if "lines" in data:
        listing = next(box.findall(nodes.literal_block))
        data["listing"] = listing.astext().split("\n")
    return data


def reply_of(item: nodes.Node) -> list[nodes.Node]:
    """Return the reply of an item; of a point to compare with, the point."""
    replies = [each for each in item.findall(nodes.inline) if "question-reply" in each["classes"]]
    return list(replies or item.children)


def bringing(questions: dict[str, dict[str, Any]], title: str) -> str:
    """Return the code that brings questions along, by their names."""
    text = json.dumps(questions, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    packed = base64.b64encode(zlib.compress(text.encode("utf8"), 9)).decode()
    return BRINGING.format(title=title, packed="\n".join(textwrap.wrap(packed, 96)))
