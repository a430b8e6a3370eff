"""The corpora with a name: what they are, and whether their files are whole."""

import hashlib
from typing import Literal

from attention_book.foundations.bilingual import Bilingual
from attention_book.text import CorpusError
from attention_book.text.corpora import DOWNLOADED, CorpusFile

#: The corpora with a name: languages, and what they are.
KNOWN = {
    "grammar": (
        ("en", "fr"),
        Bilingual(
            "书里的文法造出来的句子，英、法、中任意两种；随包自带（CC BY 4.0）",
            "sentences of the book's grammar, any two of en, fr, zh; in the package (CC BY 4.0)",
        ),
    ),
    "phrasebook": (
        ("en", "fr"),
        Bilingual(
            "书里的短语集，英、法、中任意两种；随包自带（CC BY 4.0）",
            "the book's phrases, any two of en, fr, zh; in the package (CC BY 4.0)",
        ),
    ),
    "tatoeba-eng-fra": (
        DOWNLOADED["tatoeba-eng-fra"],
        Bilingual(
            "tatoeba.org 的日常短句（CC BY 2.0 FR），要下载",
            "everyday sentences from tatoeba.org (CC BY 2.0 FR); downloaded",
        ),
    ),
    "multi30k-en-de": (
        DOWNLOADED["multi30k-en-de"],
        Bilingual(
            "图片说明，英德（供研究用，见其使用条款），要下载",
            "descriptions of pictures (for research: see its terms of use); downloaded",
        ),
    ),
    "multi30k-en-fr": (
        DOWNLOADED["multi30k-en-fr"],
        Bilingual(
            "图片说明，英法（供研究用，见其使用条款），要下载",
            "descriptions of pictures (for research: see its terms of use); downloaded",
        ),
    ),
}


def state_of(file: CorpusFile) -> Literal["missing", "whole", "damaged"]:
    """Compare the checksum of a file with what it must be.

    Raises:
        CorpusError: if the file cannot be read.

    >>> from pathlib import Path
    >>> state_of(CorpusFile("a.gz", "https://example.org/a.gz", "sha256:0", Path("nowhere")))
    'missing'
    """
    if not file.path.is_file():
        return "missing"
    kind, _, wanted = file.checksum.partition(":")
    try:
        with file.path.open("rb") as content:
            found = hashlib.file_digest(content, kind).hexdigest()
    except OSError as error:
        raise CorpusError(f"{file.path}: cannot be read: {error.strerror}") from error
    return "whole" if found == wanted else "damaged"


__all__ = ("KNOWN", "state_of")
