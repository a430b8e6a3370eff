"""A question in one language of plain Markdown, for notebooks: its answer stands in a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import ascii_uppercase

from questions import grammar
from questions.grammar import GIVEN, Item, Question

#: Translates MyST that begins at a line of the body into Markdown.
Translate = Callable[[str, int], str]


def markdown(question: Question, language: str, blocks: Translate, inline: Translate) -> str:
    """Return the question, what it lets choose, and the folded answer.

    ``blocks`` translates paragraphs and ``inline`` what stands in a line; numbers that a cell
    glues are printed there, and the text calls them by their names.
    """

    def words(text: grammar.Text, line: int) -> str:
        return inline(GIVEN.sub(r"`\g<name>`", text.of(language)), line)

    def several(found: dict[str, tuple[int, list[str]]]) -> str:
        line, lines = found.get(language, (0, []))
        return blocks(GIVEN.sub(r"`\g<name>`", "\n".join(lines)), line)

    def reply(item: Item, mark: str) -> str:
        sign = grammar.SIGNS[item.right] if question.kind in grammar.JUDGED else ""
        shown = "" if question.kind == "choice" else f"**{words(shown_of(question, item), 0)}**"
        told = words(item.reply, item.line) if item.reply else ""
        return " ".join(filter(None, (mark, sign, shown, told)))

    listing = f"```python\n{question.listing}\n```" if question.listing else ""
    marks = ["1." if question.kind == "order" else "-"] * len(question.items)
    if question.kind == "choice":
        marks = [f"- {letter}." for letter in ascii_uppercase[: len(question.items)]]
    about = question.options.get("about")
    answer = [
        "\n".join(reply(item, mark) for item, mark in zip(question.items, marks, strict=True)),
        f"{grammar.MENDED.of(language)} `{question.options['repair']}`" if listing else "",
        several(question.closing),
        inline(f"{grammar.GO_BACK.of(language)}{{doc}}`/{about}`", 0) if about else "",
    ]
    parts = [
        f"---\n\n**{grammar.HEADS[question.role].of(language)}**",
        several(question.asked),
        listing,
        "\n".join(task(question, words)),
        f"<details>\n<summary>{grammar.ANSWER.of(language)}</summary>",
        *answer,
        "</details>\n\n---",
    ]
    return "\n\n".join(filter(None, parts))


def task(question: Question, words: Callable[[grammar.Text, int], str]) -> Iterator[str]:
    """Yield the lines of what there is to choose from, or to write on."""
    if question.kind in ("choice", "order"):
        items = question.items if question.kind == "choice" else question.shuffled()
        for letter, item in zip(ascii_uppercase, items, strict=False):
            yield f"- {letter}. {words(item.text, item.line)}"
    elif question.kind == "number":
        yield f"\\_\\_\\_\\_ {words(question.unit, 0)}"
    elif question.kind == "paint":
        yield " · ".join(words(name, 0) for name in question.names("columns"))


def shown_of(question: Question, item: Item) -> grammar.Text:
    """Return an answer as its reply repeats it."""
    if item.is_other:
        return grammar.OTHER
    return (
        grammar.Text(same=f"`{item.text.same.strip()}`") if question.kind == "line" else item.text
    )
