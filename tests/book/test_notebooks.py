"""The exported notebooks: fresh, plain Markdown, one language, and they run."""

import ast
import base64
import re
from itertools import zip_longest

import export_notebooks
import jupytext
import nbformat
import pytest
import yaml
from book_index import BookIndex
from evidence.execution.notebook_runner import (
    READERS,
    Run,
    execute_all,
    hidden_packages,
    kernel_environment,
)
from myst_blocks import ExportError
from myst_inline import RESIDUE
from myst_notebook import EVIDENCE_TITLE, SETUP_TITLE, PageExporter, object_source
from tiny import HEADER, ROOT, cell
from website.figures import svg_markup

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))

OTHER = """(ch-other)=
# {zh}`另一章` {en}`Another chapter`

$$
a = 1
$$ (eq-other)
"""

BIB = """@article{solo2001, author = {Solo, Ann}, title = {T}, year = {2001}}
@article{trio2002, author = {Van Uno, A. and Due, B. and Tre, C.}, title = {T}, year = {2002}}
"""

STYLES = ".dg-text { fill: red; }\nhtml .x { y: z; }\n"

SVG = """<svg xmlns="http://www.w3.org/2000/svg" class="dg" viewBox="0 0 360 90">
<text class="dg-text">
<tspan class="bl bl-zh" lang="zh-Hans">查询</tspan><tspan class="bl-sep"> </tspan>
<tspan class="bl bl-en" lang="en">query</tspan></text></svg>"""


@pytest.fixture
def export(tmp_path):
    """Return a function: a page's text and a language to its notebook's cells."""

    def make(text, language="en", setup=True):
        root = tmp_path / "repo"
        book = root / "book"
        for folder in ("figures", "api", "_ext/website/figures/static"):
            (book / folder).mkdir(parents=True, exist_ok=True)
        (root / "src/attention_book/foundations").mkdir(parents=True, exist_ok=True)
        (root / "src/attention_book/foundations/shapes.py").write_text("__all__ = ['Queries']\n")
        (root / "src/attention_book/soft.py").write_text(
            "class A:\n    @property\n    def g(self):\n        return 1\n", encoding="utf8"
        )
        config = yaml.safe_load((ROOT / "book/_config.yml").read_text(encoding="utf8"))
        config["repository"]["url"] = "https://host.example/me/book"
        config["html"]["baseurl"] = "https://site.example/book/"
        files = {
            "_config.yml": yaml.safe_dump(config),
            "_toc.yml": yaml.safe_dump(
                {
                    "root": "intro",
                    "parts": [
                        {"chapters": [{"file": "api"}]},
                        {"numbered": True, "chapters": [{"file": "other"}, {"file": "page"}]},
                    ],
                }
            ),
            "intro.md": "# Intro\n",
            "api.md": "# A\n\n```{api} attention_book\nset_seed\n```\n\n```{api-shapes}\n```\n",
            "other.md": OTHER,
            "references.bib": BIB,
            "figures/flow.svg": SVG,
            "_ext/website/figures/static/diagrams.css": STYLES,
        }
        first = cell("from attention_book.course import notebook\nnotebook.setup()")
        files["page.md"] = HEADER + "# {zh}`本章` {en}`This chapter`\n\n"
        files["page.md"] += (first if setup else "") + text
        for name, content in files.items():
            (book / name).write_text(content, encoding="utf8")
        cells = PageExporter(BookIndex(root), "page", language).cells()
        return cells[2:] if setup else cells

    return make


def only(cells):
    (found,) = cells
    return found.text


def ZH(page, anchor="", language="zh"):
    """Return a page's address on the site."""
    return f"https://site.example/book/{page}.html?lang={language}" + (anchor and f"#{anchor}")


def EN(page, anchor=""):
    return ZH(page, anchor, "en")


SHAPE, SEED = "attention_book.foundations.shapes.Queries", "attention_book.set_seed"
SOURCES = "\\[Solo 2001; Van Uno et al. 2002\\]"
ROW = "|---|---|"


@pytest.mark.parametrize(
    ("myst", "zh", "en"),
    [
        ("## {zh}`方差` {en}`Variance`", "## 方差", "## Variance"),
        ("({zh}`方差` {en}`variance`)", "(方差)", "(variance)"),
        ("{zh}``用 `f` 和 $x$``{en}``use `f`, $x$``", "用 `f` 和 $x$", "use `f`, $x$"),
        (":::{zh}\n中\n:::\n:::{en}\nE\n:::", "中", "E"),
        ("::::{claim} s\n:::{zh}\n中\n:::\n:::{en}\nE\n:::\n::::", "中", "E"),
        ("::::{opening}\n:::{zh}\n**需要**\n\n- 一\n:::\n::::", "**需要**\n\n- 一", None),
        ("## {zh}`键` {en}`Key` {core}`8`", "## 键（必读，8 分钟）", "## Key (core, 8 min)"),
        ("## {zh}`键` {en}`Key` {optional}`5`", "## 键（选读，5 分钟）", None),
        ("::::{zh}\n:::{note}\n中\n:::\n::::", "> **注**\n>\n> 中", None),
        ("| {zh}`键` {en}`key` | $a$ |\n" + ROW, f"| 键 | $a$ |\n{ROW}", f"| key | $a$ |\n{ROW}"),
        ("{glue:text}`page_error:.3f`", "`page_error`", "`page_error`"),
        ("{cite}`solo2001,trio2002`", None, f"[{SOURCES}]({EN('bibliography')})"),
        ("{term}`查询`", f"[查询]({ZH('glossary')})", None),
        ("{term}`keys <key>`", None, f"[keys]({EN('glossary')})"),
        ("{ref}`ch-other`", f"[另一章]({ZH('other', 'ch-other')})", None),
        ("{ref}`ch-other`", None, f"[Another chapter]({EN('other', 'ch-other')})"),
        ("{ref}`here <ch-other>`", None, f"[here]({EN('other', 'ch-other')})"),
        ("[there](#ch-other)", None, f"[there]({EN('other', 'ch-other')})"),
        ("{doc}`other`", None, f"[Another chapter]({EN('other')})"),
        ("{eq}`eq-other`", f"[(1.1)]({ZH('other', 'equation-eq-other')})", None),
        (f"{{py:func}}`{SEED}`", None, f"[`{SEED}`]({EN('api', SEED)})"),
        (f"{{py:func}}`~{SEED}`", None, f"[`set_seed`]({EN('api', SEED)})"),
        (f"{{py:class}}`{SHAPE}`", None, f"[`{SHAPE}`]({EN('api', 'shape-queries')})"),
        ("{py:class}`torch.nn.Linear`", None, "`torch.nn.Linear`"),
        ("[web](https://a.example/x)", None, "[web](https://a.example/x)"),
        ("`{zh}` and $\\text{en}`$", None, "`{zh}` and $\\text{en}`$"),
        ("a\n\n% a comment\n\nb", None, "a\n\nb"),
        ("```python\n>>> {1: 2}\n```", None, "```python\n>>> {1: 2}\n```"),
        ("word[^n]\n\n[^n]: A note.", None, "word<sup>[n]</sup>\n\n<sup>[n]</sup> A note."),
    ],
)  # fmt: skip
def test_markup_becomes_plain_markdown(export, myst, zh, en):
    for language, expected in (("zh", zh), ("en", en)):
        if expected is not None:
            assert only(export(myst, language)) == expected


def test_numbers_are_those_of_the_site(export):
    text = """
$$
b
$$ (eq-b)

```{math}
:label: eq-c
c
```

:::{prf:theorem} {zh}`方差` {en}`Variance`
:label: thm-v
$d$
:::

:::{exercise} {zh}`算` {en}`Compute`
:label: ex-c
Do.
:::

:::{solution} ex-c
Done, {eq}`eq-c`.
:::
"""
    markdown = only(export(text))
    assert "$$\nb \\tag{2.1}\n$$" in markdown
    assert "$$\nc \\tag{2.2}\n$$" in markdown
    assert "**Theorem 2.1　Variance**" in markdown
    assert "**Exercise 2.1　Compute**" in markdown
    assert "<summary>Solution: Exercise 2.1</summary>" in markdown
    assert "[(2.2)](" in markdown


FIGURE = """---
mystnb:
  figure:
    name: fig-x
    caption: |
      {zh}`图注` {en}`The caption`
---
plot()"""


def test_cells_keep_code_captions_and_folding(export):
    text = cell(FIGURE) + cell("hidden()", tags="[hide-input]") + (
        "```{solution-start} ex-c\n:class: dropdown\n```\n" + cell("secret()")
        + "```{solution-end}\n```\n:::{exercise}\n:label: ex-c\nDo.\n:::\n"
    )  # fmt: skip
    code = [c for c in export(text, "zh") if c.kind == "code"]
    assert [c.text for c in code] == ["plot()", "hidden()", "secret()"]
    assert [bool(c.metadata) for c in code] == [False, True, True]
    texts = [c.text for c in export(text, "zh") if c.kind == "markdown"]
    assert texts[0] == "**图 2.1** 图注"
    assert "**解答：练习 2.1**" in texts[1]


def test_the_setup_is_folded_under_a_title(export):
    text = cell("notebook.setup()", tags="[setup]")
    for language, title in (("zh", "准备"), ("en", "Set-up")):
        (code,) = (c for c in export(text, language, setup=False) if c.kind == "code")
        assert code.text.startswith(f"# @title {title}\nnotebook.setup(")
        assert code.metadata["jupyter"] == {"source_hidden": True}


def test_a_question_is_text_with_its_answer_in_a_fold(export):
    text = (
        "::::{question} q\n:role: recall\n:kind: number\n:about: other\n:tolerance: 1\n"
        ":unit: 个 | keys\n\n:::{zh}\n见{eq}`eq-other`，几个？\n:::\n"
        ":::{en}\nSee {eq}`eq-other`.\n:::\n\n"
        "- [x] {glue:text}`n_keys:.0f`\n  > {zh} 对。\n  > {en} Right.\n"
        "- [ ] *\n  > {zh} 数。\n  > {en} Count.\n::::\n"
    )
    for language, words in (
        ("zh", ("**合上书想一想**", "几个？", "个", "答案", "- ✓ **`n_keys`** 对。", "[另一章]")),
        ("en", ("**From memory**", "See [", "keys", "Answer", "✓ **`n_keys`** Right.", "[Another")),
    ):
        (found,) = (c.text for c in export(text, language) if "details" in c.text)
        assert [found.find(each) >= 0 for each in words] == [True] * len(words), found
        assert found.index("✓") > found.index("<details>")


def test_evidence_is_folded_under_a_title(export):
    text = cell("glue()", tags="[evidence]") + (
        "```{solution-start} ex-c\n```\n" + cell("check()", tags="[evidence, printed-numbers]")
        + "```{solution-end}\n```\n:::{exercise}\n:label: ex-c\nDo.\n:::\n"
    )  # fmt: skip
    for language, title in (("zh", "证据"), ("en", "Evidence")):
        code = [c for c in export(text, language) if c.kind == "code"]
        assert [c.text for c in code] == [
            f"# @title {title}\nglue()",
            f"# @title {title}\ncheck()",
        ]
        assert all(c.metadata["jupyter"] == {"source_hidden": True} for c in code)
        assert all(c.metadata["cellView"] == "form" for c in code)


def test_diagrams_stand_in_the_notebook_in_its_language(export):
    text = (
        ':::{diagram} flow\n:name: fig-f\n:alt-zh: 图\n:alt-en: A "flow"\n{zh}`注` {en}`Note`\n:::'
    )
    markdown = only(export(text, "en"))
    assert 'alt="A &quot;flow&quot;"' in markdown
    assert markdown.endswith("**Fig. 2.1** Note")
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", markdown)[1]).decode()
    assert "query" in svg
    assert "查询" not in svg
    assert ".dg-text{fill: red;}" in svg
    assert "html" not in svg, "rules of the site stay there"


STAGES = """:::{stages} flow
:name: fig-flow
:alt-zh: 流
:alt-en: flow
{zh}`题注` {en}`Caption`

1. {zh}`一。` {en}`One.`
2. {zh}`二。` {en}`Two.`
:::

{ref}`sec-who`, {numref}`fig-flow`, {ref}`sec-here`.

::::{sources} {zh}`谁` {en}`Who`
:name: sec-who

:::{en}
Me.
:::
::::

(sec-here)=
## {zh}`这里` {en}`Here` {core}`3`
"""


def test_a_drawing_in_stages_is_shown_whole_with_its_list(export):
    image, caption, items, references, title, text, heading = only(export(STAGES)).split("\n\n")
    assert 'alt="flow"' in image
    assert caption == "**Fig. 2.1** Caption"
    assert items == "1. One.\n2. Two."
    assert references == (
        f"[Who]({EN('page', 'sec-who')}), [Fig. 2.1]({EN('page', 'fig-flow')}), "
        f"[Here]({EN('page', 'sec-here')})."
    )
    assert (title, text, heading) == ("### Notes on sources: Who", "Me.", "## Here (core, 3 min)")


def test_a_live_figure_leads_to_the_page_where_it_lives(export):
    text = (
        ":::{live} steps\n:name: live-steps\n{zh}`题注` {en}`Drag it`\n:::\n\n{numref}`live-steps`"
    )
    figure, reference = only(export(text)).split("\n\n")
    address = EN("page", "live-steps")
    assert figure == f"**Fig. 2.1** [Try it on the page]({address}): Drag it"
    assert reference == f"[Fig. 2.1]({address})"


def test_what_a_drawing_shows_for_a_while_is_not_in_a_notebook():
    root = svg_markup.parse(
        '<svg xmlns="http://www.w3.org/2000/svg">'
        '<g data-stage="1"><text data-stage="2-3"/></g></svg>'
    )
    svg_markup.keep_whole(root)
    assert [element.get("data-stage") for element in root.iter()] == [None, "1"]


def test_source_is_shown_as_it_is(export):
    text = "```{literalinclude} ../src/attention_book/soft.py\n:pyobject: A.g\n```"
    assert only(export(text)) == "```python\n@property\ndef g(self):\n    return 1\n```"
    assert object_source(ROOT / "src/attention_book/foundations/seed.py", "nothing") == ""


@pytest.mark.parametrize(
    ("myst", "complaint"),
    [
        ("\n\n:::{mystery}\nx\n:::", r"page.md:\d+: no rule for the directive {mystery}"),
        ("{mystery}`x`", "no rule for the role {mystery}"),
        ("{ref}`nowhere`", "unknown label 'nowhere'"),
        ("{cite}`nobody1900`", "unknown source 'nobody1900'"),
        ("{py:func}`attention_book.lost`", "attention_book.lost stands in no page"),
        ("[x](lost.md)", "a link to 'lost.md'"),
        ("{zh}`用 {eq}`eq-other` 证明` {en}`x`", "no translation for '{eq}'"),
        ("::: \nx\n:::", "without a directive"),
        ("- a\n\n  :::{note}\n  x\n  :::", "a directive inside a list"),
        ("{{ substitution }}", "no translation for"),
        ("```{code-cell} python3\nnotebook.setup()\n```", "must stand once, found 2"),
    ],
)
@pytest.mark.parametrize("language", ["zh"])
def test_what_has_no_place_in_a_notebook_is_refused(export, myst, complaint, language):
    with pytest.raises(ExportError, match=complaint):
        export(myst, language)


def test_committed_notebooks_are_fresh(capsys):
    assert export_notebooks.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_and_a_left_over_notebook_are_found(tmp_path, capsys, monkeypatch):
    path = tmp_path / "notebooks/en/a.ipynb"
    monkeypatch.setattr(export_notebooks, "notebooks", lambda root: ({path: "new\n"}, []))
    assert export_notebooks.main([], tmp_path) == 0
    assert export_notebooks.main(["--check"], tmp_path) == 0
    path.write_text("old\n", encoding="utf8")
    (path.parent / "b.ipynb").write_text("x", encoding="utf8")
    capsys.readouterr()
    assert export_notebooks.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out.count("stale: notebooks") == 2
    export_notebooks.main([], tmp_path)
    assert path.read_text(encoding="utf8") == "new\n"
    assert not (path.parent / "b.ipynb").exists()


def test_notebooks_hold_no_myst_and_one_language():
    offenders = []
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        if any(c.get("outputs") for c in notebook.cells):
            offenders.append(f"{path}: outputs")
        if "%pip install" not in notebook.cells[0].source:
            offenders.append(f"{path}: installs nothing")
        for c in notebook.cells:
            if c.cell_type == "markdown":
                code = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$"
                prose = re.sub(code, "", c.source, flags=re.S)
                found = RESIDUE.search(prose) or re.search(r"(?m)^\s*:[\w-]+: ", prose)
                if found:
                    offenders.append(f"{path}, {c.id}: {found[0]!r}")
    assert NOTEBOOKS
    assert not offenders


def test_both_languages_run_the_chapters_own_cells():
    """What the build runs is what the notebooks hold, so that they need not be run again."""
    offenders = []
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        cells = [c.source for c in notebook.cells[1:] if c.cell_type == "code"]
        cells = [
            re.sub(f"^(?:{'|'.join(EVIDENCE_TITLE + SETUP_TITLE)})", "", source) for source in cells
        ]
        chapter = jupytext.read(ROOT / "book" / f"{path.stem}.md")
        own = [c.source.strip("\n") for c in chapter.cells if c.cell_type == "code"]
        for source, expected in zip_longest(cells, own, fillvalue=""):
            ast.parse(source)
            if source.replace(f'setup(language="{path.parent.name}")', "setup()") != expected:
                offenders.append(f"{path.parent.name}/{path.stem}: {expected[:60]!r}")
    assert not offenders


def test_the_first_cells_explain_what_the_cells_call():
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        (about,) = [c.source for c in notebook.cells if c.id == "about"]
        assert all(name in about for name in ("notebook.glue", "notebook.measure", "`L(")), path


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
