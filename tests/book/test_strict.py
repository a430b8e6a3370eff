import re

from tiny import HEADER, cell

BROKEN = "# T\n\nSee {ref}`nowhere`.\n"


def test_any_warning_fails_the_build_again_and_again(tiny_book):
    book = tiny_book(["evidence.strict_build"], intro=BROKEN, fine="# Fine\n")
    for _ in range(2):
        log = book.build(fails=True)
        assert "The book is not sound; 1 to mend:" in log
        assert re.search(r"book/intro\.md:\d+: undefined label: 'nowhere'", log)
    book.write(intro="# T\n")
    assert "not sound" not in book.build()


def test_a_sound_build_tells_no_settings(tiny_book):
    book = tiny_book(["evidence.strict_build"], intro="# T\n")
    assert not re.search(r"myst(-nb)? v\d|MdParserConfig|Copying the source path", book.build())


def test_a_warning_of_the_reading_phase_stays(tiny_book):
    book = tiny_book(["evidence.strict_build"], intro="# T\n\n```{nosuchdirective}\n```\n")
    for _ in range(2):
        assert "nosuchdirective" in book.build(fails=True)


def test_a_warning_that_belongs_to_no_page_stays(tiny_book):
    book = tiny_book(
        ["evidence.strict_build"], settings={"html_static_path": ["missing"]}, intro="# T\n"
    )
    for _ in range(2):
        assert "html_static_path entry 'missing' does not exist" in book.build(fails=True)


def test_a_failing_build_leaves_the_site_as_it_was(tiny_book):
    book = tiny_book(["evidence.strict_build"], intro="# T\n", other="# O\n", gone="# G\n")

    def site():
        return {p.relative_to(book.html): p.read_bytes() for p in book.html.rglob("*.*")
                if p.is_file()}  # fmt: skip

    book.build()
    before = site()
    book.write(intro=BROKEN, other="# Other words\n")
    book.build(fails=True)
    assert site() == before
    book.write(intro="# T\n")
    book.build()
    assert "Other words" in book.page("other")


def test_a_cause_is_told_once_with_its_places_and_the_nearest_names(tiny_book):
    book = tiny_book(
        ["evidence.strict_build"],
        intro="(ch-images)=\n# T\n\n{ref}`ch-imagez`\n",
        other="# O\n\n{ref}`ch-imagez`\n\n```{image} figures/nosuch.png\n```\n",
    )
    (book.book / "figures/no-such.png").write_bytes(b"")
    log = book.build(fails=True)
    plain = re.sub("\x1b\\[[0-9;]*m", "", log)
    told = plain[plain.index("not sound; 2 to mend") :].splitlines()[1:4]
    image, label, also = (line.strip() for line in told)
    beside = "figures/nosuch.png (did you mean figures/no-such.png?)"
    assert image == f"book/other.md:5: image file not readable: {beside}"
    assert label == "book/intro.md:4: undefined label: 'ch-imagez' (did you mean ch-images?)"
    assert also == "also book/other.md:3"
    assert plain.count("WARNING: undefined label") == 1


def test_suppressed_warnings_are_no_problem(tiny_book):
    book = tiny_book(
        ["evidence.strict_build"],
        settings={"suppress_warnings": ["myst.xref_missing"]},
        intro="# T\n\n[text](#nowhere)\n",
    )
    book.build()


def test_stderr_and_failing_displays_fail_again(tiny_book):
    code = "class A:\n    def _repr_html_(self): 1/0\nA()"
    book = tiny_book(
        ["evidence.execution", "evidence.strict_build"],
        intro=HEADER + "# T\n\n" + cell(code),
        other=HEADER + "# O\n\n" + cell("import sys\nsys.stderr.write('hm')\n0"),
    )
    for _ in range(2):
        log = book.build(fails=True)
        assert re.search(r"book/intro.md:\d+: cell 1 \(.*\): ZeroDivisionError", log)
        assert re.search(r"book/other.md:\d+: cell 1 \('import sys'\): wrote to stderr: hm", log)


def test_an_interrupted_build_forgets_the_saved_pages(tiny_book):
    book = tiny_book(["evidence.strict_build"], intro="# T\n", other="# O\n")
    book.build()
    (book.book / "_build/.doctrees/fresh_pages.txt").unlink()
    assert "2 added" in book.build()
    assert "0 added, 0 changed" in book.build()
