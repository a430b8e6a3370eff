"""How long each chapter is, what its sections weigh, and whether that keeps the bounds.

Counted is the course: what every reader follows from top to bottom. Code, formulas, captions, the
opening, optional sections, questions, exercises, notes on sources and further reading are not part
of it. A number, a formula or a reference in a sentence counts as one word. A mistake counts as
named where the course or an optional section refers to its entry in the index,
``{ref}`… <mistake-…>` ``.

The build writes ``_build/counts.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bilingual.environment import PerPage
from docutils import nodes
from sphinx.application import Sphinx

from lesson.checks.problems import PROBLEMS, Problem, chapters, is_chapter
from lesson.checks.source_lines import VERBATIM, Line, source_lines
from lesson.parts import EXERCISES, READING, SECTIONS

#: The English words of a chapter's course, at the least and at the most: one lecture.
WORDS = (1000, 1800)
#: The mistakes that a course names at the most; further ones belong into notes on sources.
MISTAKES = 2

#: The setting that names pages with cells that are no lessons, such as lists; they have no bounds.
OTHERS = "lesson_other_pages"

#: What stands in one of these is no part of the course.
ASIDE = {
    "opening",
    "exercise",
    "solution",
    "sources",
    "question",
    "diagram",
    "stages",
    "figure",
    "image",
    *VERBATIM,
}
#: Sections by their English titles: without a weight, and those outside the course.
UNWEIGHED = tuple(SECTIONS)
OUTSIDE = (EXERCISES, READING)

INLINE = re.compile(r"\{(?P<language>zh|en)\}(?P<ticks>`+)(?P<words>.+?)(?<!`)(?P=ticks)(?!`)")
BADGE = re.compile(r"\{(?P<weight>core|optional)\}`\s*(?P<minutes>\d+)\s*`")
MISTAKE = re.compile(r"\{ref\}`(?:[^`<]*<)?(?P<name>mistake-[\w-]+)>?`")
ROLE = re.compile(r"\{(?P<name>[\w:+-]+)\}(?P<ticks>`+)(?P<content>.+?)(?<!`)(?P=ticks)(?!`)")
EXPLICIT = re.compile(r"^(?P<text>.*?)\s*<[^<>]+>$")
CODE_OR_MATHS = re.compile(r"(?P<ticks>`+).+?(?P=ticks)|(?<!\\)\$.+?(?<!\\)\$")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\([^)]*\)")
WORD = re.compile(r"[A-Za-z0-9]+(?:['’.,-][A-Za-z0-9]+)*")
CHINESE = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
STARS = re.compile("★+")
MINUTES = {"en": re.compile(r"(\d+)\s+minutes?\b"), "zh": re.compile(r"(\d+)\s*分钟")}


class Section(NamedTuple):
    """A section of the course: its line, its English title, "core", "optional" or "", minutes."""

    line: int
    title: str
    weight: str
    minutes: int


class Counts(NamedTuple):
    """What was counted in a chapter; ``opening`` is the line and the minutes that it names."""

    words: int
    characters: int
    mistakes: tuple[str, ...]
    sections: tuple[Section, ...]
    opening: tuple[int, dict[str, int]] | None
    exercises: tuple[str, ...]  # the stars of each

    def minutes(self, weight: str = "") -> int:
        return sum(s.minutes for s in self.sections if s.weight == weight or not weight)


#: Of each chapter.
COUNTS = PerPage[Counts]("lesson_counts")


def count(text: str) -> Counts:
    """Count what there is in a page."""
    prose: dict[str, list[str]] = {"zh": [], "en": []}
    mistakes: dict[str, None] = {}
    lines = list(source_lines(text))
    for line, weight in course_of(lines):
        for language, words in in_languages(line) if weight != "optional" else ():
            prose[language].append(words)
        mistakes.update(dict.fromkeys(m["name"] for m in MISTAKE.finditer(line.text)))
    return Counts(
        words=sum(len(WORD.findall(plain(words, "x"))) for words in prose["en"]),
        characters=sum(len(CHINESE.findall(plain(words, ""))) for words in prose["zh"]),
        mistakes=tuple(mistakes),
        sections=tuple(map(section, filter(is_section, lines))),
        opening=opening(lines),
        exercises=tuple(stars(line.text) for line in lines if opens_exercise(line)),
    )


def course_of(lines: Iterable[Line]) -> Iterator[tuple[Line, str]]:
    """Yield the lines of the prose, each with the weight of its section."""
    here = Section(0, "", "", 0)
    for line in lines:
        if is_section(line):
            here = section(line)
        if not (here.title in OUTSIDE or line.part or ASIDE & set(line.inside)):
            yield line, here.weight


def is_section(line: Line) -> bool:
    return not line.inside and not line.part and line.text.startswith("## ")


def section(line: Line) -> Section:
    """Return what a heading says."""
    titles = {found["language"]: found["words"].strip() for found in INLINE.finditer(line.text)}
    badge = BADGE.search(line.text)
    weight, minutes = (badge["weight"], int(badge["minutes"])) if badge else ("", 0)
    title = titles.get("en", BADGE.sub("", line.text).strip("# "))
    return Section(line.number, title, weight, minutes)


def in_languages(line: Line) -> Iterator[tuple[str, str]]:
    """Yield the words of a line that belong to one language, with this language."""
    block = next((name for name in line.inside if name in ("zh", "en")), None)
    if block:
        yield block, line.text
    else:
        for found in INLINE.finditer(line.text):
            yield found["language"], found["words"]


def plain(text: str, stand_in: str) -> str:
    """Return a text's own words; what is no word of its own becomes ``stand_in``."""

    def words_of(role: re.Match[str]) -> str:
        explicit = EXPLICIT.match(role["content"])
        if explicit:
            return explicit["text"]
        return role["content"] if role["name"] in ("term", "zh", "en") else stand_in

    return LINK.sub(r"\g<text>", CODE_OR_MATHS.sub(stand_in, ROLE.sub(words_of, text)))


def opening(lines: Iterable[Line]) -> tuple[int, dict[str, int]] | None:
    """Return the line of the opening, and the minutes that it names in each language."""
    inside = [line for line in lines if "opening" in line.inside]
    if not inside:
        return None
    minutes: dict[str, int] = {}
    for line in inside:
        for language, pattern in MINUTES.items():
            found = pattern.search(line.text) if language in line.inside else None
            if found:
                minutes.setdefault(language, int(found[1]))
    return inside[0].number, minutes


def opens_exercise(line: Line) -> bool:
    return line.opens and line.inside[-1] in ("exercise", "exercise-start")


def stars(title: str) -> str:
    found = STARS.search(title)
    return found[0] if found else ""


def out_of_bounds(counts: Counts) -> Iterator[Problem]:
    """Yield where a chapter does not keep the bounds."""
    least, most = WORDS
    if not least <= counts.words <= most:
        advice = "say more, or join it to another" if counts.words < least else "cut, or make two"
        yield Problem(
            1, f"the course has {counts.words} English words, not {least}–{most}: {advice}"
        )
    if len(counts.mistakes) > MISTAKES:
        names = ", ".join(counts.mistakes)
        yield Problem(
            1, f"the course names {len(counts.mistakes)} mistakes, more than {MISTAKES} ({names}): "
            "move what no learner would believe into notes on sources",
        )  # fmt: skip
    for each in counts.sections:
        if not each.weight and each.title not in UNWEIGHED:
            yield Problem(
                each.line, f"the section {each.title!r} is neither core nor optional: "
                "end its heading with {core}`minutes` or {optional}`minutes`",
            )  # fmt: skip
    if counts.opening is None:
        yield Problem(1, "the chapter has no {opening}")
    elif not is_in_time(counts, counts.opening[1]):
        line, named = counts.opening
        yield Problem(
            line, f"the sections add up to {counts.minutes()} minutes, those of the core to "
            f"{counts.minutes('core')}; the opening says "
            f"{named.get('zh', 'nothing')} in Chinese and {named.get('en', 'nothing')} in English",
        )  # fmt: skip


def is_in_time(counts: Counts, named: dict[str, int]) -> bool:
    """Does the opening name, in each language, the minutes of the core or of all sections?"""
    sums = {counts.minutes(), counts.minutes("core")}
    return (
        set(named) == set(MINUTES) and len(set(named.values())) == 1 and {*named.values()} <= sums
    )


def is_counted(app: Sphinx, page: str) -> bool:
    """Is the page a chapter that has to keep bounds?"""
    return is_chapter(app.env, page) and page not in app.config[OTHERS]


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Count a chapter, and note what is out of bounds."""
    page = app.env.docname
    if is_counted(app, page):
        counts = count(Path(app.env.doc2path(page)).read_text(encoding="utf8"))
        COUNTS.of(app.env)[page] = counts
        problems = PROBLEMS.of(app.env)[page]
        problems += out_of_bounds(counts)


HEAD = """\
# Counts

The course of each chapter: its core, without code, captions, exercises, notes on sources and
further reading.
Bounds: {words[0]:,} to {words[1]:,} English words, at most {mistakes} mistakes
named, every section core or optional, and their minutes those of the opening.

| chapter | English words | 中文字数 | mistakes | core | optional | opening | exercises |
|---|---|---|---|---|---|---|---|
"""


def row(page: str, counts: Counts) -> str:
    """Return a chapter's row of the table."""
    named = sorted(set(counts.opening[1].values())) if counts.opening else []
    by_stars = Counter(counts.exercises)
    exercises = ", ".join(f"{mark or 'no star'} {by_stars[mark]}" for mark in sorted(by_stars))
    cells = [
        page,
        f"{counts.words:,}",
        f"{counts.characters:,}",
        str(len(counts.mistakes)),
        *(weighed(counts, weight) for weight in ("core", "optional")),
        ", ".join(f"{each} min" for each in named) or "–",
        f"{len(counts.exercises)} ({exercises})" if counts.exercises else "0",
    ]
    return f"| {' | '.join(cells)} |\n"


def weighed(counts: Counts, weight: str) -> str:
    number = sum(each.weight == weight for each in counts.sections)
    return f"{number} ({counts.minutes(weight)} min)" if number else "–"


def write_table(app: Sphinx, exception: Exception | None) -> None:
    """Write the table of all chapters."""
    found = COUNTS.of(app.env) if exception is None else {}
    pages = [page for page in chapters(app.env) if page in found] if found else []
    if pages:
        rows = "".join(row(page, found[page]) for page in pages)
        text = HEAD.format(words=WORDS, mistakes=MISTAKES) + rows
        Path(app.outdir).parent.joinpath("counts.md").write_text(text, encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("lesson.checks.problems")
    app.add_config_value(OTHERS, [], "env", list)
    COUNTS.connect(app)
    app.connect("doctree-read", check)
    app.connect("build-finished", write_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
