"""The parts of a chapter, as pages show them: opening, badges, notes on sources, stages."""

import re
from typing import Any

import pytest
import search_parts
from lxml import html
from tiny_lesson import make_project

OPENING = """::::{opening}
:::{zh}
**需要**

- 加法

**学完之后，你能**

- 求和
- 求 $n$ 个数的平均

**时间**

- 5 分钟
:::
:::{en}
**You need**

- addition

**Afterwards you can**

- sum
- take the average of $n$ numbers

**Time**

- 5 minutes
:::
::::
"""

SOURCES = """::::{sources} {zh}`谁先写的` {en}`Who wrote it first`
:name: sec-first

:::{zh}
写在石板上。
:::
:::{en}
On a slate.
:::

```python
print("both")
```
::::
"""

STAGES = """:::{stages} four
:name: fig-four
:alt-zh: 四步
:alt-en: four steps
{zh}`题注。` {en}`Caption.`

1. {zh}`一。` {en}`One.`
2. {zh}`二：$x$。` {en}`Two: $x$.`
3. {zh}`三。` {en}`Three.`
4. {zh}`四。` {en}`Four.`
:::
"""

PAGE = f"""# {{zh}}`本章` {{en}}`This chapter`

{OPENING}

(sec-a)=
## {{zh}}`甲` {{en}}`First` {{core}}`8`

See {{ref}}`sec-a`, {{ref}}`sec-first`, {{numref}}`fig-four`.

## {{zh}}`乙` {{en}}`Second` {{optional}}`5`

{STAGES}

{SOURCES}

:::{{exercise}} {{zh}}`★ 一步` {{en}}`★ One step`
:label: ex-short
Take it.
:::

:::{{exercise}} {{zh}}`★★★ 一个晚上` {{en}}`★★★ An evening`
:label: ex-long
Take it.
:::
"""

INDEX = """# {zh}`书` {en}`Book`

```{toctree}
page
```

```{sources-list}
```

```{hard-exercises}
```
"""


def words(element: Any, language: str) -> str:
    """Return what a reader of one language sees."""
    return " ".join(raw_words(element, language).split())


def raw_words(element: Any, language: str) -> str:
    hidden = {"bl-sep", "bl-en" if language == "zh" else "bl-zh"}
    if hidden & set(element.get("class", "").split()):
        return ""
    inside = (raw_words(child, language) + (child.tail or "") for child in element)
    return (element.text or "") + "".join(inside)


def find(page: str, xpath: str) -> list[Any]:
    found: list[Any] = html.fromstring(page).xpath(xpath)
    return found


def of_class(name: str) -> str:
    return f"//*[contains(concat(' ', @class, ' '), ' {name} ')]"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a project in which one page has every part."""
    project = make_project(tmp_path_factory.mktemp("built"))
    project.write(index=INDEX, page=PAGE)
    project.build()
    return project


@pytest.fixture
def text(built: Any) -> str:
    text: str = built.page("page")
    return text


class TestAPage:
    """What the page with every part shows."""

    def test_the_opening_has_three_parts_in_both_languages(self, text: str, built: Any) -> None:
        parts = find(text, of_class("opening-part"))
        titles = [part.xpath(".//strong") for part in parts]
        assert [words(each[0], "zh") for each in titles] == ["需要", "学完之后，你能", "时间"]
        assert [words(each[1], "en") for each in titles] == [
            "You need", "Afterwards you can", "Time",
        ]  # fmt: skip
        assert all(part.xpath(".//*[contains(@class, 'bl-pair')]") for part in parts)

    def test_a_badge_stands_in_its_heading_alone(self, text: str, built: Any) -> None:
        first, second = find(text, "//article//h2|//div[@class='body']//h2")
        assert words(first, "zh").startswith("甲 必读 · 8 分钟")
        assert words(second, "en").startswith("Second optional · 5 min")
        assert text.count("8 min") == 1
        (title,) = find(text, "//head/title")
        assert "min" not in title.text
        links = find(text, "//p/a[@href='#sec-a']")
        assert [words(link, "en") for link in links] == ["First"]
        assert "min" not in built.page("index")

    def test_notes_on_sources_are_folded_and_have_a_title(self, text: str, built: Any) -> None:
        (box,) = find(text, "//details[@id='sec-first']")
        assert box.get("open") is None
        (summary,) = box.xpath("summary")
        assert words(summary, "zh") == "考据：谁先写的"
        assert words(summary, "en") == "Notes on sources: Who wrote it first"
        assert "写在石板上" in words(box, "zh")
        assert "slate" not in words(box, "zh")
        (link,) = find(text, "//p/a[@href='#sec-first']")
        assert (words(link, "zh"), words(link, "en")) == ("谁先写的", "Who wrote it first")

    def test_the_search_finds_a_box_by_its_own_title(self, text: str, built: Any) -> None:
        pages = search_parts.whole(built.html)
        sections = {entry[0]: entry for entries in pages.values() for entry in entries}
        assert sections["sec-first"][1:5] == [
            "谁先写的",
            "Who wrote it first",
            "写在石板上。",
            "On a slate.",
        ]
        assert ["甲", "First"] in [entry[1:3] for entry in sections.values()]

    def test_the_list_names_chapter_and_box(self, text: str, built: Any) -> None:
        index = built.page("index")
        for chapter in find(index, of_class("listed-chapter")):
            assert words(chapter, "en") == "This chapter"
        (link,) = find(index, "//li//a[@href='page.html#sec-first']")
        assert words(link, "zh") == "谁先写的"

    def test_the_exercises_of_three_stars_are_listed_and_no_other(
        self, text: str, built: Any
    ) -> None:
        index = built.page("index")
        (link,) = find(index, "//li//a[@href='page.html#ex-long']")
        assert (words(link, "zh"), words(link, "en")) == ("★★★ 一个晚上", "★★★ An evening")
        assert not find(index, "//a[contains(@href, 'ex-short')]")

    def test_stages_are_a_numbered_figure_with_a_list(self, text: str, built: Any) -> None:
        (figure,) = find(text, "//figure[@id='fig-four']")
        assert "stages" in figure.get("class")
        assert [part.get("data-stage") for part in figure.xpath(".//*[@data-stage]")] == [
            "1", "2-3", "4",
        ]  # fmt: skip
        assert len(figure.xpath(".//figcaption//ol/li")) == 4
        assert words(figure.xpath(".//figcaption")[0], "en").startswith("Fig. 1 Caption.")
        assert [words(button, "zh") for button in figure.xpath(".//button")] == [
            "‹ 上一步", "下一步 ›",
        ]  # fmt: skip
        assert figure.xpath(".//*[@aria-live='polite']")
        (link,) = find(text, "//p/a[@href='#fig-four' and not(@class='headerlink')]")
        assert words(link, "zh") == "图 1"

    def test_only_a_page_with_stages_loads_their_script(self, text: str, built: Any) -> None:
        assert "stages.js" in text
        assert "stages.js" not in built.page("index")


def test_a_book_without_notes_says_so(project: Any) -> None:
    project.write(index=INDEX.replace("```{toctree}\npage\n```\n", ""))
    project.build()
    assert "No chapter has notes on sources yet." in project.page("index")
    assert "No chapter has an exercise of three stars yet." in project.page("index")


def test_the_list_follows_a_chapter_that_changes(project: Any) -> None:
    project.write(index=INDEX, page=PAGE)
    project.build()
    project.write(page=PAGE.replace("谁先写的", "谁后写的").replace("An evening", "A night"))
    project.build()
    assert "谁后写的" in project.page("index")
    assert "A night" in project.page("index")


ONE = "- 加法"
WRONG = [
    (OPENING.replace("**时间**\n\n- 5 分钟\n", ""), "the :::{zh} of an opening needs **需要**"),
    (OPENING.replace("**Time**", "**Hours**"), "the :::{en} of an opening needs **You need** and"),
    (OPENING.replace(ONE, "加法"), "the :::{zh} of an opening needs"),
    (re.sub(r":::\{en\}.*?\n:::\n", "", OPENING, flags=re.S), "one :::{zh} and one :::{en}"),
    (SOURCES.replace(" {zh}`谁先写的` {en}`Who wrote it first`", ""), "1 argument(s) required"),
    (SOURCES.replace(" {zh}`谁先写的`", ""), "the title of notes on sources needs {zh}`…`"),
    (SOURCES.replace(":::{en}\nOn a slate.\n:::\n", ""), "notes on sources need a :::{en}"),
    (SOURCES.replace(":name: sec-first\n", ""), "notes on sources need a :name:"),
    (STAGES.replace("4. {zh}`四。` {en}`Four.`\n", ""), "figures/four.svg has 4 stages"),
    (STAGES.replace("{stages} four", "{stages} five"), "no figures/five.svg; there are: four"),
    (STAGES.replace(":alt-en: four steps\n", ""), "needs the options ['alt-en']"),
    (STAGES.replace("1. ", "- "), "stages hold a caption, then an ordered list"),
    ("A word {core}`5` in a text.", "{core} belongs at the end of a heading, once"),
    ("## {core}`5` First", "{core} belongs at the end of a heading, once"),
    ("## First {core}`soon`", "{core}`soon`: expected the section's minutes"),
]  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what a build says of these mistakes, each on a page of its own."""
    project = make_project(tmp_path_factory.mktemp("wrong"))
    pages = {f"page{n}": f"# T\n\nA line.\n\n{text}\n" for n, (text, _) in enumerate(WRONG)}
    project.write(index="# Tiny\n\n```{toctree}\n:glob:\npage*\n```\n", **pages)
    return re.sub(r"\x1b\[[\d;]*m", "", project.build(fails=True))


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_mistake_is_named_with_file_and_line(log: str, number: int) -> None:
    complaints = [line for line in log.splitlines() if f"page{number}.md:" in line]
    (complaint,) = [line for line in complaints if WRONG[number][1] in line]
    assert re.search(rf"page{number}\.md:([5-9]|\d\d): (WARNING|ERROR)", complaint)


@pytest.mark.parametrize("stage", ["0", "2-"])
def test_a_stage_is_a_number_or_a_range(project: Any, stage: str) -> None:
    drawing = project.folder / "figures" / "four.svg"
    drawing.write_text(drawing.read_text("utf8").replace("2-3", stage), encoding="utf8")
    project.write(index=f"# Tiny\n\n{STAGES}")
    assert f'data-stage="{stage}" is neither' in project.build(fails=True)


@pytest.mark.parametrize("count", [3, 9])
def test_a_drawing_has_four_to_eight_stages(project: Any, count: int) -> None:
    parts = "".join(f'<text data-stage="{n}">{n}</text>' for n in range(1, count + 1))
    (project.folder / "figures" / "four.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{parts}</svg>', encoding="utf8"
    )
    caption = STAGES.partition("1. ")[0]
    items = "".join(f"{n}. {{zh}}`句` {{en}}`S`\n" for n in range(1, count + 1))
    project.write(index=f"# Tiny\n\n{caption}{items}:::\n")
    assert f"a drawing has 4 to 8 stages, four has {count}" in project.build(fails=True)
