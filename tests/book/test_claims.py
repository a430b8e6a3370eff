"""A claim and its assertion belong together, and the list says what the chapters say."""

import re

import pytest
import search_parts
from evidence.claims.cells import evidence
from lxml import html
from tiny import HEADER, cell, make_book

EXTENSIONS = [
    "bilingual", "evidence.execution", "evidence.strict_build",
    "evidence.written_pages", "website.katex", "evidence.claims",
]  # fmt: skip

CLAIM = """
::::{{claim}} {slug}
:::{{zh}}
{zh}
:::
:::{{en}}
{en}
:::
::::
"""
LIST = "(list)=\n# {zh}`论断` {en}`Claims`\n\n```{claims-list}\n```\n"
#: What `glue` of myst-nb or of the package does; to import either takes longer than all the rest.
GLUE = """from IPython.display import display
answer = {answer}
prefix = "application/papermill.record/"
record = {{"scrapbook": {{"name": "b_answer", "mime_prefix": prefix}}}}
display({{f"{{prefix}}text/plain": repr(answer)}}, raw=True, metadata=record)
"""


def claim(slug, zh="一加一得二。", en="One and one are two."):
    return CLAIM.format(slug=slug, zh=zh, en=en)


def chapter(*, answer=42, assertion="assert answer > 40  # claim: b-answer", slug="b-answer"):
    words = {"zh": "答案是 {glue:text}`b_answer:.1f`，见{ref}`to-b`。"}
    words["en"] = "The answer $x$ is {glue:text}`b_answer:.1f`, see {eq}`eq-b` and {ref}`to-b`."
    return (
        HEADER
        + "(to-b)=\n# {zh}`乙` {en}`B`\n\n## {zh}`数` {en}`The number`\n\n$$ a $$ (eq-b)\n\n"
        + cell(GLUE.format(answer=answer) + assertion)
        + claim(slug, **words)
    )


def words_of(page, xpath):
    return [" ".join(e.text_content().split()) for e in html.fromstring(page).xpath(xpath)]


def plain_list(book):
    """Return the list's claims, each with its words in both languages."""
    return words_of(book.page("claims"), "//div[contains(@class, 'claim-entry')]")


PAGES = {
    "intro": "# T\n",
    "b": chapter(),
    "a": HEADER + "# {zh}`甲` {en}`A`\n\n" + cell("assert 1 + 1 == 2  # claim: sum") + claim("sum"),
    "claims": LIST,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The book as it is built, for tests that only look."""
    book = make_book(tmp_path_factory.mktemp("claims"), EXTENSIONS, **PAGES)
    book.build()
    return book


@pytest.fixture
def book(built, tmp_path):
    """The same for a test that changes it."""
    return built.copy(tmp_path)


def test_the_list_repeats_the_chapters_in_reading_order(built):
    page = built.page("claims")
    headings = words_of(page, "//article//section/section/h2")
    assert [heading.rstrip("#") for heading in headings] == ["乙 B", "甲 A"]
    b, a = plain_list(built)
    assert "答案是 42.0，见乙 B。" in b or "答案是 42.0，见乙。" in b
    assert re.search(r"The answer .*x.* is 42\.0, see \(1\) and", b)
    assert "assert answer > 40" in b
    assert b.endswith("A law: it holds on every machine, or the book is not built.")
    assert "One and one are two." in a
    tree = html.fromstring(page)
    links = tree.xpath("//a[contains(@class, 'claim-place')]/@href")
    assert links == ["b.html#claim-b-answer"] * 2 + ["a.html#claim-sum"] * 2
    links = tree.xpath("//div[@id='claim-b-answer']//a[contains(@class, 'reference')]/@href")
    assert set(links) >= {"b.html#equation-eq-b", "b.html#to-b"}
    for language, title in (("zh-Hans", "数"), ("en", "The number")):
        place = f"//div[@id='claim-b-answer']//*[@lang='{language}']//a[last()]"
        assert words_of(page, place)[-1] == title


def test_the_list_leads_to_the_cell_with_the_evidence(built):
    links = html.fromstring(built.page("claims")).xpath("//p[@class='claim-cell']/a/@href")
    assert links == ["b.html#evidence-b-answer", "a.html#evidence-sum"]
    (cell,) = html.fromstring(built.page("b")).xpath("//*[@id='evidence-b-answer']")
    assert "answer > 40" in cell.text_content()


def test_evidence_in_a_folded_cell_is_found_inside_the_fold(tiny_book):
    folded = cell("assert 1 + 1 == 2  # claim: sum", tags="[evidence]")
    pages = {"a": HEADER + "# A\n\n" + cell("1") + folded + claim("sum"), "claims": LIST}
    book = tiny_book([*EXTENSIONS, "lesson.evidence_cells"], intro="# T\n", **pages)
    book.build()
    (link,) = html.fromstring(book.page("claims")).xpath("//p[@class='claim-cell']/a/@href")
    assert link == "a.html#evidence-sum"
    page = html.fromstring(book.page("a"))
    assert len(page.xpath("//details//*[@id='evidence-sum']")) == 1
    assert "assert 1 + 1 == 2" in plain_list(book)[0]


def test_a_list_with_maths_has_what_maths_needs(built):
    sheets = html.fromstring(built.page("claims")).xpath("//link/@href")
    assert any("katex" in sheet for sheet in sheets)


def test_the_outline_of_the_list_names_the_chapters(built):
    outline = html.fromstring(built.page("claims")).xpath("//*[@id='pst-page-toc-nav']//a/@href")
    assert outline == ["#claims-b", "#claims-a"]


def test_in_its_chapter_a_claim_is_its_words_and_a_mark(built):
    (block,) = html.fromstring(built.page("b")).xpath("//div[@id='claim-b-answer']")
    assert [e.get("lang") for e in block.xpath("./div/div[@lang]")] == ["zh-Hans", "en"]
    marks = block.xpath(".//a[contains(@class, 'claim-mark')]")
    assert [mark.get("href") for mark in marks] == ["claims.html#claim-b-answer"] * 2
    assert [mark.text_content() for mark in marks] == ["证据", "evidence"]


def test_claims_are_found_once_by_a_search(built):
    index = search_parts.text(built.html)
    assert index.count("One and one are two.") == 1
    assert "evidence" not in index


def test_a_chapter_without_a_list_has_no_mark(tiny_book):
    book = tiny_book(EXTENSIONS, intro="# T\n", b=chapter())
    book.build()
    assert "claim-b-answer" in book.page("b")
    assert "claim-mark" not in book.page("b")


def test_the_list_follows_values_words_and_titles(book):
    book.build()
    before = book.page("claims")
    assert "42.0" in before
    book.write(b=chapter(answer=43))
    book.build()
    assert "43.0" in book.page("claims")
    assert "42.0" not in book.page("claims")
    (book.written / "claims.html").write_text("as it was", encoding="utf8")
    book.write(b=chapter(answer=43) + "\nMore prose.\n")
    book.build()
    assert book.page("claims") == "as it was", "prose elsewhere writes no list"
    book.write(b=chapter(answer=43).replace("The number", "The count"))
    book.build()
    assert "The count" in book.page("claims")
    (book.repo / "src/tiny/__init__.py").write_text("ANSWER = 44\n", encoding="utf8")
    book.write(b=chapter().replace("answer = 42", "from tiny import ANSWER as answer"))
    book.build()
    (book.repo / "src/tiny/__init__.py").write_text("ANSWER = 45\n", encoding="utf8")
    book.build()
    assert "45.0" in book.page("claims"), "a value that the package changes"


def test_a_claim_that_no_longer_holds_fails_the_build(book):
    book.write(b=chapter(answer=39))
    for _ in range(2):
        assert "assert answer > 40" in book.build(fails=True)


def test_a_chapter_that_goes_takes_its_claims_along(book):
    assert "executing" not in book.build()
    toc = book.book / "_toc.yml"
    toc.write_text(toc.read_text(encoding="utf8").replace("- file: b\n", ""), encoding="utf8")
    book.build()
    (only,) = plain_list(book)
    assert "One and one" in only


def line_of(text, words):
    return next(n for n, line in enumerate(text.split("\n"), start=1) if words in line)


#: What is wrong with a chapter, where it is said (None: somewhere), and in which words.
WRONG = [
    (chapter(assertion=""), "{claim}", "no assertion or measurement of this chapter belongs to"),
    (chapter(slug="b-other"), "# claim", "no {claim} b-answer in this chapter"),
    (chapter() + claim("b-answer"), None, "the claim b-answer stands twice in this chapter"),
    (chapter(assertion="answer + 1  # claim: b-answer"), "answer + 1", "belongs to an assertion"),
    (chapter(assertion="assert True  # claim: b-answer"), "# claim", "belongs to an assertion"),
    *(
        (
            chapter(assertion=f"{head}:\n    assert answer > 50  # claim: b-answer{tail}"),
            "# claim",
            "belongs to an assertion",
        )
        for head, tail in (
            ("if answer > 50", ""),
            ("def never()", ""),
            ("try", "\nexcept AssertionError:\n    pass"),
        )
    ),
    (
        chapter().replace("python3\nfrom", "python3\n:tags: [raises-exception]\nfrom"),
        "# claim",
        "in a cell with the tag raises-exception",
    ),
    (chapter(slug="B_answer"), "{claim}", "needs a slug of small letters"),
    (chapter() + claim("b-two").replace(":::{en}", ":::{zh}"), None, "one :::{en}, no more"),
]


def test_what_does_not_fit_is_named_with_its_line(tiny_book):
    names = [f"p{number}" for number in range(len(WRONG))]
    pages = {
        name: re.sub(r"(to|eq)-b", rf"\1-{name}", page).replace("b-", f"{name}-")
        for name, (page, _, _) in zip(names, WRONG, strict=True)
    }
    log = tiny_book(EXTENSIONS, intro="# T\n", **pages).build(fails=True)
    for name, (page, at, problem) in zip(names, WRONG, strict=True):
        line = str(line_of(page, at)) if at else r"\d+"
        words = re.escape(problem.replace("b-", f"{name}-"))
        assert re.search(rf"book/{name}\.md:{line}: .*{words}", log), (problem, log)


def test_a_slug_is_one_chapters_alone(tiny_book):
    pages = {name: re.sub(r"(to|eq)-b", rf"\1-{name}", chapter()) for name in "ab"}
    book = tiny_book(EXTENSIONS, intro="# T\n", **pages)
    line = line_of(pages["b"], "{claim}")
    for _ in range(2):
        log = book.build(fails=True)
        assert f"book/b.md:{line}: the claim b-answer stands in a.md:{line} already" in log


def test_where_an_assertion_may_carry_its_claim():
    code = (
        "for n in steps:\n    assert (\n        1 < n\n    )  # claim: long\n"
        "# claim: above\nassert names\n"
        "torch.testing.assert_close(a, b)      # nearly  # claim: close\n"
        "text = '# claim: no comment'\n"
    )
    found, problems = evidence("# T\n\n" + cell(code, tags="[hide-input]"))
    assert problems == []
    assert {slug: (a.line, a.code) for slug, (a,) in found.items()} == {
        "long": (8, "assert (\n    1 < n\n)"),
        "above": (9, "assert names"),
        "close": (11, "torch.testing.assert_close(a, b)  # nearly"),
    }


def test_a_claim_may_rest_on_several_laws_and_measurements():
    code = (
        "assert a  # claim: both\nassert b  # claim: both\n"
        "for n in (1, 2):\n    notebook.measure('both', n, above=0)\n"
        "if n:\n    notebook.measure('both', n, above=9)\n"
        "notebook.measure(name, n, above=9)\n"
    )
    found, problems = evidence("# T\n\n" + cell(code))
    assert problems == []
    assert [(each.kind, each.code) for each in found["both"]] == [
        ("law", "assert a"),
        ("law", "assert b"),
        ("measurement", "notebook.measure('both', n, above=0)"),
    ], "what may not run, or bears a name that is not known before, is no evidence"


def test_prose_and_plain_blocks_carry_no_claims():
    assert evidence("assert 1  # claim: a\n\n```python\nassert 1  # claim: b\n```\n") == ({}, [])
