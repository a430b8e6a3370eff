"""The lines of a chapter's source, each with what it stands in.

Enough of MyST to tell prose from code, options and formulas: fences of backticks, tildes and
colons with their nesting, the two kinds of options, display math, comments, targets and the front
matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FENCE = re.compile(
    r"^(?P<mark>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[\w:+-]+)\})?\s*(?P<argument>.*)$"
)
OPTION = re.compile(r"^:[\w-]+:(\s|$)")
SILENT = re.compile(r"^(%|\([\w-]+\)=\s*$)")
#: Directives whose content is no MyST; a fence without a name is one of them.
VERBATIM = ("", "code-cell", "code-block", "code", "literalinclude", "math", "mermaid")
#: Directives that last until another one ends them, and how their content is called.
GATES = {"solution": "solution", "exercise": "exercise"}


class Line(NamedTuple):
    """A line of the source: its number, its words, and the directives around it, outermost first.

    A directive's own line stands inside it, with its argument for words. ``part`` is "options" in
    a directive's options and "math" in a displayed formula.
    """

    number: int
    text: str
    inside: tuple[str, ...]
    part: str = ""
    opens: bool = False


class Fence(NamedTuple):
    """A fence that is open: its mark, and the directive's name ("" for plain code)."""

    mark: str
    name: str


def source_lines(text: str) -> Iterator[Line]:
    """Yield the lines of a page, without front matter, fences' ends, comments and targets."""
    stack: list[Fence] = []
    gates: list[str] = []
    part = ""
    for number, line in numbered_body(text):
        inside = (*gates, *(fence.name for fence in stack))
        bare = line.strip()
        if part == "options?":  # the line after a directive's own
            part = "yaml" if bare == "---" else "options" if OPTION.match(bare) else ""
        elif part == "options" and not OPTION.match(bare):
            part = ""
        elif part == "yaml" and bare == "---":
            part = ""
            continue
        if part in ("options", "yaml"):
            if bare != "---":
                yield Line(number, bare, inside, "options")
        elif stack and closes(bare, stack[-1].mark):
            stack.pop()
        elif stack and stack[-1].name in VERBATIM:
            yield Line(number, line, inside)
        elif fence := FENCE.match(bare):
            name = fence["name"] or ""
            stack.append(Fence(fence["mark"], name))
            part = "options?"
            family, _, gate = name.partition("-")
            if family in GATES and gate == "end" and gates:
                gates.pop()
            elif family in GATES and gate == "start":
                gates.append(GATES[family])
            around = (*gates, *(fence.name for fence in stack))
            yield Line(number, fence["argument"], around, opens=True)
        elif part == "math" or bare.startswith("$$"):
            yield Line(number, bare, inside, "math")
            part = "" if closes_formula(bare, is_first=part != "math") else "math"
        elif not SILENT.match(bare):
            yield Line(number, line, inside)


def numbered_body(text: str) -> list[tuple[int, str]]:
    """Return the numbered lines after the front matter."""
    lines = list(enumerate(text.split("\n"), start=1))
    if lines[0][1].strip() == "---":
        end = next((n for n, line in lines[1:] if line.strip() == "---"), 0)
        return lines[end:]
    return lines


def closes(line: str, mark: str) -> bool:
    """Whether a line ends the fence that was opened by this mark."""
    return len(line) >= len(mark) and set(line) == {mark[0]}


def closes_formula(line: str, *, is_first: bool) -> bool:
    """Whether a line ends a displayed formula, be it the one that begins it or a later one."""
    return "$$" in (line[2:] if is_first else line)
