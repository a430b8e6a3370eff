"""A sound question of each kind, as it is written, and a page of them; the book's own questions."""

import re
from pathlib import Path

from glued import gluing
from questions.grammar import Question, read
from tiny import HEADER, cell

BOOK = Path(__file__).resolve().parents[2] / "book"
OPENING = re.compile(r"^(:{4,})\{question\} (\S+)\n((?::\w+: [^\n]*\n)*)(.*?)^\1$", re.M | re.S)


def of_the_book(kind: str) -> dict[str, Question]:
    """Return every question of the book that is of this kind, by its name."""
    found = {}
    for path in sorted(BOOK.glob("*.md")):
        for _, name, options, body in OPENING.findall(path.read_text(encoding="utf8")):
            given = dict(re.findall(r"^:(\w+): (.*)$", options, re.M))
            if given.get("kind") == kind:
                found[name] = read(name, given, body.split("\n"))
    return found


ASK = ":::{zh}\n几个？\n:::\n:::{en}\nHow many?\n:::\n\n"
CHOICE = """\
- [ ] {zh} 一个
  {en} one
  > {zh} 少了。
  > {en} Too few.
- [x] {zh} 两个
  {en} two
  > {zh} 一加一。
  > {en} One and one.
- [ ] NaN
  > {zh} 不是数。
  > {en} Not
  > a number.
"""
NUMBER = """\
- [x] {glue:text}`q_two:.0f`
  > {zh} 一加一。
  > {en} One and one.
- [ ] *
  > {zh} 数一数。
  > {en} Count.
"""
LINE = """\
```python
a = 1
b = a + a
```

- [x] `b = a + a`
  > {zh} 多了。
  > {en} Too much.
- [ ] `a = 1`
  > {zh} 没有错。
  > {en} Nothing wrong.
"""
PAINT = NUMBER.replace("{glue:text}`q_two:.0f`", "{glue}`q_row`")
ORDER = """\
1. {zh} 先
   {en} first
2. {zh} 再
   {en} second
   > {zh} 要等先的。
   > {en} It waits for the first.
3. {zh} 后
   {en} third
   > {zh} 最后。
   > {en} It is last.
"""
SAY = """\
- {zh} 一点
  {en} one point
- {zh} 两点
  {en} two points

:::{zh}
两点。
:::
:::{en}
Two points.
:::
"""
KINDS = {
    "choice": ({}, CHOICE),
    "number": ({"tolerance": "0.5", "unit": "个 | things"}, NUMBER),
    "line": ({"repair": "b = a"}, LINE),
    "paint": ({"paint": "row", "columns": "甲 | A; B"}, PAINT),
    "order": ({}, ORDER),
    "say": ({}, SAY),
}
MASK = PAINT.replace("q_row", "q_mask")
GIVEN = """\
- [x] {given}`answer`
  > {zh} 一加一。
  > {en} Out of {given}`n`.
- [ ] {given}`wrong`
  > {zh} 多了。
  > {en} Too many.
- [ ] *
  > {zh} 数。
  > {en} Count.
"""


def question(name, kind, body=None, ask=ASK, **options):
    needed, items = KINDS[kind]
    options = {"role": "check", "kind": kind, **needed, **options}
    lines = "".join(f":{key}: {value}\n" for key, value in options.items())
    return f"::::{{question}} {name}\n{lines}\n{ask}{items if body is None else body}::::\n\n"


NUMBERS = {
    "q_two": 2.0,
    "q_three": 2.4,
    "q_row": [0.25, 0.75],
    "q_mask": [[1, 0], [1, 1]],
    "q_given": [{"n": 4, "answer": 2.5, "wrong": 7}, {"n": 5, "answer": 1, "wrong": 8}],
}
PAGE = (
    HEADER
    + "# {zh}`题` {en}`T`\n\n"
    + "".join(question(f"q-{kind}", kind) for kind in KINDS)
    + question("q-mask", "paint", MASK, paint="mask", rows="一 | one; 二 | two")
    + question("q-recall", "choice", role="recall", about="intro")
    + question(
        "q-given", "number", GIVEN.replace("{zh} 一加一。", "{zh} 总共 {given}`n`。"),
        ask=ASK.replace("几", "{given}`n` 的几").replace("How", "Of {given}`n`, how"),
        variants="q_given",
    )
    + cell(gluing(**NUMBERS))
)  # fmt: skip
#: What a prediction folds, to a line that says so and to a heading.
GUESSED = (
    HEADER
    + "# {zh}`猜` {en}`G`\n\n"
    + question("q-guess", "choice", role="predict")
    + "Folded.\n\nSo is this.\n\n:::{revealed}\n:::\n\nIn sight.\n\n"
    + question("q-guess-on", "choice", role="predict")
    + "To the heading.\n\n## {zh}`下` {en}`N`\n\nThe next section.\n\n"
    + cell("1 + 1")
)
