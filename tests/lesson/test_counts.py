"""The counts of a chapter are those of its course, and its bounds are kept."""

import pytest
from lesson.checks.counts import MISTAKES, WORDS, count, out_of_bounds
from tiny import HEADER, cell

OPENING = """
::::{{opening}}
:::{{zh}}
**时间**

- {zh} 分钟
:::
:::{{en}}
**Time**

- {en} minutes, and an hour for the exercises
:::
::::
"""
SOURCES = """
::::{sources} {zh}`出处` {en}`Printed numbers`
:::{zh}
别人印的数。
:::
:::{en}
Numbers of others, {ref}`one <mistake-aside>`.
:::
::::
"""


def chapter(words=1500, sections="", opening=None):
    """Return a chapter that keeps the bounds, unless it is told not to."""
    text = "\n".join(["word " * 10] * (words // 10))
    opening = OPENING.format(zh=13, en=13) if opening is None else opening
    return (
        HEADER
        + f"# Title\n{opening}\n## {{zh}}`甲` {{en}}`A` {{core}}`8`\n\n:::{{en}}\n{text}\n:::\n"
        + "## {zh}`乙` {en}`B` {optional}`5`\n"
        + sections
        + "## {zh}`带走一句话` {en}`One line to keep`\n"
    )


def complaints(text):
    return [problem.message for problem in out_of_bounds(count(text))]


@pytest.mark.parametrize(
    ("text", "words", "characters"),
    [
        ("# {zh}`掩码` {en}`The mask`", 2, 2),
        ("{zh}``用 `f` 和 $x$`` {en}``use `f`, $x$``", 3, 2),
        (":::{zh}\n权重是 {glue:text}`a:.1f`，见{ref}`sec-a`。\n:::", 0, 4),
        (":::{en}\nThe weight is {glue:text}`a:.1f`, see {ref}`here <sec-a>`.\n:::", 6, 0),
        (":::{en}\nThe {term}`keys <key>` of a [page](https://a.example/x-y-z).\n:::", 5, 0),
        (":::{zh}\n{term}`掩码 <mask>`与{term}`查询`\n:::", 0, 5),
        ("| {zh}`键` {en}`key` | $a$ | 3.5 |", 1, 1),
        ("::::{claim} a-b\n:::{en}\nIt holds.\n:::\n::::", 2, 0),
        (cell("a_word = 1  # 注释"), 0, 0),
        (":::{diagram} d\n:alt-en: A drawing\n{zh}`图注` {en}`The caption`\n:::", 0, 0),
        (":::{exercise} {zh}`★ 算` {en}`★ Compute`\n:label: e\n{en}`What is it?`\n:::", 0, 0),
        ("```{solution-start} e\n```\n:::{en}\nIt is.\n:::\n```{solution-end}\n```", 0, 0),
        (SOURCES, 0, 0),
        ("## {zh}`延伸阅读` {en}`Further reading`\n\n:::{en}\nA book.\n:::", 0, 0),
        ("## {zh}`带走一句话` {en}`One line to keep`\n\n:::{en}\nIn short.\n:::", 6, 5),
    ],
)
def test_the_courses_words_are_counted_and_no_others(text, words, characters):
    found = count(HEADER + text)
    assert (found.words, found.characters) == (words, characters)


def test_a_mistake_counts_where_the_course_refers_to_its_entry():
    refer = "\n".join(f"{{ref}}`this <mistake-{n}>` and {{ref}}`mistake-{n}`" for n in range(3))
    found = count(HEADER + f":::{{en}}\n{refer}\n:::\n" + SOURCES)
    assert found.mistakes == ("mistake-0", "mistake-1", "mistake-2")


def test_a_chapter_within_the_bounds_is_left_in_peace():
    assert complaints(chapter(sections=SOURCES)) == []


def test_too_few_and_too_many_words():
    for words in (WORDS[0] - 200, WORDS[1] + 200):
        (message,) = complaints(chapter(words))
        assert f"English words, not {WORDS[0]}–{WORDS[1]}" in message


def test_too_many_mistakes():
    named = " ".join(f"{{ref}}`mistake-{n}`" for n in range(MISTAKES + 1))
    (message,) = complaints(chapter(sections=f"{named}\n"))
    assert "names 3 mistakes" in message


def test_an_optional_section_adds_no_words():
    more = "## {zh}`丙` {en}`C` {optional}`2`\n\n:::{en}\nTwo words.\n:::\n"
    assert count(chapter() + more).words == count(chapter()).words
    assert count(chapter() + more.replace("optional", "core")).words == count(chapter()).words + 3


@pytest.mark.parametrize("minutes", [8, 13])
def test_the_opening_names_the_minutes_of_the_core_or_of_all(minutes):
    assert complaints(chapter(opening=OPENING.format(zh=minutes, en=minutes))) == []


def test_a_section_without_a_weight():
    (problem,) = out_of_bounds(count(chapter(sections="## {zh}`丙` {en}`C`\n")))
    assert "'C' is neither core nor optional" in problem.message
    lines = chapter(sections="## {zh}`丙` {en}`C`\n").split("\n")
    assert "{en}`C`" in lines[problem.line - 1]


@pytest.mark.parametrize("minutes", [{"zh": 13, "en": 12}, {"zh": 12, "en": 13}])
def test_minutes_that_do_not_add_up(minutes):
    (message,) = complaints(chapter(opening=OPENING.format(**minutes)))
    assert "the sections add up to 13 minutes" in message


def test_no_opening():
    assert complaints(chapter(opening="")) == ["the chapter has no {opening}"]


def test_exercises_are_counted_by_their_stars():
    boxes = [f":::{{exercise}} {{zh}}`{s} 算` {{en}}`{s} Sum`\nx\n:::\n" for s in ("★★", "★", "")]
    assert count(HEADER + "".join(boxes)).exercises == ("★★", "★", "")
