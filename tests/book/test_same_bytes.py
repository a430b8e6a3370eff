"""Equal sources give equal bytes: in any folder, by either command, in a new process or a fork."""

import shutil

from compare_builds import build_copy, differences, first_difference
from test_inline_svg import DIAGRAM, FLOW, PLOT
from tiny import HEADER, ROOT, cell

EXTENSIONS = [
    *("bilingual", "evidence.execution", "evidence.strict_build"),
    *(
        "website.katex",
        "website.figures",
        "website.launch_notebooks",
        "website.shell",
        "website.slimming",
    ),
]


def test_two_builds_of_one_source_are_the_same(tiny_book, tmp_path):
    tensor = cell("import numpy\nprint({1, 'a'}, numpy.arange(3))") + "\n$$ a $$ (eq-a)\n"
    book = tiny_book(
        EXTENSIONS,
        intro=HEADER
        + "# T\n\n"
        + cell(PLOT.format(name="one", alt="图 | Plot"))
        + DIAGRAM
        + tensor,
        other="# {zh}`另` {en}`Other`\n\n:::{note}\nText[^1].\n:::\n\n[^1]: Note.\n",
    )
    (book.book / "figures/flow.svg").write_text(FLOW, encoding="utf8")
    shutil.copy(ROOT / "book/conf.py", book.book)
    one = build_copy(book.repo, tmp_path / "x" / "repo")  # by plain Sphinx
    book.build()  # by Jupyter Book
    other = book.html
    found = {n: first_difference(one / n, other / n) for n in differences(one, other)}
    assert not found
    shutil.rmtree(book.book / "_build" / ".doctrees")
    book.build()  # over what the last build has left
    left = {n: first_difference(one / n, other / n) for n in differences(one, other)}
    assert not left
    (other / "intro.html").write_text("changed", encoding="utf8")
    assert differences(one, other) == ["intro.html"], "the comparison compares"
