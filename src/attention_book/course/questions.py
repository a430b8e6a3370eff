"""`answer`: a question of a chapter, answered in its notebook, with the reply that the page gives.

A notebook brings its questions along, in the cell "Questions", packed so that nobody reads the
answers by accident; ``pose`` unpacks them.
"""

import base64
import json
import zlib
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import chain
from typing import Any

from attention_book.course.exercises.verdict import checked, reader_language
from attention_book.foundations.bilingual import Bilingual

#: A drawing that is not right resembles a known mistake as long as it is no further away.
NEAR = {"mask": 1.0, "row": 0.12, "profile": 0.12}

RIGHT = Bilingual("✓ 对。", "✓ Right.")
NOT_THIS_LINE = Bilingual("✗ 问题不在这一行。", "✗ The trouble is not in this line.")
COMPARE = Bilingual("拿你的话同这几点比一比：", "Compare your words with these points:")
PUT = Bilingual("把 `...` 换成你的答案：", "Put your answer in place of `...`: ")
EXPECTED = {
    "choice": Bilingual('一个字母，如 `"B"`', 'a letter, such as `"B"`'),
    "number": Bilingual("一个数，如 `10` 或 `3/7`", "a number, such as `10` or `3/7`"),
    "line": Bilingual(
        "一行的号数，从 1 数起，或这一行本身", "the number of a line, from 1, or the line itself"
    ),
    "row": Bilingual("{} 个数，一列一个", "{} numbers, one for each column"),
    "profile": Bilingual("{} 个数，一列一个", "{} numbers, one for each column"),
    "mask": Bilingual(
        "{} 个 0 或 1，一行一个列表", "{} zeros and ones, a list for each row of the table"
    ),
    "order": Bilingual(
        '各步的字母，先做的在前，如 `"{}"`', 'the letters of the steps, the first one first: `"{}"`'
    ),
    "say": Bilingual("一两句话，放在引号里", "a sentence or two, in quotation marks"),
}

#: What is judged, where it is no item: a line that is none, and steps of which none is misplaced.
NO_ITEM, IN_ORDER = -1, -2

_questions: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True, repr=False)
class Reply:
    """What the book says to an answer. It is true if the answer was right.

    Attributes:
        question: the question's name.
        right: whether the answer is right; None where only the reader can tell.
        text: what to say to it, as Markdown.

    >>> Reply("sum-of-weights", True, "✓ They sum to 1.")
    ✓ They sum to 1.
    """

    question: str
    right: bool | None
    text: str

    def __bool__(self) -> bool:
        """Whether the answer was right."""
        return bool(self.right)

    def __repr__(self) -> str:
        """The words."""
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def pose(packed: str) -> None:
    """Unpack the questions of a notebook, for ``answer``: the cell "Questions" calls it.

    Args:
        packed: what the book has packed.

    Raises:
        ValueError: if it is damaged.

    >>> pose("eJyrrgUAAXUA+Q==")  # no questions
    """
    try:
        found = json.loads(zlib.decompress(base64.b64decode(packed)))
    except (ValueError, zlib.error) as error:
        raise ValueError(
            "packed: the questions of this notebook are damaged; get the notebook anew"
        ) from error
    _questions.update(found)


def answer(name: str, given: Any = ..., *, language: str | None = None) -> Reply:
    """Answer a question of this notebook; the reply is about your answer, or your mistake.

    Args:
        name: the question's name, as the cell below the question has it.
        given: a letter of the options; a number; the number of a line; a list of numbers for a
            drawing; the letters of the steps in their order; or words of your own.
        language: "zh" or "en" for what is said around the reply, which is in the notebook's
            language.

    Returns:
        The reply, which prints, and is true if the answer is right.

    Raises:
        ValueError: if there is no such question; the error names the nearest.

    >>> try:
    ...     answer("masks-zero-share", 10)
    ... except ValueError as error:
    ...     print(error)
    name: no question 'masks-zero-share': run the cell "Questions" at the top of the notebook first
    """
    spoken = reader_language(None if language is None else checked("language", language))
    if name not in _questions:
        raise ValueError(_unknown(name))
    question = _questions[name]
    kind = question.get("paint") or question["kind"]
    judged = None if given is ... else _judged(question, given)
    if judged is None:
        words = EXPECTED[kind].text(spoken).format(_size(question))
        return Reply(name, False, PUT.text(spoken) + words + ("。" if spoken == "zh" else "."))
    if question["kind"] == "say":
        points = "\n".join(f"- {point}" for point in question["replies"])
        text = f"{COMPARE.text(spoken)}\n\n{points}\n\n{question['closing']}"
        return Reply(name, None, text)
    right = judged == question.get("right", IN_ORDER)
    if judged == IN_ORDER:
        reply = RIGHT.text(spoken)
    elif judged == NO_ITEM:
        reply = NOT_THIS_LINE.text(spoken)
    else:
        reply = question["replies"][judged]
        if question["kind"] == "order":
            reply = f"✗ {chr(ord('A') + question['shown'].index(judged))}: {reply}"
    more = question["closing" if right else "back"]  # where it is told, for whoever was wrong
    if more:
        reply = f"{reply}\n\n{more}"
    return Reply(name, right, reply)


def _unknown(name: object) -> str:
    if not _questions:
        return (
            f'name: no question {name!r}: run the cell "Questions" at the top of the notebook first'
        )
    near = get_close_matches(str(name), _questions, n=3, cutoff=0.4) or list(_questions)
    return f"name: no question {name!r}; did you mean {', '.join(near)}?"


def _size(question: dict[str, Any]) -> int | str:
    """Return how many numbers a drawing has, or an order of steps to show how one is written."""
    if question["kind"] == "paint":
        return len(question["values"][question["right"]])
    return "".join(chr(ord("A") + n) for n in reversed(range(len(question.get("shown", ())))))


def _judged(question: dict[str, Any], given: Any) -> int | None:
    """Return the item that an answer is, of an order the first step that stands where another
    belongs; None for what is no answer.
    """
    match question["kind"]:
        case "choice":
            return _letters(given, len(question["replies"]), 1)
        case "number":
            return _number(question, given)
        case "line":
            return _line(question, given)
        case "paint":
            return _drawing(question, given)
        case "order":
            return _order(question, given)
    return 0 if isinstance(given, str) and given.strip() else None


def _letters(given: Any, among: int, count: int) -> int | None:
    if not isinstance(given, str) or len(given.strip()) != count:
        return None
    item = ord(given.strip().upper()) - ord("A")
    return item if 0 <= item < among else None


def _as_number(given: Any) -> float | None:
    """Return a number, also of text such as "3/7", "10 %" or of a tensor with one element."""
    try:
        if isinstance(given, str):
            return float(Fraction(given.strip().removesuffix("%").strip().replace("−", "-")))
        return None if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, ZeroDivisionError, RuntimeError, OverflowError):
        return None


def _number(question: dict[str, Any], given: Any) -> int | None:
    number = _as_number(given)
    if number is None or number != number:
        return None
    away = {
        item: abs(number - value)
        for item, value in enumerate(question["values"])
        if value is not None
    }
    nearest = min(away, key=lambda item: away[item])
    near_enough = away[nearest] <= question["tolerance"] + 1e-9
    return nearest if near_enough else question["values"].index(None)


def _line(question: dict[str, Any], given: Any) -> int | None:
    listing = question["listing"]
    if isinstance(given, str):
        places = [n for n, line in enumerate(listing) if line.strip() == given.strip()]
    elif isinstance(given, int) and not isinstance(given, bool):
        places = [given - 1] if 0 < given <= len(listing) else []
    else:
        places = []
    if not places:
        return None
    lines: list[int] = question["lines"]
    return lines.index(places[0]) if places[0] in lines else NO_ITEM


def _drawing(question: dict[str, Any], given: Any) -> int | None:
    given = given.tolist() if hasattr(given, "tolist") else given
    rows = given if isinstance(given, list | tuple) else []
    flat = list(chain.from_iterable(r if isinstance(r, list | tuple) else [r] for r in rows))
    numbers = [float(n) if isinstance(n, bool) else _as_number(n) for n in flat]
    drawn = [number for number in numbers if number is not None]
    if len(drawn) != len(numbers) or len(drawn) != _size(question):
        return None
    kind, right = question["paint"], question["right"]
    values = [each and [float(number) for number in each] for each in question["values"]]
    if kind == "row":
        total = sum(drawn)
        if total <= 0:
            return None
        drawn = [number / total for number in drawn]
    away = {n: _apart(kind, drawn, each) for n, each in enumerate(values) if each is not None}
    if away[right] <= question["tolerance"]:
        return int(right)
    del away[right]
    nearest = min(away, key=lambda item: away[item], default=None)
    if (
        nearest is None
        or away[nearest] > NEAR[kind]
        or away[nearest] > _apart(kind, drawn, values[right])
    ):
        return int(values.index(None))
    return nearest


def _apart(kind: str, one: list[float], other: list[float]) -> float:
    """Return how many cells differ, how much weight is misplaced, or the mean gap."""
    gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
    if kind == "mask":
        return float(sum(gap > 0.5 for gap in gaps))
    return sum(gaps) / 2 if kind == "row" else sum(gaps) / len(gaps)


def _order(question: dict[str, Any], given: Any) -> int | None:
    shown: list[int] = question["shown"]
    steps = [_letters(letter, len(shown), 1) for letter in given] if isinstance(given, str) else []
    placed = [shown[step] for step in steps if step is not None]
    if sorted(placed) != list(range(len(shown))):
        return None
    return next((step for n, step in enumerate(placed) if step != n), IN_ORDER)


__all__ = ["Reply", "answer", "pose"]
