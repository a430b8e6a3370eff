"""In which encoding a text that is not UTF-8 may be, and what to type to convert it."""

import codecs
import re
import shlex

from attention_book.foundations.bilingual import Bilingual

_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
# A byte with its highest bit set, and more of them.
_HIGH = re.compile(rb"[\x80-\xff]+")


def likely_encoding(sample: bytes) -> str:
    """Return the encoding, by the name that ``iconv`` and Python know, that a text is likely in.

    It is a guess from a line: null bytes are those of UTF-16; in Chinese, high bytes come in
    pairs; in an alphabet of its own, most letters are high bytes; else they are accents.

    >>> [likely_encoding("注意力是什么？".encode(name)) for name in ("gb18030", "utf-16")]
    ['GB18030', 'UTF-16']
    >>> likely_encoding("L'été à Paris".encode("latin-1")), likely_encoding("мир".encode("cp1251"))
    ('WINDOWS-1252', 'WINDOWS-1251')
    """
    if mark := next((mark for mark in _MARKS if sample.startswith(mark)), None):
        return _MARKS[mark]
    if nulls := sample.count(0):
        return "UTF-16LE" if sample[1::2].count(0) * 2 >= nulls else "UTF-16BE"
    runs = _HIGH.findall(sample)
    if runs and all(len(run) % 2 == 0 for run in runs):
        return "GB18030"
    letters = sum(map(len, runs))
    return "WINDOWS-1251" if letters * 2 > len(sample) else "WINDOWS-1252"


def how_to_convert(sample: bytes, path: str) -> Bilingual:
    """Return what to do about a file that is not UTF-8, as far as a line of it tells.

    >>> how_to_convert(b"caf\\xe9", "a.txt").en
    'it may be WINDOWS-1252: iconv -f WINDOWS-1252 -t UTF-8 a.txt > utf-8.txt'
    """
    name = likely_encoding(sample)
    line = f"iconv -f {name} -t UTF-8 {shlex.quote(path)} > utf-8.txt"
    return Bilingual(f"可能是 {name}，转换：{line}", f"it may be {name}: {line}")


__all__ = ["how_to_convert", "likely_encoding"]
