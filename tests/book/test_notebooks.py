"""Each page with cells becomes a notebook in each language: plain Markdown, and its own cells."""

import base64
import re

import nbformat
import pytest
from evidence.execution.notebook_runner import (
    READERS,
    Run,
    execute_all,
    hidden_packages,
    kernel_environment,
)
from lxml import etree
from tiny import HEADER, ROOT, cell, make_book
from website.figures import svg_markup

EXTENSIONS = [
    *("bilingual", "evidence.execution", "evidence.strict_build", "sphinx_exercise"),
    *("lesson.badges", "lesson.sources", "lesson.evidence_cells", "lesson.number_links"),
    *("website.figures", "website.katex", "website.launch_notebooks"),
]

OTHER = """(ch-other)=
# {zh}`另一章` {en}`Another chapter`

$$
a = 1
$$ (eq-other)

```{glossary}
查询
    问。

key
query
    Asks.
```

```{bibliography}
```
"""

BIB = """@article{solo2001, author = {Solo, Ann}, title = {T}, journal = {J}, year = {2001}}
@article{trio2002, author = {Van Uno, A. and Due, B. and Tre, C.}, title = {T}, journal = {K},
year = {2002}}
"""

SVG = """<svg xmlns="http://www.w3.org/2000/svg" class="dg" viewBox="0 0 360 90">
<text class="dg-text">
<tspan class="bl bl-zh" lang="zh-Hans">查询</tspan><tspan class="bl-sep"> </tspan>
<tspan class="bl bl-en" lang="en">query</tspan></text></svg>"""

SITE = "https://site.example/book"


def ZH(page, anchor="", language="zh"):
    """Return a page's address on the site."""
    return f"{SITE}/{page}.html?lang={language}" + (anchor and f"#{anchor}")


def EN(page, anchor=""):
    return ZH(page, anchor, "en")


#: MyST, and what stands for it in each language; None: nothing that need be looked at.
MARKUP = [
    ("## {zh}`方差` {en}`Variance`", "## 方差", "## Variance"),
    ("({zh}`方差` {en}`variance`)", "(方差)", "(variance)"),
    ("{zh}``用 `f` 和 $x$``{en}``use `f`, $x$``", "用 `f` 和 $x$", "use `f`, $x$"),
    (":::{zh}\n中\n:::\n:::{en}\nE\n:::", "中", "E"),
    ("## {zh}`键` {en}`Key` {core}`8`", "## 键（必读 · 8 分钟）", "## Key (core · 8 min)"),
    (":::{note}\n{zh}`中` {en}`E`\n:::", "> **注**\n>\n> 中", "> **Note**\n>\n> E"),
    (
        "| {zh}`键` {en}`key` | $a$ |\n|---|--:|\n| 1 | `a_b` |",
        "| 键 | $a$ |\n|---|--:|\n| 1 | `a_b` |",
        "| key | $a$ |\n|---|--:|\n| 1 | `a_b` |",
    ),
    ("one {glue:text}`page_error:.3f`", "one `page_error`", "one `page_error`"),
    (
        "two {cite}`solo2001,trio2002`",
        None,
        f"two [[Solo, 2001]({EN('other', 'id2')}), "
        f"[Van\N{NO-BREAK SPACE}Uno et al., 2002]({EN('other', 'id3')})]",
    ),
    ("three {term}`查询`", f"three [查询]({ZH('other', 'term-0')})", None),
    ("four {term}`keys <key>`", None, f"four [keys]({EN('other', 'term-key')})"),
    (
        "five {ref}`ch-other`",
        f"five [另一章]({ZH('other', 'ch-other')})",
        f"five [Another chapter]({EN('other', 'ch-other')})",
    ),
    ("six {ref}`here <ch-other>`", None, f"six [here]({EN('other', 'ch-other')})"),
    ("seven {doc}`other`", None, f"seven [Another chapter]({EN('other')})"),
    ("eight {eq}`eq-other`", None, f"eight [(1)]({EN('other', 'equation-eq-other')})"),
    ("[web](https://a.example/x)", None, "[web](https://a.example/x)"),
    ("nine `{zh}` and $\\text{en}$", None, "nine `{zh}` and $\\text{en}$"),
    ("ten 2 \\* 3, a_b, \\_c\\_", None, "ten 2 \\* 3, a_b, \\_c\\_"),
    ("**a**, *b*", None, "**a**, *b*"),
    (":::{zh}\n**键。**\n它\n在\n:::\n:::{en}\nE\n:::", "<b>键。</b>它在", None),
    ("e\n\n% a comment\n\nf", None, "e\n\nf"),
    ("- g\n- h\n\n  i", None, "- g\n\n- h\n\n  i"),
    ("3. j\n4. k", None, "3. j\n4. k"),
    ("> l", None, "> l"),
    ("```python\n>>> {1: 2}\n```", None, "```python\n>>> {1: 2}\n```"),
    ("$$\nb\n$$ (eq-b)", "$$\nb \\tag{2}\n$$", "$$\nb \\tag{2}\n$$"),
    (
        ":::{exercise} {zh}`算` {en}`Compute`\n:label: ex-c\nDo.\n:::\n\n"
        ":::{solution} ex-c\nDone, {eq}`eq-b`.\n:::",
        "---\n\n**练习 1　算**\n\nDo.\n\n<details>\n<summary>解答：练习 1</summary>",
        "---\n\n**Exercise 1　Compute**\n\nDo.\n\n<details>\n<summary>"
        f"Solution: Exercise 1</summary>\n\nDone, [(2)]({EN('page', 'equation-eq-b')})."
        "\n\n</details>\n\n---",
    ),
    (
        "::::{sources} {zh}`谁` {en}`Who`\n:name: sec-who\n\n:::{zh}\n我\n:::\n:::{en}\nMe\n:::\n"
        "::::\n\nsee {ref}`sec-who`",
        "### 考据：谁\n\n我",
        f"### Notes on sources: Who\n\nMe\n\nsee [Who]({EN('page', 'sec-who')})",
    ),
]  # fmt: skip

DIAGRAM = """
:::{diagram} flow
:name: fig-f
:alt-zh: 图
:alt-en: A "flow"
{zh}`注` {en}`Note`
:::
"""
FIGURE = """---
mystnb:
  image:
    alt: "图 | A plot"
  figure:
    name: fig-x
    caption: |
      {zh}`图注` {en}`The caption`
---
from IPython.display import SVG
SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')"""
SETUP = "import tiny as notebook\nnotebook.setup()"
GLUE = """from IPython.display import display
data = {"application/papermill.record/text/plain": "0.1", "text/plain": "0.1"}
name = {"scrapbook": {"name": "page_error", "mime_prefix": "application/papermill.record/"}}
display(data, metadata=name, raw=True)"""
CELLS = (
    cell(FIGURE) + cell("hidden = 1", tags="[hide-input]")
    + ":::{exercise}\n:label: ex-d\nDo.\n:::\n```{solution-start} ex-d\n:class: dropdown\n```\n"
    + cell("secret = 1") + cell("check = 1", tags="[evidence, printed-numbers]")
    + "```{solution-end}\n```\n"
)  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    text = "\n\n".join(myst for myst, _, _ in MARKUP)
    book = make_book(
        tmp_path_factory.mktemp("notebooks"),
        EXTENSIONS,
        settings={
            "bibtex_bibfiles": ["all.bib"],
            "bibtex_reference_style": "author_year",
            "exercise_style": "solution_follow_exercise",
        },
        intro="# T\n",
        other=OTHER,
        page=HEADER + "# {zh}`本章` {en}`This chapter`\n\n" + cell(SETUP, tags="[setup]")
        + cell(GLUE, tags="[evidence]") + text + "\n" + DIAGRAM + CELLS,
        second=HEADER + "# B\n\n" + cell("0"),
    )  # fmt: skip
    (book.repo / "src/tiny/__init__.py").write_text("def setup(language=''): ...\n", "utf8")
    (book.book / "all.bib").write_text(BIB, "utf8")
    (book.book / "figures/flow.svg").write_text(SVG, "utf8")
    config = book.book / "_config.yml"
    more = f"""
bibtex_bibfiles: [all.bib]
html: {{baseurl: '{SITE}/'}}
launch_buttons: {{colab_url: 'https://colab.example', binderhub_url: 'https://b.example'}}
"""
    config.write_text(config.read_text("utf8") + more, "utf8")
    book.build(ATTENTION_BOOK_LANGUAGE="")
    return book


def notebook(book, language, page="page"):
    found = nbformat.read(book.html / "_notebooks" / language / f"{page}.ipynb", as_version=4)
    nbformat.validate(found)
    return found


def markdown(book, language):
    return [c.source for c in notebook(book, language).cells if c.cell_type == "markdown"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_markup_becomes_plain_markdown(book, language):
    text = "\n\n".join(markdown(book, language)) + "\n\n"
    wanted = [zh if language == "zh" else en for _, zh, en in MARKUP]
    missing = [each for each in wanted if each and f"\n\n{each}\n\n" not in text]
    assert not [each for each in missing if "<details>" not in each or each not in text], text


def test_cells_keep_code_captions_and_folding(book):
    code = [c for c in notebook(book, "zh").cells if c.cell_type == "code"][1:]
    assert [c.source for c in code] == [
        f"# @title 准备\n{SETUP}".replace("()", '(language="zh")'),
        f"# @title 证据\n{GLUE}",
        FIGURE.split("---\n")[-1],
        "hidden = 1",
        "secret = 1",
        "# @title 证据\ncheck = 1",
    ]
    folded = [c.metadata.get("jupyter") == {"source_hidden": True} for c in code]
    assert folded == [True, True, False, True, True, True]
    assert folded == [c.metadata.get("cellView") == "form" for c in code]
    assert not any(c.get("outputs") for c in code)
    assert "**图 2** 图注" in markdown(book, "zh")
    assert "**Solution: Exercise 2**" in "".join(markdown(book, "en"))


def test_diagrams_stand_in_the_notebook_in_its_language(book):
    (text,) = [text for text in markdown(book, "en") if "base64" in text]
    assert 'alt="A &quot;flow&quot;"' in text
    assert text.endswith("**Fig. 1** Note")
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", text)[1]).decode()
    assert "query" in svg
    assert "查询" not in svg
    assert ".dg-text{" in svg
    assert "html" not in svg, "rules of the site stay there"


def test_the_first_cells_install_the_package_and_explain_what_the_cells_call(book):
    for language in ("zh", "en"):
        install, about = notebook(book, language).cells[:2]
        assert '%pip install -q "attention-book[all] @ git+https://' in install.source
        assert all(name in about.source for name in ("notebook.glue", "notebook.measure", "`L("))
    assert f"[This chapter on the site]({EN('page')})" in about.source
    assert "/blob/notebooks/notebooks/zh/page.ipynb)" in about.source
    assert about.source.split("\n")[0].endswith(f"Next chapter: [B]({EN('second')})")


def menu(book, page, name):
    links = etree.HTML(book.page(page)).xpath(f'//div[contains(@class,"dropdown-{name}")]//a')
    return [(link.get("href"), link.get("class").split()) for link in links]


def test_buttons_lead_to_the_notebooks(book):
    launches = menu(book, "page", "launch-buttons")
    assert [href for href, _ in launches] == [
        address
        for language in ("zh", "en")
        for address in (
            f"https://colab.example/github/example/tiny/blob/notebooks/notebooks/{language}/page.ipynb",
            "https://b.example/v2/gh/example/tiny/notebooks"
            f"?urlpath=lab/tree/notebooks/{language}/page.ipynb",
        )
    ]
    for href, classes in launches:
        language = "zh" if "/zh/" in href else "en"
        assert f"bl-{language}" in classes, "the language toggle hides the other one"
    downloads = [href for href, _ in menu(book, "page", "download-buttons")]
    assert downloads[:2] == ["_notebooks/zh/page.ipynb", "_notebooks/en/page.ipynb"]
    assert all((book.html / href).is_file() for href in downloads[:2])
    assert not menu(book, "intro", "launch-buttons")
    assert not list((book.html / "_sources").glob("*.ipynb")), "no notebook in raw MyST"


def test_notebooks_come_and_go_with_the_cells(book, tmp_path):
    """And what has no place in a notebook is a warning."""
    book = book.copy(tmp_path)
    unknown = "```{centered} x\n```\n"
    book.write(second=HEADER + "# B\n\n" + cell("0") + unknown)
    assert "in a notebook" in book.build(fails=True)
    book.write(second="# B\n", page=(book.book / "page.md").read_text("utf8") + "\nnew words\n")
    book.build()
    assert not (book.html / "_notebooks/en/second.ipynb").exists()
    assert not menu(book, "second", "launch-buttons")
    assert "new words" in "".join(markdown(book, "en"))
    assert "Next chapter" not in "".join(markdown(book, "en"))


def test_what_a_drawing_shows_for_a_while_is_not_in_a_notebook():
    root = svg_markup.parse(
        '<svg xmlns="http://www.w3.org/2000/svg">'
        '<g data-stage="1"><text data-stage="2-3"/></g></svg>'
    )
    svg_markup.keep_whole(root)
    assert [element.get("data-stage") for element in root.iter()] == [None, "1"]


#: What the extras of the package bring, and what these bring.
VISIBLE = "attention_book.course.notebook, torch, matplotlib, sacrebleu, tokenizers, sklearn, click"


def test_cells_see_nothing_but_the_package(tmp_path):
    """The kernels of the build are a reader's: what only the build has installed is hidden.

    The kind: a cell that runs here and fails for readers. What is hidden follows from what the
    project declares; whatever is added to the build or the tests is hidden without a list.
    """
    hidden = [name for name in hidden_packages(READERS) if name.isidentifier()]
    ours = {"sphinx", "myst_nb", "jupyter_book", "pytest", "hypothesis", "beartype", "transformers"}
    assert ours <= set(hidden)
    probe = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(f"import {name}") for name in hidden]
        + [nbformat.v4.new_code_cell(f"import {VISIBLE}")]
    )
    run = Run("probe", probe, tmp_path)
    execute_all([run], kernel_environment(tmp_path, ROOT / "src"), jobs=1, done=lambda run: None)
    errors = [[o.evalue for o in c.outputs if o.output_type == "error"] for c in run.notebook.cells]
    assert errors == [*([f"No module named '{name}'"] for name in hidden), []]
