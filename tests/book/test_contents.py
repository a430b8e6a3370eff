"""The contents and the files agree, or the build says where they do not, before it reads a page."""

import re

import pytest

EXTENSIONS = ["evidence.strict_build"]
PAGES = {"intro": "# T\n", "first": "# First\n", "other": "# Other\n"}


@pytest.fixture
def book(tiny_book):
    return tiny_book(EXTENSIONS, **PAGES)


def change(book, name, old, new):
    path = book.book / name
    text = path.read_text(encoding="utf8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf8")


def test_a_name_without_a_file_is_told_with_its_line_and_the_nearest(book):
    change(book, "_config.yml", "only_build_toc_files: true", "only_build_toc_files: false")
    book.build()
    change(book, "_toc.yml", "file: other", "file: otter")
    log = book.build(fails=True)
    line = "book/_toc.yml:3: there is no book/otter.md (did you mean other?)"
    assert set(re.findall(r"book/\S+: there is no [^)]*\)", log)) == {line}
    assert "is in no part" not in log
    assert "reading sources" not in log
    change(book, "_toc.yml", "file: otter", "file: other")
    assert "0 added, 0 changed" in book.build()


def test_a_page_that_the_contents_leave_out_is_an_error(book):
    change(book, "_config.yml", "only_build_toc_files: true", "only_build_toc_files: false")
    book.write(images="# Images\n")
    log = book.build(fails=True)
    assert "book/images.md is in no part of book/_toc.yml" in log
    assert "reading sources" not in log
    change(book, "_config.yml", "sphinx:\n", "exclude_patterns: [images.md]\nsphinx:\n")
    book.build()
    assert not (book.html / "images.html").exists()


def test_a_change_of_the_contents_reads_what_it_touches(book):
    change(book, "_config.yml", "only_build_toc_files: true", "only_build_toc_files: false")
    book.build()
    toc = book.book / "_toc.yml"
    lines = toc.read_text(encoding="utf8").splitlines(keepends=True)
    first, other = (
        next(n for n, x in enumerate(lines) if f"file: {p}" in x) for p in PAGES if p != "intro"
    )
    lines[first], lines[other] = lines[other], lines[first]
    toc.write_text("".join(lines), encoding="utf8")
    assert "0 added, 1 changed, 0 removed" in book.build(), "the page that lists the chapters"
    sidebar = book.page("intro")
    assert sidebar.index('href="other.html"') < sidebar.index('href="first.html"')
