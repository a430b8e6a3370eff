"""The lines of a page's source, each with the directives around it."""

from lesson.checks.source_lines import code_cells, source_lines
from tiny import HEADER, cell

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
    code = [line for each in found for _, line in each.code]
    assert code == ["a = 1", "b = 2", "glue(a)", "plot()", "assert x"]
    lines = text.split("\n")
    assert all(lines[n - 1] == line for each in found for n, line in each.code)
