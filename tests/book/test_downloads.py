"""Links to the PDFs and the archive: only where these are published with the site."""

import re
from pathlib import Path

from tiny import TinyBook
from website.downloads import CARDS, FILES

INTRO = "# Title\n\n```{downloads}\n```\n\n```{downloads} cards\n```\n"


def linked(book: TinyBook) -> list[str]:
    return re.findall(r'href="downloads/([^"]+)"', book.page("intro"))


def published(book: TinyBook) -> set[str]:
    return {path.name for path in (book.html / "downloads").glob("*")}


def test_links_come_and_go_with_the_files(tiny_book, tmp_path: Path) -> None:
    """One book, built four times: what a page links is what the site holds."""
    book: TinyBook = tiny_book(["bilingual", "website"], intro=INTRO)
    folder = tmp_path / "made"
    folder.mkdir()
    book.build()
    assert linked(book) == []
    assert "downloads" not in book.page("intro").split("<article")[1].split("</article>")[0]

    names = list(FILES)
    for name in names[:2]:
        (folder / name).write_bytes(b"x" * 2_345_678)
    book.build(BOOK_DOWNLOADS=str(folder))
    assert linked(book) == names[:2]
    assert published(book) == set(names[:2])
    assert "2.3 MB" in book.page("intro")

    (folder / names[0]).unlink()
    (folder / names[2]).write_bytes(b"x")
    (card := folder / next(iter(CARDS))).write_bytes(b"x")
    book.build(BOOK_DOWNLOADS=str(folder))
    assert linked(book) == [names[1], names[2], card.name]
    assert published(book) == {names[1], names[2], card.name}

    book.build()
    assert linked(book) == []
    assert published(book) == set()


def test_a_chapter_links_its_slides_where_they_are(tiny_book) -> None:
    """Slides are made of the built site and put into it: the next build links what is there."""
    chapter = "# Chapter\n\n```{code-cell} python3\n1\n```\n"
    book: TinyBook = tiny_book(["bilingual", "website"], intro=INTRO, chapter=chapter)
    book.build()
    assert "_slides" not in book.page("chapter") + book.page("intro")

    decks = book.html / "_slides"
    decks.mkdir()
    for name in ("index", "chapter-en", "elsewhere-zh"):
        (decks / f"{name}.html").write_text("<p>slides</p>", encoding="utf8")
    book.build()
    assert re.findall(r'href="(_slides/[^"]+)"', book.page("chapter")) == [
        "_slides/chapter-en.html"
    ]
    assert 'href="_slides/index.html"' in book.page("intro")

    for path in decks.iterdir():
        path.unlink()
    book.build()
    assert "_slides" not in book.page("chapter") + book.page("intro")
