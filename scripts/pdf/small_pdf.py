"""A PDF as Chromium writes it, in a third of the bytes: its small objects are packed together.

A tagged PDF names every piece of text for assistive technology, in two hundred thousand objects
of a few words. Chromium writes each of them out, as PDF 1.4 did; since PDF 1.5 they may stand
together in compressed streams, and their addresses, too. Nothing in them is changed, but for what
the document says of itself: Chromium knows a title, and names itself as the maker.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

TOGETHER = 200  # objects in one stream
_ENTRY = re.compile(rb"(\d{10}) (\d{5}) ([nf])")
_ABOUT = re.compile(rb"/Info (\d+) 0 R")
#: What Chromium says of a document and is true: with what it printed, and when.
_KEPT = re.compile(rb"/(?:Producer|CreationDate|ModDate)\s*\((?:[^()\\]|\\.)*\)")
_OBJECT = re.compile(rb"\s*(\d+) (\d+) obj\b\s*")


def smaller(pdf: bytes, about: dict[str, str]) -> bytes:
    """Return the same document; only for PDF with one plain table of addresses.

    ``about``: what it says of itself, by the names of PDF, such as "Author".
    """
    table, trailer = addresses(pdf)
    info = _ABOUT.search(trailer)
    if info is None:
        raise ValueError("expected a PDF that says what it is, got one without /Info")
    starts = sorted(table.values())
    ends = dict(zip(starts, [*starts[1:], pdf.rindex(b"\nxref") + 1], strict=True))
    out = bytearray(b"%PDF-1.7\n%\xd3\xeb\xe9\xe1\n")
    places: dict[int, tuple[int, int, int]] = {0: (0, 0, 65535)}
    packed: list[tuple[int, bytes]] = []
    for number, start in table.items():
        whole = pdf[start : ends[start]]
        body = contents(whole)
        if number == int(info[1]):
            body = information(about, _KEPT.findall(body))
        if b"stream" in body:  # too often is as right as never: it only stays as it is
            places[number] = (1, len(out), 0)
            out += whole
        else:
            packed.append((number, body))
    size = max(table) + 1
    for number, group in enumerate(groups(packed), start=size):
        places[number] = (1, len(out), 0)
        places |= {each: (2, number, at) for at, (each, _) in enumerate(group)}
        out += object_stream(number, group)
    last = max(places) + 1
    places[last] = (1, len(out), 0)
    start = len(out)
    out += address_stream(last, places, trailer)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def addresses(pdf: bytes) -> tuple[dict[int, int], bytes]:
    """Return where each object begins, and what the trailer says but for the size."""
    start = pdf.rindex(b"\nxref") + 1
    table, _, rest = pdf[start:].partition(b"trailer")
    entries = _ENTRY.findall(table)
    found = {n: int(at) for n, (at, _, kind) in enumerate(entries) if kind == b"n"}
    said = rest[rest.index(b"<<") + 2 : rest.rindex(b">>")]
    if b"/Prev" in said or not table.startswith(b"xref\n0 "):
        raise ValueError("expected a PDF with one table of addresses, got one with several")
    return found, re.sub(rb"/Size \d+", b"", said).strip()


def contents(whole: bytes) -> bytes:
    head = _OBJECT.match(whole)
    if head is None or head[2] != b"0":
        raise ValueError(f"expected an object, got {whole[:30]!r}")
    return whole[head.end() : whole.rindex(b"endobj")].strip()


def information(about: dict[str, str], kept: list[bytes]) -> bytes:
    """Return the dictionary of what a document says of itself.

    >>> information({"Author": "书"}, [b"/Producer (Skia)"])
    b'<</Author <feff4e66>\\n/Producer (Skia)>>'
    """
    said = [
        b"/%s <feff%s>" % (name.encode(), text.encode("utf-16-be").hex().encode())
        for name, text in about.items()
    ]
    return b"<<" + b"\n".join([*said, *kept]) + b">>"


def groups(objects: list[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    for start in range(0, len(objects), TOGETHER):
        yield objects[start : start + TOGETHER]


def object_stream(number: int, group: list[tuple[int, bytes]]) -> bytes:
    index, bodies = [], bytearray()
    for each, body in group:
        index.append(b"%d %d" % (each, len(bodies)))
        bodies += body + b"\n"
    head = b" ".join(index) + b"\n"
    said = b"/Type /ObjStm /N %d /First %d" % (len(group), len(head))
    return stream(number, said, head + bytes(bodies))


def address_stream(number: int, places: dict[int, tuple[int, int, int]], said: bytes) -> bytes:
    free = (0, 0, 65535)
    rows = bytearray()
    for each in range(number + 1):
        kind, where, which = places.get(each, free)
        rows += bytes([kind]) + where.to_bytes(4, "big") + which.to_bytes(2, "big")
    words = b"/Type /XRef /Size %d /W [1 4 2] " % (number + 1) + said
    return stream(number, words, bytes(rows))


def stream(number: int, said: bytes, data: bytes) -> bytes:
    packed = zlib.compress(data, 9)
    head = b"%d 0 obj\n<<%s /Filter /FlateDecode /Length %d>>\nstream\n"
    return head % (number, said, len(packed)) + packed + b"\nendstream\nendobj\n"
