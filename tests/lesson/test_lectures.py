"""Courses: the minutes add up, what a lecture offers is listed, what does not fit is named."""

import re

import pytest
import yaml
from test_lesson import find, of_class, words
from test_road import COLOR, PAGES, chapter, make
from tiny import EXTENSIONS

COURSE = """# {{zh}}`课` {{en}}`Course`

```{{lectures}} {count}
:minutes: {bounds}
:beforehand: {beforehand}
:rest:
{entries}
```
"""
ENTRY = """- chapters: {}
  zh: 学{}
  en: learn {}
"""
#: What a chapter offers besides its core.
OFFERS = """
## {zh}`乙` {en}`Second` {optional}`5`

:::{exercise} {zh}`● ★ 做` {en}`● ★ Do it`
:label: ex-c-do
:::

:::{exercise} {zh}`★ 不必` {en}`★ Leave it`
:label: ex-c-leave
:::
"""


def course(*entries, count=None, bounds="10-30", beforehand=""):
    return COURSE.format(
        count=count or len(entries),
        bounds=bounds,
        beforehand=beforehand,
        entries="".join(ENTRY.format(each, each, each) for each in entries),
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = make(tmp_path_factory.mktemp("lectures"))
    book.write(c=PAGES["c"] + OFFERS, d=chapter("d", "side"))
    contents = book.book / "_toc.yml"
    text = contents.read_text(encoding="utf8")
    contents.write_text(
        text + "  - caption: 丙 | C\n    chapters: [{file: course}]\n", encoding="utf8"
    )
    config = book.book / "_config.yml"
    settings = yaml.safe_load(config.read_text(encoding="utf8"))
    settings["sphinx"]["extra_extensions"] = ["sphinx_exercise"]
    settings["sphinx"]["local_extensions"]["website.slides"] = str(EXTENSIONS)
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf8")
    book.write(course=course("a b", "c"))
    book.build()
    return book


def lectures(book):
    return find(book.page("course"), of_class("lecture"))


def test_a_lecture_lists_what_its_chapters_offer(built):
    first, second = lectures(built)
    assert words(first.find("summary"), "en") == "1. learn a b 16 min"
    assert words(second.find("summary"), "zh") == "第 2 讲 学c 13 分钟"
    assert [words(each, "en") for each in first.iter("li")] == [
        "Chapters: Chapter a (8 min); Chapter b (8 min)"
    ]
    assert [words(each, "en") for each in second.iter("li")] == [
        "Chapters: Chapter c (13 min)",
        "Exercises to do: ● ★ Do it",
        "May be skipped: Second (5 min)",
    ]
    links = [each.get("href") for each in second.iter("a")]
    assert links[0] == "c.html"
    for link in links[1:]:
        assert f'id="{link.partition("#")[2]}"' in built.page("c")


def test_the_whole_course_is_summed_and_what_it_leaves_out_is_named(built):
    page = built.page("course")
    text = words(find(page, "//article")[0], "en")
    assert "2 lectures, 29 min, counting cores alone." in text
    assert "In none of these lectures: Chapter d." in text


def test_slides_are_linked_where_they_are(built, tmp_path):
    project = built.copy(tmp_path)
    deck = project.html / "_slides" / "c-en.html"
    deck.parent.mkdir()
    deck.write_text("<p>slides</p>", encoding="utf8")
    project.build()
    first, second = lectures(project)
    assert [each.get("href") for each in second.iter("a")][:2] == ["c.html", "_slides/c-en.html"]
    assert len(list(first.iter("a"))) == 2
    deck.unlink()
    project.build()
    assert "_slides" not in project.page("course")


def test_a_chapter_that_changes_is_told_again(built, tmp_path):
    project = built.copy(tmp_path)
    project.write(c=chapter("c", "straight", needs="a", minutes=14))
    project.build()
    assert words(lectures(project)[1].find("summary"), "en") == "2. learn c 14 min"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        (course("a b", "c", count=3), "course.md:3: WARNING: lectures: expected 3 lectures, got 2"),
        (course("a", "c"), "course.md:7: WARNING: lectures: lecture 1 takes 8 minutes, not 10 to"),
        (course("a b", "c d", bounds="10-20"), "course.md:10: WARNING: lectures: lecture 2 takes"),
        (course("c d", "a b"), "course.md:7: WARNING: lectures: lecture 1: c needs a, not heard"),
        (course("a b", "c a"), "course.md:10: WARNING: lectures: lecture 2: a comes a second time"),
        (course("a b", "c x"), "course.md:10: WARNING: lectures: there is no chapter x"),
        (course("a b", "c", bounds="x"), "course.md:3: WARNING: lectures: expected the number of"),
    ],
)
def test_what_does_not_fit_is_named(built, tmp_path, page, complaint):
    project = built.copy(tmp_path)
    project.write(course=page)
    for _ in range(2):  # and again where nothing was read a second time
        assert complaint in COLOR.sub("", project.build(fails=True))


def test_what_is_read_beforehand_need_not_be_heard(built, tmp_path):
    project = built.copy(tmp_path)
    project.write(course=course("c", beforehand="a"))
    project.build()
    text = words(find(project.page("course"), "//article")[0], "zh")
    assert "学生事先自己读：a 章。" in text
    assert re.search("没有排进去的章：b 章、d 章。", text)
