"""What a script must know of a question, besides its words: these stand in the page.

An answer's number is its place in the question's list; the replies stand in the fold in the same
order. What is the right answer of a ``choice`` is no secret: the page is text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bilingual.environment import PerPage
from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

from questions import grammar
from questions.grammar import Question

#: The questions of each page, with their lines: names live as long as readers' progress.
NAMES = PerPage[dict[str, int]]("question_names")


class QuestionData(nodes.comment):
    """The data of a question, and its words with other numbers: nothing that anybody reads."""


def of_question(question: Question, values: Sequence[Sequence[Sequence[float]]]) -> dict[str, Any]:
    """Return the data of a question.

    Args:
        values: Of each variant, of each answer with a number, this number or those of its drawing.
    """
    data: dict[str, Any] = {"id": question.name, "role": question.role, "kind": question.kind}
    items = question.items
    if question.kind in grammar.JUDGED:
        data["right"] = next(n for n, item in enumerate(items) if item.right)
    if question.kind == "number":
        variants = [[numbers[0] for numbers in each] for each in values]
        data["variants"] = [with_other(question, map(rounded, each)) for each in variants]
        data["tolerance"] = float(question.options["tolerance"])
    elif question.kind == "paint":
        drawings = [[rounded(number) for number in each] for each in values[0]]
        data["paint"], data["values"] = question.options["paint"], with_other(question, drawings)
        data["tolerance"] = float(question.options.get("tolerance", 0))
    elif question.kind == "line":
        listed = [line.strip() for line in question.listing.split("\n")]
        data["lines"] = [listed.index(item.text.same.strip()) for item in items]
    elif question.kind == "order":
        data["shown"] = [items.index(item) for item in question.shuffled()]
    return data


def with_other(question: Question, values: Any) -> list[Any]:
    """Return an entry for each answer: none for any other."""
    found = iter(values)
    return [None if item.is_other else next(found) for item in question.items]


def rounded(number: float) -> float:
    """Return a number with as many digits as a page needs."""
    short = float(f"{number:.9g}")
    return int(short) if short.is_integer() else short


def visit(translator: HTML5Translator, node: QuestionData) -> None:
    packed = json.dumps(node["data"], ensure_ascii=False, separators=(",", ":"))
    packed = packed.replace("<", "\\u003c")
    translator.body.append(f'<script type="application/json">{packed}</script>\n')
    if not node.children:
        raise nodes.SkipNode
    translator.body.append('<template class="question-variants">')


def depart(translator: HTML5Translator, node: QuestionData) -> None:
    translator.body.append("</template>\n")
