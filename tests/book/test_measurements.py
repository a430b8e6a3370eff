"""A false law fails the build in one line; a false measurement is told, and nothing else stops."""

import json
import re

import pytest
from lxml import html
from test_claims import EXTENSIONS, LIST, claim
from tiny import HEADER, cell, make_book

SETUP = "from attention_book.course import notebook\nanswer = {answer}\n"
BOXED = 'notebook.measure("b-boxed", answer, above=[40, 41], draws=3)'
LOOSE = 'notebook.measure("b-loose", answer, below=50)'
LAW = "assert answer == answer + {error}  # claim: b-law"


def chapter(*, answer=42, error=0):
    words = {lang: "{glue:text}`b_answer`" for lang in ("zh", "en")}
    code = SETUP.format(answer=answer) + "\n".join((BOXED, LOOSE, LAW.format(error=error)))
    return (
        HEADER
        + "# {zh}`乙` {en}`B`\n\n"
        + cell(code)
        + cell('notebook.glue("b_answer", answer)')
        + claim("b-boxed", "得 " + words["zh"], "It is " + words["en"])
        + claim("b-law")
        + "\n{numref}`fig-b`\n"
        + cell(
            "---\nmystnb:\n  figure:\n    name: fig-b\n    caption: c\n---\n"
            "import matplotlib.pyplot as plt\nplt.plot([1, answer])\nplt.show()"
        )
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The book with all measurements as they should be, and what its build printed."""
    folder = tmp_path_factory.mktemp("measurements")
    book = make_book(folder, EXTENSIONS, intro="# T\n", b=chapter(), claims=LIST)
    return book, book.build()


@pytest.fixture
def book(built, tmp_path):
    """The same book for a test that changes it."""
    return built[0].copy(tmp_path)


@pytest.fixture(scope="module")
def missed(built, tmp_path_factory):
    """The book with a measurement that does not come out, and what its build printed."""
    book = built[0].copy(tmp_path_factory.mktemp("missed"))
    book.write(b=chapter(answer=39))
    return book, book.build()


def text_of(page, xpath):
    return " ".join(" ".join(html.fromstring(page).xpath(xpath + "//text()")).split())


def test_a_measurement_that_comes_out_is_told_with_its_numbers(built):
    book, log = built
    assert "all 2 measurements came out here" in log
    assert "measurement-missed" not in book.page("b")
    facts = text_of(book.page("claims"), "//div[@id='claim-b-boxed']")
    assert "A measurement: 42 > 41, over 3 draws or trainings." in facts
    assert "did not come out" not in facts
    assert "A law: it holds on every machine" in text_of(
        book.page("claims"), "//div[@id='claim-b-law']"
    )
    further = text_of(book.page("claims"), "//details")
    assert "1 further measurement of this chapter" in further
    assert "b-loose A measurement: 42 < 50." in further.replace("测量：42 < 50。 ", "")


def test_a_false_measurement_marks_page_and_list_and_ends_well(missed):
    book, log = missed
    assert "1 of 2 measurements did not come out here: b-boxed (39 > 41)" in log
    block = text_of(book.page("b"), "//div[@id='claim-b-boxed']")
    assert "39 > 41 is false here" in block
    assert "没有得到这个结果" in block
    assert "It is 39" in block, "the other numbers are there"
    assert "It did not come out" in text_of(book.page("claims"), "//div[@id='claim-b-boxed']")
    assert "1 of 2 measurements" in book.build(), "also where nothing is executed again"


def test_a_measurement_without_a_claim_is_told_below_its_cell(book):
    book.write(b=chapter(answer=60))
    assert "b-loose (60 < 50)" in book.build()
    (note,) = html.fromstring(book.page("b")).xpath("//p[contains(@class, 'measurement-missed')]")
    assert "60 < 50 is false here" in " ".join(note.text_content().split())


def test_a_false_measurement_is_an_error_where_that_is_asked_for(missed, tmp_path):
    book = missed[0].copy(tmp_path)
    for _ in range(2):
        log = book.build(fails=True, BOOK_STRICT="1")
        (line,) = re.findall(r"book/b\.md:\d+: (?!WARNING).*", log.partition("not sound")[2])
        assert "the measurement b-boxed did not come out here: 39 > 41" in line
    book.build()


def test_a_false_law_fails_the_build_in_one_line(book):
    page = chapter(error=1)
    number = page.split("\n").index(LAW.format(error=1)) + 1
    book.write(b=page)
    log = book.build(fails=True)
    assert "1 to mend" in log
    assert f"book/b.md:{number}: cell 1 ('{LAW.format(error=1)}'): AssertionError" in log
    assert "No key" not in log


def test_what_only_follows_from_a_failure_is_not_told(book):
    book.write(b=chapter().replace("answer = 42", "answer = nobody"))
    log = book.build(fails=True)
    assert "1 to mend" in log
    assert "NameError: name 'nobody'" in log
    assert "No key" not in log
    assert "undefined label" not in log


def test_a_name_is_one_chapters_alone(book):
    other = HEADER + "# C\n\n" + cell(SETUP.format(answer=1) + LOOSE)
    toc = book.book / "_toc.yml"
    toc.write_text(
        toc.read_text(encoding="utf8").replace("- file: b\n", "- file: b\n- file: c\n"),
        encoding="utf8",
    )
    book.write(c=other)
    assert "the measurement b-loose stands in b already" in book.build(fails=True)


def test_the_list_tells_where_a_measurement_held(book):
    import robustness

    folder = book.repo / "benchmarks"
    folder.mkdir()
    cells = robustness.digest_of_cells(robustness.code_cells(book.book / "b.md"))
    worst = {"value": 41.5, "relation": "above", "bound": 41, "run": "seed+3000"}
    held = {"b-boxed": {"held": 12, "runs": 13, "missed": ["avx2"], "worst": worst}}
    told = "It held in 12 of 13 runs with other seeds and kernels; smallest margin 0.5 (seed+3000)."
    for digest in (cells, "of other cells"):
        record = {"b": {"cells": digest, "measurements": held}}
        (folder / "robustness.json").write_text(json.dumps(record), encoding="utf8")
        book.build()
        facts = text_of(book.page("claims"), "//div[@id='claim-b-boxed']").replace(" )", ")")
        facts = facts.replace("( ", "(").replace(") .", ").")
        assert (told in facts) == (digest == cells)


def test_a_block_without_its_partner_is_named(tiny_book):
    book = tiny_book(
        ["bilingual", "evidence.strict_build"],
        intro="# T\n\n:::{zh}\n一\n:::\n:::{en}\nOne\n:::\n\n:::{zh}\n二\n:::\n\nText\n",
        other="# O\n\n:::{en}\nOne\n:::\n",
    )
    log = book.build(fails=True)
    assert re.search(r"book/intro\.md:\d+: :::\{zh\} without its :::\{en\}", log)
    assert re.search(r"book/other\.md:3: :::\{en\} without its :::\{zh\}", log)
    assert "2 to mend" in log
