"""The lines of a page's source, each with the directives around it."""

import pytest
from evidence.claims.cells import evidence
from evidence.code_cells import code_cells
from lesson.checks.source_lines import source_lines
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from tiny import HEADER, cell

CONFIG = MdParserConfig(enable_extensions={"colon_fence"})
PAGE = """# Title

::::{claim} a-claim
:::{zh}
中文
:::
:::{en}
English
:::
::::

$$
formula
$$ (eq-a)

$$ b $$

% a comment
(a-target)=

```{note}
:class: x
a note
```

```python
# ::: {en} is no directive here
```

:::{exercise} ★ Title
:label: ex-a
Question.
:::

```{solution-start} ex-a
```
Answer.
```{solution-end}
```
After.
"""


def words(text):
    return [(line.text, line.inside, line.part) for line in source_lines(text) if line.text.strip()]


def test_each_line_knows_what_it_stands_in():
    assert words(PAGE) == [
        ("# Title", (), ""),
        ("a-claim", ("claim",), ""),
        ("中文", ("claim", "zh"), ""),
        ("English", ("claim", "en"), ""),
        ("$$", (), "math"),
        ("formula", (), "math"),
        ("$$ (eq-a)", (), "math"),
        ("$$ b $$", (), "math"),
        (":class: x", ("note",), "options"),
        ("a note", ("note",), ""),
        ("python", ("",), ""),
        ("# ::: {en} is no directive here", ("",), ""),
        ("★ Title", ("exercise",), ""),
        (":label: ex-a", ("exercise",), "options"),
        ("Question.", ("exercise",), ""),
        ("ex-a", ("solution", "solution-start"), ""),
        ("Answer.", ("solution",), ""),
        ("After.", (), ""),
    ]


def test_lines_are_numbered_as_in_the_file():
    lines = (HEADER + PAGE).split("\n")
    for line in source_lines(HEADER + PAGE):
        assert line.text.strip() in lines[line.number - 1]
    assert not any("jupytext" in line.text for line in source_lines(HEADER + PAGE))


def test_cells_have_tags_and_numbered_code():
    figure = "---\nmystnb:\n  figure:\n    name: fig-a\ntags: [hide-input]\n---\nplot()"
    many = "---\ntags:\n- evidence\n- printed-numbers\n---\nassert x"
    text = cell("a = 1\nb = 2") + cell("glue(a)", tags="[evidence]") + cell(figure) + cell(many)
    found = code_cells(text)
    assert [each.tags for each in found] == [
        (), ("evidence",), ("hide-input",), ("evidence", "printed-numbers"),
    ]  # fmt: skip
    assert [each.code for each in found] == ["a = 1\nb = 2", "glue(a)", "plot()", "assert x"]
    lines = text.split("\n")
    for each in found:
        assert lines[each.line - 1].startswith("```{code-cell}")
        code = each.code.split("\n")
        assert lines[each.first - 1 :][: len(code)] == code


FENCES = ["```", "````", "~~~", "~~~~~", "   ~~~"]


@pytest.mark.parametrize("fence", FENCES)
def test_what_is_run_is_what_the_checks_see(fence):
    """The kind: two readers of one page. A cell is what MyST-NB runs, however it is fenced."""
    code = "assert 1 < 2  # claim: sure"
    text = f"# T\n\n{fence}{{code-cell}} python3\n:tags: [hide-input]\n{code}\n{fence.rstrip()}\n"
    run = read_myst_markdown_notebook(text).cells[1]
    assert (run.cell_type, run.source) == ("code", code)
    (seen,) = code_cells(text)
    assert (seen.code, seen.tags, seen.first) == (code, ("hide-input",), 5)
    found, problems = evidence(text)
    assert (found["sure"][0].line, problems) == (5, [])
    assert all("code-cell" in line.inside for line in source_lines(text) if code in line.text)


def test_what_is_not_run_is_no_cell():
    block = "{code-cell} python3\nassert 1  # claim: no\n"
    nested = f"::::{{note}}\n```{block}```\n::::\n"
    for text in (f":::{block}:::\n", nested, f"- ```{block}  ```\n", f"``` {block}```\n"):
        assert not any(
            c.cell_type == "code" for c in read_myst_markdown_notebook(text, CONFIG).cells
        )
        assert code_cells(text) == ()
        assert evidence(text) == ({}, [])
