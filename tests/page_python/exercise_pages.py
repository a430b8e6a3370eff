"""The pages of a tiny book with exercises that are written in the page."""

from tiny import HEADER, cell

STUB = 'def masked(scores, see):\n    return ...\n\n\ncheck("masked-softmax", masked)'
EXERCISE = f"""\
::::{{exercise}} {{zh}}`写` {{en}}`Write`
:label: ex-write

:::{{zh}}
写成函数。
:::
:::{{en}}
Make it a function.
:::

```python
{STUB}
```
::::

"""
#: The task names the check, and its solution alone shows how the function is called.
SAID = """\
::::{exercise} {zh}`再写` {en}`Once more`
:label: ex-said

:::{zh}
写完用 `check("causal-with-cache", causal)` 检查。
:::
:::{en}
Check it with `check("causal-with-cache", causal)`.
:::
::::

```{solution-start} ex-said
:class: dropdown
```
```{code-cell} python3
:tags: [remove-output]
check = lambda name, answer: None
def causal(num_queries, num_keys):
    return None

check("causal-with-cache", causal)
```
```{solution-end}
```

"""
#: The kernel of a tiny book need not have the package.
IMPORT = """\
try:
    from attention_book.attention import causal_mask
except ImportError:
    pass"""
#: A cell that needs nothing but itself and what the page imports.
ALONE = "half = [1, 2]\nprint(sum(half) / 2)\nmath.floor(2.5)"
#: The function with the mistake stands in a cell, the check in the solution alone.
FOUND = """\
:::{exercise} {zh}`找错` {en}`Find the bug`
:label: ex-NAME

{zh}`错在哪里？` {en}`What is wrong?`
:::

```{code-cell} python3
CODE
```

```{solution-start} ex-NAME
:class: dropdown
```
```{code-cell} python3
:tags: [remove-output]
check("NAME", FUNCTION)
```
```{solution-end}
```

"""
NORM = "def norm(x, gain, bias):\n    return x * gain + bias  # centers nothing\n\nprint('flat')"
#: This one hangs on the cell before.
DECODE = "def decode(x, training):\n    return x  # all of it\n\nprint(half)"


def found(name: str, function: str, code: str) -> str:
    return FOUND.replace("NAME", name).replace("FUNCTION", function).replace("CODE", code)


PAGE = (
    HEADER
    + "# {zh}`页` {en}`Page`\n\n"
    + cell(f"import math\n{IMPORT}")
    + EXERCISE
    + SAID
    + cell(ALONE)
    + "% notebook-only: to be left out\n\n"
    + cell("print(7)")
    + found("layer-norm", "norm", NORM)
    + found("causal-in-both-modes", "decode", DECODE)
)
EXTENSIONS = ["bilingual", "evidence", "sphinx_exercise", "page_python", "website"]
