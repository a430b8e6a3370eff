import re

EXTENSIONS = ["evidence.strict_build", "evidence.written_pages"]
EQUATION = "\n$$ a $$ (eq-%s)\n"


def without_versions(page):
    """Return a page without the versions of its stylesheets, which only a later build knows."""
    return re.sub(r"\?v=\w+", "", page)


def test_pages_follow_what_they_repeat_of_others(tiny_book):
    book = tiny_book(
        EXTENSIONS,
        intro="# T\n",
        a="(to-a)=\n# Old A\n\nText.\n",
        b="# B\n\nSee {ref}`to-a` and {eq}`eq-two`.\n",
        c="# C\n" + EQUATION % "two",
    )
    book.build()
    before = {name: without_versions(book.page(name)) for name in "bc"}
    assert before["b"].count("Old A") >= 3, "in the sidebar, as the neighbor, in the reference"
    book.write(a="(to-a)=\n# New A\n\nText.\n")
    book.build()
    for name in "bc":
        assert without_versions(book.page(name)) == before[name].replace("Old A", "New A")

    assert ">(1)<" in book.page("b") or ">1<" in book.page("b")
    book.write(a="(to-a)=\n# New A\n" + EQUATION % "one")
    book.build()
    assert ">(2)<" in book.page("b") or ">2<" in book.page("b")


def test_citations_follow_the_sources(tiny_book):
    """Those of the pages that cite the source; no other page is read or written."""
    bib = "@book{who, author={Who, A.}, title={What}, publisher={P}, year={%s}}\n"
    bib += "@book{other, author={Other, B.}, title={That}, publisher={P}, year={1900}}\n"
    book = tiny_book(
        EXTENSIONS,
        settings={"bibtex_bibfiles": ["all.bib"], "bibtex_reference_style": "author_year"},
        intro="# T\n\n```{bibliography}\n```\n",
        a="# A\n\n{cite}`who`\n",
        b="# B\n\n{cite}`other`\n",
    )
    config = book.book / "_config.yml"
    text = config.read_text(encoding="utf8")
    config.write_text(text.replace("sphinx:\n", "bibtex_bibfiles: [all.bib]\nsphinx:\n"), "utf8")
    for year in ("1917", "2017"):
        (book.book / "all.bib").write_text(bib % year, encoding="utf8")
        log = re.sub("\x1b\\[[0-9;]*m", "", book.build())
        assert f"Who, {year}" in book.page("a")
    assert set(re.findall(r"reading sources\.\.\. \[ *\d+%\] (\w+)", log)) == {"intro"}
    assert set(re.findall(r"writing output\.\.\. \[ *\d+%\] (\w+)", log)) == {"a", "intro"}


def test_prose_alone_writes_its_own_page(tiny_book):
    book = tiny_book(EXTENSIONS, intro="# T\n", a="# A\n\nOld.\n", b="# B\n")
    book.build()
    page = book.written / "b.html"
    page.write_text("as it was", encoding="utf8")
    book.write(a="# A\n\nNew.\n")
    book.build()
    assert "New." in book.page("a")
    assert book.page("b") == "as it was"


def test_a_page_that_is_gone_leaves_the_site(tiny_book):
    book = tiny_book(EXTENSIONS, intro="# T\n", a="# A\n", old="# Old title\n")
    book.build()
    assert (book.html / "old.html").is_file()
    (book.html / "verification.html").write_text("not of the book", encoding="utf8")
    toc = book.book / "_toc.yml"
    toc.write_text(toc.read_text(encoding="utf8").replace("old", "新 名"), encoding="utf8")
    (book.book / "old.md").rename(book.book / "新 名.md")
    book.build()
    assert not (book.html / "old.html").exists()
    assert not (book.html / "_sources/old.md").exists()
    assert (book.html / "新 名.html").is_file()
    assert (book.html / "verification.html").is_file()
    assert 'href="old.html"' not in book.page("a")
