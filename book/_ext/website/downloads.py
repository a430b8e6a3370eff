"""``{downloads}`` links the book as PDF, as EPUB and whole, where they are published with the site.

``{downloads} cards`` links the decks for Anki, ``{downloads} slides`` the list of all slides.
`BOOK_DOWNLOADS` names the folder that holds them (`make downloads` sets it). A build without it,
as on a reader's machine, has no such line and no dead link; nor has one for a file that is not
there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import ClassVar

from bilingual.environment import PerPage
from bilingual.marks import Bilingual
from docutils import nodes
from docutils.parsers.rst import directives
from evidence.published import site_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from website.slides import LIST as SLIDES_LIST

VARIABLE = "BOOK_DOWNLOADS"
FOLDER = "downloads"  # in the built site
FILES = {
    "attention_book-zh.pdf": Bilingual("PDF（中文）", "PDF in Chinese"),
    "attention_book-en.pdf": Bilingual("PDF（英文）", "PDF in English"),
    "attention_book-zh.epub": Bilingual("EPUB（中文）", "EPUB in Chinese"),
    "attention_book-en.epub": Bilingual("EPUB（英文）", "EPUB in English"),
    "attention_book.zip": Bilingual("整个网站，离线打开", "the whole site, to open offline"),
}
CARDS = {
    "attention_book-zh.apkg": Bilingual("中文", "in Chinese"),
    "attention_book-en.apkg": Bilingual("英文", "in English"),
    "attention_book-both.apkg": Bilingual("双语", "in both"),
}
#: What lies in the site itself, by its place there.
SLIDES = {SLIDES_LIST: Bilingual("每一章的课件", "slides of every chapter")}
LEAD = Bilingual("带走这本书：", "Take the book along: ")
CARDS_LEAD = Bilingual(
    "给手机上的 Anki，它不读文本文件：", "For Anki on a phone, which cannot read text files: "
)
SLIDES_LEAD = Bilingual("上课用：", "For a lecture: ")
#: What a directive links, by its argument.
KINDS = {
    "": (LEAD, FILES | SLIDES),
    "cards": (CARDS_LEAD, CARDS),
    "slides": (SLIDES_LEAD, SLIDES),
}
BETWEEN = Bilingual("；", "; ")
END = Bilingual("。", ".")
#: The files that each page linked when it was read.
LINKED = PerPage[list[str]]("downloads_linked")


def available(app: Sphinx) -> dict[str, Path]:
    """Return the files that are there to be published or are published, by name."""
    folder = os.environ.get(VARIABLE)
    names = (*FILES, *CARDS) if folder else ()
    places = {name: Path(str(folder), name).resolve() for name in names}
    places |= {name: site_of(app) / name for name in SLIDES}
    return {name: place for name, place in places.items() if place.is_file()}


class Downloads(SphinxDirective):
    """``:::{downloads}``: one line of links, or nothing."""

    optional_arguments = 1
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        lead, names = KINDS[directives.choice("".join(self.arguments), tuple(KINDS))]
        there = available(self.env.app)
        LINKED.of(self.env)[self.env.docname] = described(there)
        found = {name: place for name, place in there.items() if name in names}
        if not found:
            return []
        line = nodes.paragraph("", "", nodes.Text(lead), classes=["downloads"])
        for number, (name, place) in enumerate(found.items()):
            line += nodes.Text(BETWEEN) if number else nodes.Text("")
            address = name if name in SLIDES else f"{FOLDER}/{name}"
            line += nodes.reference("", names[name], refuri=address, internal=True)
            if name not in SLIDES:
                size = f"{max(place.stat().st_size / 1e6, 0.1):.1f} MB"
                line += nodes.Text(Bilingual(f"（{size}）", f" ({size})"))
        line += nodes.Text(END)
        return [line]


def described(found: dict[str, Path]) -> list[str]:
    sizes = {name: 0 if name in SLIDES else found[name].stat().st_size for name in found}
    return [f"{name} {size}" for name, size in sizes.items()]


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read a page again when what it links has come, gone or grown."""
    there = described(available(app))
    return [page for page, linked in LINKED.of(env).items() if linked != there]


def copy_files(app: Sphinx, exception: Exception | None) -> None:
    """Put the files into the site, and out of it what is not published any more."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    for name, place in available(app).items():
        if name in SLIDES:
            continue
        folder.mkdir(exist_ok=True)
        shutil.copyfile(place, folder / name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("downloads", Downloads)
    app.connect("env-get-outdated", outdated)
    LINKED.connect(app)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
