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
PAGE = HEADER + "# {zh}`页` {en}`Page`\n\n" + cell(IMPORT) + EXERCISE + SAID
EXTENSIONS = ["bilingual", "evidence", "sphinx_exercise", "page_python", "website"]
