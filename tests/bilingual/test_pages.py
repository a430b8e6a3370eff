"""A plain Sphinx project becomes a site in two languages."""

import re
from pathlib import Path

import pytest
import search_parts
from bilingual.marks import is_marked
from lxml import etree
from tiny_project import Project, make_project

INDEX = """# {zh}`首页` {en}`Home`

```{toctree}
:caption: 目录 | Pages
markdown
restructured
```
"""

MARKDOWN = """(to-markdown)=
# {zh}`掩码` {en}`Masks`

:::{zh}
填充的词元
不该得到权重。

第二段说 "好"。
:::
:::{en}
Padding gets no weight.

A second paragraph.
:::

:::{note}
{zh}``用 `softmax` 和 $x$`` {en}``use `softmax` and $x$``
:::

:::{figure-md} fig-one
![](one.png)

{zh}`图注` {en}`A caption`
:::

{numref}`fig-one`
"""

RESTRUCTURED = """.. _to-rest:

==========================
:zh:`方差` :en:`Variance`
==========================

.. zh::

   见 :ref:`to-markdown`，:math:`e^{-10^6} \\approx \\tfrac{0}{1}`。

.. en::

   See :ref:`to-markdown`.

:zh:`用 \\`\\`softmax\\`\\` 归一化` :en:`use \\`\\`softmax\\`\\` to normalize`
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project of two pages, built once for all tests of this file."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "one.png").write_bytes(b"no picture")
    pages = {"index": INDEX, "markdown": MARKDOWN, "restructured": RESTRUCTURED}
    project = make_project(folder, **pages)
    project.build()
    return project


def texts(page: str, xpath: str) -> list[str]:
    found = etree.HTML(page).xpath(xpath)
    return [" ".join("".join(element.itertext()).split()) for element in found]


@pytest.mark.parametrize(("name", "zh", "en"), [("markdown", "掩码", "Masks"),
                                                ("restructured", "方差", "Variance")])  # fmt: skip
def test_a_heading_speaks_both_languages(built: Project, name: str, zh: str, en: str) -> None:
    page = built.page(name)
    assert texts(page, "//h1/span[@lang='zh-Hans']") == [zh]
    assert texts(page, "//h1/span[@lang='en']") == [en]
    (title,) = etree.HTML(page).xpath("//title")
    assert title.get("data-zh-text") == f"{zh} — 小书"
    assert title.get("data-en-text") == f"{en} — Tiny book"


def test_blocks_stand_in_pairs_paragraph_by_paragraph(built: Project) -> None:
    page = built.page("markdown")
    pair = "//div[contains(@class, 'bl-pair')]"
    assert texts(page, f"{pair}/div[@lang='zh-Hans']") == [
        "填充的词元不该得到权重。",
        "第二段说 “好”。",
    ], "a line break in Chinese is no blank, and straight quotes are curled"
    assert texts(page, f"{pair}/div[@lang='en']") == [
        "Padding gets no weight.",
        "A second paragraph.",
    ]


def test_maths_and_code_may_stand_inside_a_role(built: Project) -> None:
    assert texts(built.page("restructured"), "//p/span[@lang]//code") == ["softmax"] * 2
    page = built.page("markdown")
    inside = "//div[contains(@class, 'note')]/p[last()]/span[@lang='zh-Hans']"
    assert texts(page, f"{inside}//code") == ["softmax"]
    assert len(texts(page, f"{inside}//span[contains(@class, 'math')]")) == 1


def test_the_machinery_speaks_both_languages(built: Project) -> None:
    page = built.page("markdown")
    assert texts(page, "//p[@class='admonition-title']/span[@lang]") == ["注", "Note"]
    caption = "//span[@class='caption-number']/span[@lang]"
    assert texts(page, caption) == ["图", "Fig."]
    reference = "//span[@class='std std-numref']/span[@lang]"
    assert texts(page, reference) == ["图", "Fig."]
    assert texts(page, "//p[@class='caption']/span/span[@lang]")[:2] == ["目录", "Pages"]


def test_a_reference_says_the_title_in_the_readers_language(built: Project) -> None:
    page = built.page("restructured")
    link = "//div[@lang='en']//a[contains(@href, 'markdown.html')]//span[@lang]"
    assert texts(page, link) == ["掩码", "Masks"]


def test_a_page_has_a_toggle_and_the_first_paint(built: Project) -> None:
    page = built.page("index")
    buttons = etree.HTML(page).xpath("//button[@data-set-language]/@data-set-language")
    assert buttons == ["zh", "en", "both"]
    script = page.index("root.dataset.language = language")
    assert script < page.index("<body"), "before anything is painted"
    assert "_static/language.js" in page
    assert "_static/language.css" in page
    for name in ("language.js", "language.css", "search.js", "porter-stemmer.js"):
        assert (built.html / "_static" / name).is_file()


def test_no_marks_reach_the_reader(built: Project) -> None:
    files = [path for path in built.html.rglob("*") if path.suffix in (".html", ".js", ".inv")]
    assert len(files) > 8
    for path in files:
        assert not is_marked(path.read_bytes().decode("utf8", "ignore")), path


def test_the_search_page_searches_in_both_languages(built: Project) -> None:
    page = built.page("search")
    assert etree.HTML(page).xpath("//input[@id='book-search']")
    scripts = etree.HTML(page).xpath("//script/@src")
    assert [src.split("?")[0] for src in scripts][-3:] == [
        "_static/porter-stemmer.js",
        "_static/search-engine.js",
        "_static/search.js",
    ]
    index = search_parts.whole(built.html)
    ((anchor, zh, en, zh_text, en_text, _, _),) = index["markdown.html"]
    assert (anchor, zh, en) == ("", "掩码", "Masks")
    assert "不该得到权重" in zh_text
    assert "Padding gets no weight" in en_text
    assert list(index) == ["index.html", "markdown.html", "restructured.html"], "in reading order"


def test_references_and_formulas_can_be_read_in_the_index(built: Project) -> None:
    ((_, _, _, zh, en, _, _),) = search_parts.whole(built.html)["restructured.html"]
    assert zh == "见 掩码，e^(-10⁶) ≈0/1。 用 softmax 归一化"
    assert en == "See Masks. use softmax to normalize"
    assert "\ue010" not in search_parts.text(built.html)


def test_words_of_a_project_can_be_added(built: Project) -> None:
    link = "//a[contains(@href, '_sources')]/span[@lang]"
    assert texts(built.page("index"), link) == ["本页的源文件", "Page source"]


def test_what_misses_its_translation_is_named(project: Project) -> None:
    project.write(
        index="# T\n\n:::{zh}\n一\n:::\n\nText\n\n{zh}`用` {en}`use `code` here`\n",
    )
    log = project.build(fails=True)
    assert re.search(r"index\.md:3: WARNING: :::\{zh\} without its :::\{en\}", log)
    assert re.search(r"index\.md:9: WARNING: \{en\}`use ` ends before 'code':", log)


HALVES = [
    "## {zh}`只有中文`",
    "## {en}`English alone`",
    "| {zh}`甲` | {en}`b` |\n|---|---|\n| 1 | 2 |",  # a cell of a table is one, its row is not
    "```{figure} one.png\n{zh}`图注`\n```",
    ":::{note}\n{zh}`甲` {en}`a` {zh}`乙`\n:::",
    "```{admonition} {en}`Title`\n1\n```",
]


def test_words_without_their_translation_are_named(project: Project) -> None:
    """The kind: one language where a page has both: headings, cells, captions, titles, lines."""
    (project.folder / "one.png").write_bytes(b"no picture")
    project.write(index="# T\n\n" + "\n\n".join(HALVES) + "\n\n{zh}`甲` {en}`a` {zh}`乙` {en}`b`\n")
    log = project.build(fails=True)
    found = re.findall(r"\{(zh|en)\}`(\S.*?)` without its \{(?:zh|en)\}", log)
    words = ("只有中文", "English alone", "甲", "b", "图注", "乙", "Title")
    assert sorted(text for _, text in found) == sorted(words)


def test_an_edited_page_changes_its_own_entry_of_the_index(project: Project) -> None:
    toctree = "\n```{toctree}\nother\n```\n"
    project.write(index="# One\n" + toctree, other="# Other\n")
    project.build()
    project.write(other="# {zh}`别的` {en}`Another`\n")
    project.build()
    index = search_parts.text(project.html)
    assert "别的" in index
    assert '"Other"' not in index
    project.write(index="# One\n")
    Path(project.folder, "other.md").unlink()
    project.build()
    assert "别的" not in search_parts.text(project.html)
