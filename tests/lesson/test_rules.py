"""The build complains of chapters that break a rule, with file and line; both widths are one."""

import re

import pytest
from glued import gluing
from lesson.checks import visible_cells
from reference import short_source
from tiny import HEADER, cell, make_book

#: Those that look at cells and lengths; `telling` has tests of its own.
CHECKS = [f"lesson.checks.{part}" for part in ("problems", "visible_cells", "counts")]
WIDE = f"total = {' + '.join(str(n) for n in range(10, 30))}"
CLAIM = "::::{claim} a-sum\n:::{zh}\n一。\n:::\n:::{en}\nOne.\n:::\n::::\n"
OFFENDER = (
    HEADER
    + "# A\n\n"
    + cell("x = 1\nassert x == 1")
    + cell("assert x  # claim: a-sum", tags="[shown-assertion]")
    + cell("glue = print\n\nglue('a')", tags="[printed-numbers]")
    + cell("assert_close = print\nassert_close(1)\nx.measure if x is None else 2")
    + cell(WIDE)
    + cell("# 中文" + "宽" * 36 + "\nassert x", tags="[shown-assertion]")
    + cell(WIDE + "\nassert total", tags="[evidence]")
    + cell(WIDE + "\nassert total", tags="[hide-input]")
    + cell("print('wide output ' * 10)")
    + "```python\n" + "y" * 75 + " = 1\n```\n"
    + "````{note}\n```python\n" + "z" * 70 + " = 1\n```\n````\n"
    + "```{literalinclude} ../src/tiny/wide.py\n:language: python\n```\n"
    + CLAIM
)  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    book = make_book(
        folder,
        ["bilingual", "evidence", *CHECKS],
        intro="# T\n",
        a=OFFENDER,
        b=HEADER + "# B\n\n" + cell(gluing(b=1)),
    )
    book.repo.joinpath("src/tiny/wide.py").write_text(f"{WIDE}\n", encoding="utf8")
    return book


@pytest.fixture(scope="module")
def log(book):
    return book.build(fails=True)


def lines_with(text):
    return [n for n, line in enumerate(OFFENDER.split("\n"), start=1) if text == line]


def uncolored(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def said(log, line):
    """Return what the build says of a line of the offending chapter."""
    found, cause = [], ""
    for each in log.split("\n"):
        place, _, told = each.partition(": ")
        places = [word.rstrip(",") for word in uncolored(place).split()]
        if told and "book/a.md" in place:
            cause = told
        if any(word.endswith(f"book/a.md:{line}") for word in places):
            found.append(cause)  # a cause is named once, with its other places behind it
    return " / ".join(dict.fromkeys(found))


def test_evidence_in_sight_is_named_with_its_line(log):
    (line,) = lines_with("assert x == 1")
    assert "an assertion in a cell that readers see" in said(log, line)
    assert "shown-assertion" in said(log, line)
    (line,) = lines_with("glue('a')")
    assert "a call of `glue`" in said(log, line)
    (line,) = lines_with("assert_close(1)")
    assert "an assertion" in said(log, line)


def test_an_assertion_may_be_shown_but_not_the_mark_of_its_claim(log):
    (line,) = lines_with("assert x  # claim: a-sum")
    assert "a comment `# claim`" in said(log, line)
    assert "an assertion in a cell" not in said(log, line)


def test_what_does_not_fit_the_column_is_named(log):
    in_sight, *folded = lines_with(WIDE)
    assert "of which 77 fit: break it" in said(log, in_sight)
    assert len(folded) == 2
    assert not any(said(log, line) for line in folded)
    (line,) = lines_with("# 中文" + "宽" * 36)
    assert "a line of 78 characters" in said(log, line)
    (line,) = lines_with("y" * 75 + " = 1")
    assert "a line of 79 characters, of which 77 fit" in said(log, line)
    (line,) = lines_with("z" * 70 + " = 1")
    assert "a line of 74 characters, of which 72 fit" in said(log, line)
    (line,) = lines_with("```{literalinclude} ../src/tiny/wide.py")
    assert "in wide.py, shown here" in said(log, line)
    assert "wide output" not in log


def test_a_chapter_that_keeps_the_rules_of_its_cells_hears_nothing_of_them(log):
    told = [line for line in log.split("\n") if "book/b.md" in line]
    assert not [line for line in told if "cell" in line or "fit" in line]


def test_printed_source_is_broken_where_it_would_be_complained_of():
    assert (short_source.COLUMN, short_source.BOX) == (visible_cells.COLUMN, visible_cells.BOX)
    assert short_source.FLUSH == visible_cells.FLUSH


def test_the_counts_of_all_chapters_are_written(book, log):
    table = book.book.joinpath("_build/counts.md").read_text(encoding="utf8")
    rows = [line.split(" | ")[0] for line in table.split("\n") if line.startswith("| ")]
    assert rows[1:] == ["| a", "| b"]


def test_the_build_fails_again_until_it_is_mended(book, log):
    assert "an assertion in a cell that readers see" in book.build(fails=True)
