import re

import pytest
from lxml import etree
from reference.package_names import find_definition, module_file, public_names, written_signature
from tiny import HEADER, ROOT, cell, make_book

EXTENSIONS = [
    "bilingual",
    "evidence.execution",
    "evidence.strict_build",
    "website.katex",
    "reference",
]
SETTINGS = {"api_package": "tiny", "nitpicky": True}

PACKAGE = {
    "__init__.py": '''
"""A tiny package."""
from tiny.attention import pool
__all__ = ["pool"]
''',
    "foundations/__init__.py": "",
    "foundations/shapes.py": """
from jaxtyping import Float
from torch import Tensor

Queries = Float[Tensor, "*batch query d_q"]
Weights = Float[Tensor, "*batch query key"]
__all__ = ["Queries", "Weights"]
""",
    "attention.py": '''
import torch
from dataclasses import dataclass
from tiny.foundations.shapes import Queries, Weights

#: The names
#: of everything.
NAMES = {"a": 1}

def pool(queries: Queries, *, width: float = 1.0) -> Weights:
    """Pool the ``queries`` by :math:`q^2`.

    Args:
        queries: What is asked.

    Raises:
        ValueError: if there are none.

    >>> pool(1)
    """

@dataclass(frozen=True, kw_only=True)
class Sample:
    """What was drawn.

    Attributes:
        output: The output.
    """

    output: Queries
    sizes: tuple[int, int] = (1, 1)

class Layer(torch.nn.Module):
    """A layer."""

    def __init__(self, *, d_q: int) -> None:
        """Keep it."""

    def weights(self, queries: Queries) -> Weights:
        """Return :func:`pool`."""

    @property
    def d_out(self) -> int:
        """The size of what comes out."""

__all__ = ["NAMES", "Layer", "Sample"]
''',
}

SUMMARIES = """
names:
  tiny.pool: 把查询汇聚起来
  tiny.attention.NAMES: 名字
  tiny.attention.Layer: 一层
  tiny.attention.Sample: 抽到什么
shapes:
  Queries: { zh: 查询, en: queries }
  Weights: { zh: 权重, en: weights }
"""

API = """# API

```{api-table} tiny
```

```{api-shapes}
```

```{api} tiny
pool
```

```{api} tiny.attention
Layer
Sample
NAMES
```
"""

SHOWING = """
(sec-showing)=
## Showing

```{literalinclude} ../src/tiny/attention.py
:pyobject: pool
```

```{literalinclude} ../src/tiny/attention.py
:pyobject: Layer.weights
```
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The book as it is built, with its package and its summaries."""
    made = make_book(
        tmp_path_factory.mktemp("api"),
        EXTENSIONS,
        settings=SETTINGS,
        intro="# T\n\nSee {py:func}`tiny.pool` and {py:class}`torch.nn.Linear`.\n",
        mention=HEADER + "# {zh}`提到` {en}`Mention`\n\n{py:func}`tiny.pool`,"
        " {py:class}`~tiny.attention.Sample`\n\n" + cell("0"),
        show=HEADER + "# {zh}`讲解` {en}`Lesson`\n" + SHOWING + cell("0"),
        api=API,
    )
    (made.book / "api").mkdir()
    (made.book / "api/summaries.yml").write_text(SUMMARIES, encoding="utf8")
    for name, text in PACKAGE.items():
        file = made.repo / "src/tiny" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.lstrip(), encoding="utf8")
    made.build()
    return made


@pytest.fixture
def book(built, tmp_path):
    """The same for a test that changes it."""
    return built.copy(tmp_path)


def entry(page, name):
    return etree.HTML(page).xpath(f'//dt[@id="{name}"]')[0].getparent()


def text_of(element):
    return " ".join("".join(element.itertext()).split())


def test_entries_are_complete_and_linked_both_ways(book):
    api = book.page("api")
    pool = entry(api, "tiny.pool")
    signature = text_of(pool[0])
    assert "pool(queries: Queries, *, width: float = 1.0) → Weights" in signature
    assert pool[0].xpath('.//a[@href="#shape-queries"]')
    zh, english, back = pool[1]
    assert (zh.get("lang"), text_of(zh)) == ("zh-Hans", "把查询汇聚起来")
    assert english.get("lang") == "en"
    assert "Pool the queries by" in text_of(english)
    assert "ValueError" in text_of(english)
    assert back.xpath('.//a[@href="show.html#sec-showing"]'), "the chapter that shows its source"
    assert "讲解" in text_of(back)
    assert "Lesson" in text_of(back)
    sample = entry(api, "tiny.attention.Sample")
    assert "Sample(*, output: Queries, sizes: tuple[int, int] = (1, 1))" in text_of(sample[0])
    assert sample.xpath('.//a[@href="mention.html"]'), "else the first chapter that mentions it"
    layer = entry(api, "tiny.attention.Layer")
    assert "Layer(*, d_q: int)" in text_of(layer[0])
    assert layer.xpath('.//dt[@id="tiny.attention.Layer.weights"]')
    d_out = text_of(entry(api, "tiny.attention.Layer.d_out"))
    assert d_out.startswith("property d_out")
    assert "int" in d_out
    assert layer.xpath('.//a[@href="show.html#sec-showing"]')
    assert "The names of everything." in text_of(entry(api, "tiny.attention.NAMES"))
    assert 'href="api.html#tiny.pool"' in book.page("intro")
    assert "\ndef weights(self" in "".join(etree.HTML(book.page("show")).itertext())

    show = (book.book / "show.md").read_text(encoding="utf8")
    book.write(show=show.replace("讲解", "另一题目"))
    book.build()
    assert "另一题目" in book.page("api"), "a new title reaches the reference"


#: What does not fit, all of it in one book: file, before, after, and what is said of it.
WRONG = [
    ("book/api.md", "\nNAMES\n", "\n", "tiny.attention.NAMES is public but stands in no page"),
    ("book/api.md", "Sample\n", "Sample\nSample\n", "tiny.attention.Sample has more than one"),
    ("book/api.md", "Layer\n", "Layer\nSimple\n", "tiny.attention.Simple is no public name"),
    ("book/api/summaries.yml", "  tiny.pool", "  tiny.pole", "tiny.pool: public names and"),
    ("book/api/summaries.yml", "  Queries", "  Query", "Queries: tensor types and"),
    ("book/intro.md", "{py:func}`tiny.pool`", "{py:func}`tiny.pull`", "not found: tiny.pull"),
]


def change(book, file, old, new):
    path = book.repo / file
    text = path.read_text(encoding="utf8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf8")


@pytest.fixture(scope="module")
def complaints(built, tmp_path_factory):
    """What is said of a book with everything wrong that can be."""
    book = built.copy(tmp_path_factory.mktemp("wrong"))
    for file, old, new, _ in WRONG:
        change(book, file, old, new)
    return book.build(fails=True)


@pytest.mark.parametrize("complaint", [complaint for _, _, _, complaint in WRONG])
def test_what_does_not_fit_fails_the_build(complaints, complaint):
    assert complaint in complaints


def test_a_name_that_two_modules_offer_has_one_entry_under_the_shorter(book):
    change(book, "src/tiny/__init__.py", '["pool"]', '["pool", "Layer"]')
    with (book.repo / "src/tiny/__init__.py").open("a", encoding="utf8") as file:
        file.write("from tiny.attention import Layer\n")
    log = book.build(fails=True)
    assert "tiny.attention.Layer is no public name" in log
    assert "tiny.Layer is public but stands in no page" in log


def test_nothing_is_imported_to_know_the_names():
    names = public_names("attention_book", ROOT / "src")
    assert "attention_book.set_seed" in names
    assert "attention_book.attention.masked_softmax" in names
    assert not [n for n in names if n.startswith("attention_book.foundations.seed.")], (
        "once, by its short name"
    )
    assert names["attention_book.attention.KERNELS"].kind == "data"
    assert names["attention_book.attention.masked_softmax"].first_line().startswith("Turn scores")


def test_a_name_that_is_listed_but_not_defined_is_refused(tmp_path):
    (tmp_path / "lost.py").write_text("__all__ = ['gone']\n", encoding="utf8")
    with pytest.raises(LookupError, match="gone is in __all__"):
        find_definition(module_file("lost", tmp_path), "gone", tmp_path)


def test_signatures_keep_the_words_of_the_source():
    names = public_names("attention_book", ROOT / "src")
    arguments, returns = written_signature(names["attention_book.attention.masked_softmax"].node)
    assert arguments == "(scores: Scores, mask: Mask | None=None)"
    assert returns == "Weights"
    methods = names["attention_book.attention.Attention"].node.body
    forward = next(m for m in methods if getattr(m, "name", "") == "forward")
    assert re.match(
        r"\(queries: Queries, keys: Keys, values: Values", written_signature(forward)[0]
    )
