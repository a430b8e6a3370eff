"""A book of some of its chapters is sound: what leads to the others becomes words."""

import pytest
from tiny import make_book

CONTENTS = """\
format: jb-book
root: intro
parts:
  - caption: 甲部 | Part A
    numbered: true
    chapters: [{file: a}, {file: b}]
  - caption: 乙部 | Part B
    numbered: true
    chapters: [{file: c}]
  - caption: 其他 | Other
    chapters: [{file: more}]
"""
INTRO = """# {zh}`书` {en}`Book`

:::::{container} doors
::::{container} door
:::{zh}
- {ref}`去甲 <ch-a>`
- {ref}`去丙 <ch-c>`
:::
:::{en}
- {ref}`to A <ch-a>`
- {ref}`to C <ch-c>`
:::
::::
::::{container} door
:::{zh}
- {ref}`去丙 <ch-c>`
:::
:::{en}
- {ref}`to C <ch-c>`
:::
::::
:::::
"""
A = """(ch-a)=
# {zh}`甲章` {en}`Chapter A`

:::{zh}
见《{ref}`ch-c`》{ref}`这一节 <sec-c>`，{ref}`note-c`，{eq}`eq-c`，{ref}`ch-b`。
:::
:::{en}
See {ref}`ch-c`, {ref}`this section <sec-c>`, {ref}`note-c`, {eq}`eq-c`, {numref}`fig-c`.
And {doc}`c`, {doc}`/c` or {ref}`ch-b`, {ref}`alias-c`, {numref}`plot-c`.
:::
"""
B = "(ch-b)=\n# {zh}`乙章` {en}`Chapter B`\n"
C = """(ch-c)=
# {zh}`丙章` {en}`Chapter C` {core}`5`

(alias-c)=
(sec-c)=
## {zh}`节` {en}`Section`

```{code-cell} python3
---
mystnb:
  figure:
    name: plot-c
---
1
```

```{math}
:label: eq-c
x
```

:::{figure} x.svg
:name: fig-c
{zh}`图` {en}`Figure`
:::

::::{sources} {zh}`考据` {en}`Who said it`
:name: note-c
::::
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    made = make_book(
        tmp_path_factory.mktemp("some"),
        ["bilingual", "evidence"],
        settings={"nitpicky": True},
        intro=INTRO, a=A, b=B, c=C, more="# {zh}`又` {en}`More`\n",
    )  # fmt: skip
    made.book.joinpath("_toc.yml").write_text(CONTENTS, encoding="utf8")
    return made


def test_what_is_left_out_becomes_words(book, tmp_path):
    part = book.copy(tmp_path)
    part.build(BOOK_CHAPTERS="b a")
    page = part.page("a")
    assert "c.html" not in page
    assert not part.html.joinpath("c.html").exists()
    for words in ("丙章", "Chapter C", "this section", "Who said it", "那里的公式"):
        assert words in page
    assert page.count("the figure there") == 2
    assert page.count("Chapter C") == 4
    assert "Section" in page
    assert 'href="b.html' in page
    assert 'href="a.html' in part.page("b")  # the navigation
    assert part.html.joinpath("more.html").exists()
    intro = part.page("intro")
    assert "to A" in intro
    assert "to C" not in intro
    assert intro.count('class="door ') + intro.count('class="door"') == 1
    assert "Part B" not in intro


def test_a_name_that_is_no_chapter_is_told(book, tmp_path):
    log = book.copy(tmp_path).build(fails=True, BOOK_CHAPTERS="a bb more")
    assert "BOOK_CHAPTERS" in log
    assert "there is no chapter more" in log
