"""The straight road: what its chapters say of it, its lists, its bounds, and the order of needs."""

import pickle
import re

import lesson
import pytest
from lesson import road
from lesson.road import in_words
from test_lesson import OPENING, find, of_class, words
from tiny import make_book

COLOR = re.compile(r"\x1b\[[\d;]*m")
WORD = " word" * 1100
NEEDS = {"zh": "（{ref}`ch-%s`）", "en": " ({ref}`ch-%s`)"}


def chapter(name, way, needs="", minutes=8):
    """Return a chapter of a road, which may need another."""
    opening = OPENING.replace("5 分钟", f"{minutes} 分钟").replace(
        "5 minutes", f"{minutes} minutes"
    )
    for before, language in (("- 加法", "zh"), ("- addition", "en")):
        assert before in opening
        opening = opening.replace(before, before + (NEEDS[language] % needs if needs else ""), 1)
    return f"""---
road: {way}
invitation:
  zh: {name} 的问题？
  en: "question of {name}?"
kernelspec:
  name: python3
---
(ch-{name})=
# {{zh}}`{name} 章` {{en}}`Chapter {name}`

{opening}

## {{zh}}`甲` {{en}}`First` {{core}}`{minutes}`

:::{{zh}}
字。
:::
:::{{en}}
{WORD}
:::
"""


INDEX = """# {zh}`书` {en}`Book`

```{chapters-by-part}
```

{count}`chapters` {minutes}`c`
"""
CONTENTS = """\
format: jb-book
root: intro
parts:
  - caption: 甲部 | Part A
    numbered: true
    chapters: [{file: a}, {file: b}]
  - caption: 乙部 | Part B
    numbered: true
    chapters: [{file: c}, {file: d}]
"""

PAGES = {
    "a": chapter("a", "straight"),
    "b": chapter("b", "side", needs="a"),
    "c": chapter("c", "straight", needs="a", minutes=13),
    "d": chapter("d", "side", needs="b"),
}


def make(folder):
    parts = [part for part in lesson.PARTS if part != "lesson.checks"]  # no whole chapters
    extensions = ["bilingual", "website.figures", "evidence", *parts, "lesson.checks.counts"]
    book = make_book(folder, extensions, intro=INDEX, **PAGES)
    book.book.joinpath("_toc.yml").write_text(CONTENTS, encoding="utf8")
    return book


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = make(tmp_path_factory.mktemp("roads"))
    book.build()
    return book


def test_the_contents_list_each_part_folded_with_its_chapters_questions(built):
    page = built.page("intro")
    parts = find(page, of_class("book-part"))
    assert [words(each.find("summary"), "zh") for each in parts] == [
        "甲部2 章，必读 16 分钟",
        "乙部2 章，必读 21 分钟",
    ]
    assert [each.get("open") for each in parts] == [None, None]
    items = [[words(item, "en") for item in each.iter("li")] for each in parts]
    assert items == [
        ["1. Chapter a question of a? (8 min)", "2. Chapter b question of b? (8 min)"],
        ["3. Chapter c question of c? (13 min)", "4. Chapter d question of d? (8 min)"],
    ]
    dotted = find(page, "//article" + of_class("on-the-road"))
    assert [each.get("href") for each in dotted] == ["a.html", "c.html"]
    assert "the 2 chapters of the straight road, whose cores take 21 min in all." in words(
        find(page, of_class("road-sum"))[0], "en"
    )


def test_numbers_of_the_book_are_counted(built):
    assert "4 13" in [words(each, "en") for each in find(built.page("intro"), "//article//p")]


@pytest.mark.parametrize(
    ("page", "zh", "en"),
    [
        (
            "a",
            "主线第 1 站，共 2 站；下一站：c 章。",
            "Stop 1 of 2 on the straight road; the next is Chapter c.",
        ),
        (
            "c",
            "主线第 2 站，共 2 站，也是最后一站。",
            "Stop 2 of 2 on the straight road, the last one.",
        ),
        ("b", "支线：b 的问题？", "A side road: question of b?"),
    ],
)
def test_an_opening_says_where_its_chapter_stands(built, page, zh, en):
    (line,) = find(built.page(page), of_class("opening-road"))
    assert (words(line, "zh"), words(line, "en")) == (zh, en)


@pytest.mark.parametrize(
    ("page", "zh", "en"),
    [
        ("a", "8 分钟 · 主线第 1 站 · ", "8 minutes · stop 1 of 2 · "),
        ("b", "8 分钟 · 支线 · ", "8 minutes · a side road · "),
    ],
)
def test_a_chapter_begins_with_one_line(built, page, zh, en):
    (line,) = find(built.page(page), "//details[@class='opening-more']/summary")
    assert words(line, "zh").startswith(zh)
    assert words(line, "en").startswith(en)
    assert len(find(built.page(page), "//details" + of_class("opening-road"))) == 1


def test_a_road_that_changes_is_written_again_wherever_it_is_told(built, tmp_path):
    project = built.copy(tmp_path)
    project.write(b=chapter("b", "straight", needs="a"))
    project.build()
    assert "Chapter b" in words(find(project.page("a"), of_class("opening-road"))[0], "en")
    assert "Stop 3 of 3" in words(find(project.page("c"), of_class("opening-road"))[0], "en")
    assert "29 min in all" in words(find(project.page("intro"), "//article")[0], "en")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"a": chapter("a", "none")}, "a.md:1: WARNING: the front matter says neither `road: str"),
        (
            {"a": chapter("a", "straight").replace("  zh: a 的问题？\n", "")},
            "a.md:1: WARNING: the front matter has no `invitation:`",
        ),
        (
            {"a": chapter("a", "straight", needs="c")},
            "a.md:1: WARNING: the chapter needs c, which comes after it",
        ),
        (
            {"c": chapter("c", "straight", needs="b")},
            "c.md:1: WARNING: the straight road needs b, which does not lie on it",
        ),
        (
            {"c": chapter("c", "straight", minutes=593)},
            "c.md:1: WARNING: the straight road is too long: its cores take 601 minutes",
        ),
    ],
)
def test_what_is_wrong_is_named(built, tmp_path, changed, complaint):
    project = built.copy(tmp_path)
    project.write(**changed)
    for _ in range(2):  # and again where nothing was read a second time
        assert complaint in COLOR.sub("", project.build(fails=True, BOOK_STRICT="1"))


@pytest.mark.parametrize(
    ("bound", "most", "complaint"),
    [
        ("CHAPTERS", 1, "it has 2 chapters, more than 1"),
        ("MINUTES", 20, "its cores take 21 minutes, more than 20"),
        ("MINUTES_UNTIL", 7, "c comes after 8 minutes, more than 7"),
    ],
)
def test_the_bounds(built, monkeypatch, bound, most, complaint):
    env = pickle.loads((built.book / "_build" / ".doctrees" / "environment.pickle").read_bytes())
    monkeypatch.setattr(road, "HALFWAY", "c")
    straight = road.on_road(env, road.STRAIGHT)
    assert list(road.too_long(env, straight)) == []
    monkeypatch.setattr(road, bound, most)
    assert list(road.too_long(env, straight)) == [complaint]


def test_hours_and_minutes():
    assert in_words(593, "en") == "9 h 53 min"
    assert in_words(120, "zh") == "2 小时"
