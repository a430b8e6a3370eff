"""The printed book, on three of its chapters: contents, bookmarks, links, what paper leaves out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pypdf = pytest.importorskip("pypdf")
ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

from pages.book import author, settings, title_of_book, version  # noqa: E402
from pdf.document import assemble  # noqa: E402
from pdf.make_pdf import about, make, page_numbers, print_document  # noqa: E402
from pdf.small_pdf import smaller  # noqa: E402

pytestmark = pytest.mark.browser
TOC = {
    "root": "intro",
    "parts": [
        {
            "caption": "第二部分 | Part II",
            "chapters": [{"file": "attention-cues"}, {"file": "masks"}],
        },
        {"caption": "参考 | Reference", "chapters": [{"file": "glossary"}, {"file": "api/index"}]},
    ],
}
PAGES = ["intro", "attention-cues", "masks", "glossary"]


@pytest.fixture(scope="module")
def printed(browser: Any, site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pages of the book, printed in English."""
    target = tmp_path_factory.mktemp("printed") / "book.pdf"
    make(browser, site, "en", target, TOC)
    return target


@pytest.fixture(scope="module")
def reader(printed: Path) -> Any:
    return pypdf.PdfReader(printed, strict=True)


@pytest.fixture(scope="module")
def texts(reader: Any) -> list[str]:
    return [" ".join(page.extract_text().split()) for page in reader.pages]


def links(reader: Any) -> Iterator[Any]:
    for page in reader.pages:
        for annotation in page.get("/Annots", []):
            if annotation.get_object()["/Subtype"] == "/Link":
                yield annotation.get_object()


def outline(entries: list[Any], depth: int = 0) -> Iterator[tuple[int, str]]:
    for entry in entries:
        if isinstance(entry, list):
            yield from outline(entry, depth + 1)
        else:
            yield depth, " ".join(entry.title.split())


def test_contents_name_the_page_where_a_chapter_begins(printed: Path, texts: list[str]) -> None:
    numbers = page_numbers(printed)
    assert sorted(PAGES, key=lambda page: numbers[page]) == PAGES
    assert "Contents" in texts[1]
    for page, title in (("masks", "3. Masks: who may look at whom"), ("glossary", "Glossary")):
        number = numbers[page]
        assert f"{title} {number}" in texts[1]
        # its head, its foot and its heading, as a reader of PDF gives them
        assert texts[number - 1].startswith(f"{title} {number} {title}")


def test_the_file_says_what_it_is(reader: Any) -> None:
    said = reader.metadata
    assert (said.title, said.author) == (title_of_book("en"), author("en"))
    assert "Transformer" in said.subject
    assert "CC BY-SA" in said.subject
    assert "attention" in said.keywords.split(", ")
    assert said.creator.startswith(f"attention_book {version()}")
    assert "HeadlessChrome" not in " ".join(map(str, said.values()))
    assert reader.trailer["/Root"]["/Lang"].startswith("en")


def test_bookmarks_are_parts_chapters_and_sections(reader: Any) -> None:
    found = list(outline(reader.outline))
    assert (0, "Contents") in found  # once: at the top of a page, its letters stay within it
    assert (0, "Part II") in found
    assert (1, "3. Masks: who may look at whom") in found
    assert [title for depth, title in found if depth == 2 and title.startswith("3.2")]
    assert (2, "Solutions") in found
    assert (2, "Answers to the questions") in found


def test_links_lead_into_the_book_or_to_the_web(reader: Any) -> None:
    inside = outside = 0
    known = {name.lstrip("/") for name in reader.named_destinations}
    for each in links(reader):
        if "/A" in each and "/URI" in each["/A"]:
            assert each["/A"]["/URI"].startswith(("https://", "http://")), each
            assert "book.invalid" not in each["/A"]["/URI"]
            outside += 1
        else:
            assert str(each["/Dest"]).lstrip("/") in known, each
            inside += 1
    assert inside > 50
    assert outside > 10


def test_what_is_not_printed_is_linked_on_the_site(site: Path) -> None:
    document = assemble(site, "zh", TOC)
    address = settings()["html"]["baseurl"].rstrip("/")
    assert f'href="{address}/scoring.html?lang=zh' in document.text  # a chapter left out here
    assert f'href="{address}/masks.html?lang=zh#' in document.text  # evidence behind a number
    assert f'href="{address}/api/' in document.text
    assert document.dead_links == 0


def test_solutions_follow_the_chapter_and_evidence_is_left_out(
    printed: Path, texts: list[str]
) -> None:
    numbers = page_numbers(printed)
    chapter = " ".join(texts[numbers["masks"] - 1 : numbers["glossary"] - 2])
    assert chapter.index("Further reading") < chapter.index("Solution to Exercise 3.1")
    assert chapter.index("Exercise 3.1") < chapter.index("Further reading")
    assert "notebook.glue(" not in chapter
    assert "Notes on sources" in chapter
    assert "掩码：谁可以看谁" not in chapter
    assert "Weighted average of the pages" in chapter or "Weighted average" in chapter  # a stage


def test_small_is_the_same(browser: Any, site: Path, tmp_path: Path) -> None:
    """Packed together, the objects say what they said: texts, links and bookmarks."""
    document = assemble(site, "zh", {"root": "intro", "parts": []})
    large, small = tmp_path / "large.pdf", tmp_path / "small.pdf"
    print_document(browser, site, document.numbered({}), large)
    small.write_bytes(smaller(large.read_bytes(), about("zh")))
    assert small.stat().st_size < 0.8 * large.stat().st_size
    before, after = pypdf.PdfReader(large), pypdf.PdfReader(small, strict=True)
    assert [p.extract_text() for p in before.pages] == [p.extract_text() for p in after.pages]
    assert list(outline(before.outline)) == list(outline(after.outline))
    assert page_numbers(large) == page_numbers(small)
    assert {name: after.metadata[f"/{name}"] for name in about("zh")} == about("zh")
    for name in ("/Producer", "/CreationDate", "/ModDate"):
        assert after.metadata[name] == before.metadata[name]
