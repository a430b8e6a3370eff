"""A question as it is written: its parts, and what is wrong with them.

The grammar knows nothing of Sphinx, so that the notebooks, which have none, read questions as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations

ROLES = ("recall", "predict", "check", "hand")
KINDS = ("choice", "number", "line", "paint", "order", "say")
#: Kinds with one right answer among mistakes, each of which gets a reply.
JUDGED = ("choice", "number", "line", "paint")
#: What is drawn: a bar for each column, a point for each, or cells that may be seen.
PAINTS = ("row", "profile", "mask")
#: The options that a kind cannot do without.
NEEDS = {
    "number": ("tolerance", "unit"),
    "line": ("repair",),
    "paint": ("paint", "columns"),
}
#: All options of the directive.
OPTIONS = (
    *("role", "kind", "about", "tolerance", "unit", "variants"),
    *("paint", "columns", "rows", "repair"),
)
LANGUAGES = ("zh", "en")

MARKER = re.compile(r"^\{(?P<language>zh|en)\} ?(?P<words>.*)$")
ITEM = re.compile(r"^(?:- \[(?P<mark>[x ])\] |- |\d+\. )(?P<words>.*)$")
FENCE = re.compile(r"^:::\{(?P<language>zh|en)\}$")
#: A name in a role that both languages must share: a number, a page, a name of the package.
SHARED = re.compile(
    r"\{(?P<role>glue:text|glue|given|ref|doc|eq|numref|cite[\w:]*|py[\w:]*)\}"
    r"`(?:[^`<]*<)?(?P<name>[^`<>]+)>?`"
)
GLUED = re.compile(r"\{glue(?::text)?\}`(?P<name>\w+)(?::(?P<format>[^`]*))?`")
GIVEN = re.compile(r"\{given\}`(?P<name>\w+)(?::(?P<format>[^`]*))?`")
ROLE = re.compile(r"\{[\w:+-]+\}`[^`]*`")
CODE_OR_MATHS = re.compile(r"`[^`]*`|\$[^$]*\$")
CHINESE = re.compile("[\u3400-\u9fff]")
NO_MISTAKE = re.compile(r"以上(都|皆|全)|all of the above|none of the above", re.I)
#: What the page says above a reply, which need not say it again.
VERDICT = re.compile(r"(对|不对|是的|没错|正确|错)[，。：；！]|(Yes|No|Right|Correct|Wrong)[,.:;!]")
#: The right option of a choice may be so much longer than the next one.
GIVEAWAY, SHORT = 1.75, 24


@dataclass(frozen=True)
class Text:
    """Words in both languages; what is the same in both, a number or a name, stands in ``same``."""

    zh: str = ""
    en: str = ""
    same: str = ""

    def of(self, language: str) -> str:
        """Return the words of one language."""
        return self.same or str(getattr(self, language))

    def each(self) -> list[str]:
        return [self.same] if self.same else [self.zh, self.en]


#: What stands around a question on every page.
HEADS = {
    "recall": Text("合上书想一想", "From memory"),
    "predict": Text("先猜后读", "Guess, then read"),
    "check": Text("想通了吗", "Think it through"),
    "hand": Text("用纸笔", "Pencil and paper"),
}
ANSWER = Text("答案", "Answer")
OTHER = Text("别的答案", "Any other answer")
GO_BACK = Text("回头看：", "Go back to: ")
MENDED = Text("改成", "Mended:")
SIGNS = {True: "✓", False: "✗"}


@dataclass(frozen=True)
class Item:
    """One line of the list, with the reply to whoever chose it, and its line in the body."""

    text: Text
    right: bool
    reply: Text | None
    line: int

    @property
    def is_other(self) -> bool:
        """Whether it stands for any other answer."""
        return self.text.same == "*"


@dataclass(frozen=True)
class Question:
    """A question: what it asks, its listing, its items, and what it says at the end.

    ``asked`` and ``closing`` are the blocks of each language, with the number of the line in the
    body that each begins at.
    """

    name: str
    options: dict[str, str]
    asked: dict[str, tuple[int, list[str]]]
    listing: str
    items: list[Item]
    closing: dict[str, tuple[int, list[str]]]
    problems: list[tuple[int, str]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.options.get("kind", "")

    @property
    def role(self) -> str:
        return self.options.get("role", "")

    @property
    def unit(self) -> Text:
        return pair(self.options.get("unit", ""))

    def names(self, option: str) -> list[Text]:
        """Return the names of the columns or the rows of a drawing."""
        return [pair(name) for name in self.options.get(option, "").split(";") if name.strip()]

    def right(self) -> Item | None:
        return next((item for item in self.items if item.right), None)

    def mended(self) -> str:
        """Return the listing of a ``line`` with its wrong line mended."""
        lines, right = self.listing.split("\n"), self.right()
        if right is not None and right.text.same in lines:
            wrong = right.text.same
            indent = wrong[: len(wrong) - len(wrong.lstrip())]
            lines[lines.index(wrong)] = indent + self.options.get("repair", "").strip()
        return "\n".join(lines)

    def shuffled(self) -> list[Item]:
        """Return the steps of an order, not as they belong; the same in every build."""

        def chance(item: Item) -> str:
            return sha256(f"{self.name} {item.text}".encode()).hexdigest()

        found = sorted(self.items, key=chance)
        return found if found != self.items else found[1:] + found[:1]


def pair(words: str) -> Text:
    """Read ``中文 | English``, or what is the same in both."""
    zh, bar, en = (part.strip() for part in words.partition("|"))
    return Text(zh, en) if bar and zh != en else Text(same=zh)


def languages(lines: Sequence[str]) -> Text:
    """Read ``{zh} …`` and ``{en} …``, each of one or more lines; without marks, one for both."""
    found: dict[str, list[str]] = {}
    now = "same"
    for line in lines:
        if marked := MARKER.match(line):
            now, line = marked["language"], marked["words"]
        if line:
            found.setdefault(now, []).append(line)
    joined = {name: ("" if name == "zh" else " ").join(part) for name, part in found.items()}
    return Text(**joined)


def read(name: str, options: dict[str, str], lines: Sequence[str]) -> Question:
    """Read the body of a directive."""
    blocks: list[tuple[str, tuple[int, list[str]]]] = []
    listing, items, problems, at = "", [], [], 0
    closing_from = None
    while at < len(lines):
        begin, line = at, lines[at]
        at += 1
        if fence := FENCE.match(line):
            at = end_of(lines, at, ":::")
            blocks.append((fence["language"], (begin + 1, list(lines[begin + 1 : at - 1]))))
        elif line.startswith("```"):
            at = end_of(lines, at, "```")
            listing = "\n".join(lines[begin + 1 : at - 1])
        elif found := ITEM.match(line):
            closing_from = len(blocks)
            words, reply = [found["words"].strip()], list[str]()
            while at < len(lines) and (lines[at].startswith("  ") or not lines[at].strip()):
                inner = lines[at].strip()
                (reply if inner.startswith(">") else words).append(inner.removeprefix(">").strip())
                at += 1
            items.append(item(words, reply, found["mark"] == "x", begin, options.get("kind", "")))
        elif line.strip():
            problems.append(
                (begin, f"neither a language nor an item of the list: {line.strip()!r}")
            )
    closing_from = len(blocks) if closing_from is None else closing_from
    asked, closing = dict(blocks[:closing_from]), dict(blocks[closing_from:])
    return Question(name, options, asked, listing, items, closing, problems)


def end_of(lines: Sequence[str], at: int, mark: str) -> int:
    """Return the number of the line after the one that ends a fence."""
    return next((n + 1 for n in range(at, len(lines)) if lines[n].strip() == mark), len(lines))


def item(words: list[str], reply: list[str], is_right: bool, line: int, kind: str) -> Item:
    text = languages(words)
    if kind == "line" and len(words[0]) > 1 and words[0][0] == words[0][-1] == "`":
        text = Text(same=words[0][1:-1])
    return Item(text, is_right, languages(reply) if any(reply) else None, line)


# ---- what the build complains of ----------------------------------------------------------------


def complaints(question: Question) -> Iterator[tuple[int, str]]:
    """Yield what is wrong, with the line of the body, as far as it shows without the numbers."""
    yield from question.problems
    if question.kind not in KINDS:
        yield 0, f"no such :kind: {question.kind!r}; there are {', '.join(KINDS)}"
        return
    if question.role not in ROLES:
        yield 0, f"no such :role: {question.role!r}; there are {', '.join(ROLES)}"
    if (question.role == "recall") != ("about" in question.options):
        yield 0, "a recall, and only a recall, says :about: which page it asks"
    for option in NEEDS.get(question.kind, ()):
        if option not in question.options:
            yield 0, f"a {question.kind} needs :{option}:"
    yield from in_both_languages(question)
    yield from of_the_kind(question)
    for each in question.items:
        if any(NO_MISTAKE.search(words) for words in each.text.each()):
            yield each.line, "“all of the above” is no mistake that anybody makes"
        for words in each.reply.each() if each.reply else ():
            if found := VERDICT.match(words):
                told = f"a reply begins with {found[0]!r}: the page says that above it"
                yield each.line, told


def in_both_languages(question: Question) -> Iterator[tuple[int, str]]:
    for what, blocks in (("question", question.asked), ("closing remark", question.closing)):
        if blocks or what == "question":
            line = next(iter(blocks.values()), (0, []))[0]
            words = {name: "\n".join(text) for name, (_, text) in blocks.items()}
            for told in languages_wrong(Text(words.get("zh", ""), words.get("en", ""))):
                yield line, f"the {what} {told}"
    for each in question.items:
        if question.kind != "line":
            for told in languages_wrong(each.text):
                yield each.line, f"an item {told}"
        for told in languages_wrong(each.reply) if each.reply else ():
            yield each.line, f"a reply {told}"
    for option in ("unit", "columns", "rows"):
        for name in question.names(option):
            if not name.same and not (name.zh and name.en):
                yield 0, f":{option}: stands in one language only: write 中文 | English"


def languages_wrong(text: Text) -> Iterator[str]:
    """Say what is wrong between the two languages of a text."""
    if text.same:
        words = ROLE.sub("", CODE_OR_MATHS.sub("", text.same))
        if CHINESE.search(words) or re.search(r"[a-z]{4,}.* |.* [a-z]{4,}", words):
            yield f"has words in one language only: {text.same!r}"
        return
    if not text.zh or not text.en:
        yield f"stands in one language only: {(text.zh or text.en)!r}"
        return
    zh, en = (ROLE.sub("", CODE_OR_MATHS.sub("", words)) for words in (text.zh, text.en))
    if re.search("[A-Za-z]{3,}", zh) and not CHINESE.search(text.zh):
        yield f"has no Chinese in its Chinese: {text.zh!r}"
    if CHINESE.search(en) and not re.search("[A-Za-z]{2,}", en):
        yield f"has no English in its English: {text.en!r}"
    used, other = (
        sorted(f"{{{found['role']}}}`{found['name']}`" for found in SHARED.finditer(words))
        for words in (text.zh, text.en)
    )
    if used != other:
        yield f"has {used} in Chinese and {other} in English"


def of_the_kind(question: Question) -> Iterator[tuple[int, str]]:
    kind, items = question.kind, question.items
    rights = sum(each.right for each in items)
    if kind in JUDGED:
        if rights != 1:
            yield 0, f"one answer is right, not {rights}"
        for each in items:
            if each.reply is None:
                yield each.line, "no reply (`> …`): what shall whoever chose it think next?"
    if kind == "choice":
        if not 3 <= len(items) <= 5:
            yield 0, f"three to five options, each a mistake somebody makes, not {len(items)}"
        yield from gives_itself_away(question)
    elif kind in ("number", "paint"):
        if not any(each.is_other for each in items):
            yield 0, "no reply to any other answer (`- [ ] *`)"
        form = GIVEN if kind == "number" and "variants" in question.options else GLUED
        for each in items:
            if not each.is_other and not form.fullmatch(each.text.same):
                yield each.line, f"the answer {each.text.each()[0]!r} is typed: glue it in a cell"
        if kind == "number" and not is_number(question.options.get("tolerance", "0")):
            yield 0, ":tolerance: is a number"
        if kind == "paint" and question.options.get("paint", "row") not in PAINTS:
            yield 0, f":paint: is one of {', '.join(PAINTS)}"
        if question.options.get("paint") == "mask" and "rows" not in question.options:
            yield 0, "a mask needs :rows:"
    elif kind == "line":
        listed = [line.strip() for line in question.listing.split("\n")]
        for each in items:
            if (number := listed.count(each.text.same.strip())) != 1:
                yield each.line, f"{number} lines of the listing are {each.text.same!r}, not one"
        for what, listing in (("", question.listing), (" as mended", question.mended())):
            if not is_python(listing):
                yield 0, f"the listing{what} is no Python"
        if question.mended() == question.listing:
            yield 0, "the listing is the same when it is mended"
    elif kind == "order":
        if len(items) < 3:
            yield 0, f"an order has three steps at least, not {len(items)}"
        for each in items[1:]:
            if each.reply is None:
                yield each.line, "no reason (`> …`) why the step stands here"
    elif kind == "say":
        if not 2 <= len(items) <= 4:
            yield 0, f"two to four points to compare one's own words with, not {len(items)}"
        if not question.closing:
            yield 0, "no closing remark, a :::{zh} and a :::{en} after the list"


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text))


def apart(paint: str, one: Sequence[float], other: Sequence[float]) -> float:
    """Return how far two drawings, or two numbers, are from each other.

    What a row has in the wrong columns, the mean gap of a profile, the cells of a mask; the page
    judges by the same measure (``modules/kinds/paint.mjs``).
    """
    gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(gaps) / {"row": 2, "profile": len(gaps)}.get(paint, 1)


def answers_wrong(
    values: Sequence[Sequence[float]], right: int, tolerance: float, paint: str = ""
) -> Iterator[tuple[int, str]]:
    """Yield the mistakes that cannot be told from the right answer or from one another.

    ``values``: of each item its number, or the numbers of its drawing.
    """

    def gap(one: int, other: int) -> float:
        return apart(paint, values[one], values[other])

    for n in range(len(values)):
        if n != right and gap(n, right) <= tolerance:
            yield n, "the mistake is within the tolerance of the answer"
        elif twin := next((m for m in range(n) if m != right and gap(m, n) < 1e-9), None):
            yield n, f"the same answer as mistake {twin + 1}"


def asked_twice(answers: Sequence[float], tolerance: float) -> str | None:
    """Return what is wrong with variants of which one has another's answer: it can be remembered.

    ``answers``: the right one of each variant.
    """
    for n, m in combinations(range(len(answers)), 2):
        if abs(answers[n] - answers[m]) <= tolerance:
            return f"the answer of variant {m + 1} is that of variant {n + 1}"
    return None


def gives_itself_away(question: Question) -> Iterator[tuple[int, str]]:
    """Complain of a right option that is far longer than all others."""
    right = question.right()
    for language in LANGUAGES if right else ():
        length = {
            each.line: len(ROLE.sub("123", each.text.of(language))) for each in question.items
        }
        assert right
        longest = max((n for line, n in length.items() if line != right.line), default=0)
        if length[right.line] > max(SHORT, GIVEAWAY * longest):
            yield (
                right.line,
                (
                    f"its length gives the right option away ({language}: {length[right.line]} "
                    f"characters, of the others {longest} at most)"
                ),
            )
