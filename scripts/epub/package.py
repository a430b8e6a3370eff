"""The package of an EPUB 3.3: what it holds, in which order, and who made it."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from lxml import etree
from pages.one_language import Element

from epub.xhtml import OPS, XHTML, page

EARLIEST = (1980, 1, 1, 0, 0, 0)
TYPES = {
    ".xhtml": "application/xhtml+xml",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".woff2": "font/woff2",
    ".otf": "font/otf",
    ".ncx": "application/x-dtbncx+xml",
}
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"""
#: What holds for every chapter: each figure is described, each formula is MathML.
ACCESSIBILITY = {
    "schema:accessMode": ("textual", "visual"),
    "schema:accessModeSufficient": ("textual", "textual,visual"),
    "schema:accessibilityFeature": (
        "structuralNavigation",
        "tableOfContents",
        "readingOrder",
        "alternativeText",
        "MathML",
        "displayTransformability",
    ),
    "schema:accessibilityHazard": ("none",),
}


@dataclass
class Entry:
    """A line of the table of contents."""

    title: str
    address: str = ""
    below: list[Entry] = field(default_factory=list)


@dataclass
class Metadata:
    identifier: str
    title: str
    language: str
    author: str
    publisher: str
    description: str
    rights: str
    source: str
    date: str  # of the edition: 2026-11-26
    modified: str  # 2026-11-26T00:00:00Z
    summary: str
    contents: str  # the word


def package_file(meta: Metadata, files: dict[str, bytes], spine: list[str]) -> str:
    """Return package.opf."""
    features = "\n".join(
        f'<meta property="{name}">{escape(value)}</meta>'
        for name, values in ACCESSIBILITY.items()
        for value in values
    )
    items = []
    for name, content in files.items():
        properties = []
        if name == "nav.xhtml":
            properties.append("nav")
        if name == "images/cover.png":
            properties.append("cover-image")
        if name.endswith(".xhtml") and b"<math" in content:
            properties.append("mathml")
        if name.endswith(".xhtml") and b"<svg" in content:
            properties.append("svg")
        stated = f' properties="{" ".join(properties)}"' if properties else ""
        kind = TYPES[Path(name).suffix]
        items.append(f'<item id="{identifier(name)}" href="{name}" media-type="{kind}"{stated}/>')
    order = "\n".join(f'<itemref idref="{identifier(name)}"/>' for name in spine)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="book-id"
 xml:lang="{meta.language}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="book-id">{meta.identifier}</dc:identifier>
<dc:title>{escape(meta.title)}</dc:title>
<dc:language>{meta.language}</dc:language>
<dc:creator id="author">{escape(meta.author)}</dc:creator>
<meta refines="#author" property="role" scheme="marc:relators">aut</meta>
<dc:publisher>{escape(meta.publisher)}</dc:publisher>
<dc:description>{escape(meta.description)}</dc:description>
<dc:rights>{escape(meta.rights)}</dc:rights>
<dc:source>{escape(meta.source)}</dc:source>
<dc:date>{meta.date}</dc:date>
<meta property="dcterms:modified">{meta.modified}</meta>
{features}
<meta property="schema:accessibilitySummary">{escape(meta.summary)}</meta>
<meta name="cover" content="{identifier("images/cover.png")}"/>
</metadata>
<manifest>
{chr(10).join(items)}
</manifest>
<spine toc="{identifier("toc.ncx")}">
{order}
</spine>
</package>
"""


def identifier(name: str) -> str:
    return "f-" + name.replace("/", "-").replace(".", "-")


def navigation(
    meta: Metadata, entries: list[Entry], landmarks: list[tuple[str, str, str]]
) -> bytes:
    """Return nav.xhtml: the table of contents, and where cover, contents and text begin."""
    body = etree.Element(f"{{{XHTML}}}section", nsmap={None: XHTML})
    etree.SubElement(body, f"{{{XHTML}}}h1").text = meta.contents
    nav = etree.SubElement(body, f"{{{XHTML}}}nav", id="toc", role="doc-toc")
    nav.set(f"{{{OPS}}}type", "toc")
    nav.append(listed(entries))
    marks = etree.SubElement(body, f"{{{XHTML}}}nav", hidden="hidden")
    marks.set(f"{{{OPS}}}type", "landmarks")
    holder = etree.SubElement(marks, f"{{{XHTML}}}ol")
    for kind, address, title in landmarks:
        anchor = etree.SubElement(etree.SubElement(holder, f"{{{XHTML}}}li"), f"{{{XHTML}}}a")
        anchor.set("href", address)
        anchor.set(f"{{{OPS}}}type", kind)
        anchor.text = title
    return page(meta.contents, meta.language, body, "frontmatter")


def listed(entries: list[Entry]) -> Element:
    holder = etree.Element(f"{{{XHTML}}}ol")
    for entry in entries:
        item = etree.SubElement(holder, f"{{{XHTML}}}li")
        name = "a" if entry.address else "span"
        line = etree.SubElement(item, f"{{{XHTML}}}{name}")
        line.text = entry.title
        if entry.address:
            line.set("href", entry.address)
        if entry.below:
            item.append(listed(entry.below))
    return holder


def old_navigation(meta: Metadata, entries: list[Entry]) -> str:
    """Return toc.ncx, by which reading systems of EPUB 2 find their way."""
    count = 0

    def points(each: list[Entry]) -> str:
        nonlocal count
        text = ""
        for entry in each:
            address = entry.address or first(entry)
            count += 1
            number = count
            text += (
                f'<navPoint id="n{number}" playOrder="{number}"><navLabel><text>'
                f'{escape(entry.title)}</text></navLabel><content src="{address}"/>'
                f"{points(entry.below)}</navPoint>\n"
            )
        return text

    flat = [
        Entry(e.title, e.address, [Entry(b.title, b.address) for b in e.below]) for e in entries
    ]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1" xml:lang="{meta.language}">
<head><meta name="dtb:uid" content="{meta.identifier}"/></head>
<docTitle><text>{escape(meta.title)}</text></docTitle>
<navMap>
{points(flat)}</navMap>
</ncx>
"""


def first(entry: Entry) -> str:
    return entry.address or first(entry.below[0])


def write(target: Path, files: dict[str, bytes]) -> None:
    """Write the archive: the type first, not compressed; the same book gives the same bytes."""
    unfinished = target.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w") as archive:
        put(archive, "mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        put(archive, "META-INF/container.xml", CONTAINER.encode())
        for name, content in files.items():
            put(archive, f"book/{name}", content)
    unfinished.replace(target)


def put(
    archive: zipfile.ZipFile, name: str, content: bytes, how: int = zipfile.ZIP_DEFLATED
) -> None:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type = how
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, content, compresslevel=9 if how else None)
