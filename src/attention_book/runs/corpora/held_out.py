"""Holding sentences out while they stream by: the source sentence itself says where it belongs."""

import re
import unicodedata
from hashlib import blake2b
from typing import Literal

from attention_book.foundations.checks import check_probability

#: A part of a corpus.
Split = Literal["train", "validation", "test"]
#: What a corpus is divided into.
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

_NO_LETTERS = re.compile(r"\W+")


def part_of(source: str, share: float) -> Split:
    """Return the part that a source sentence belongs to, whatever its translations.

    A hash of its letters and digits decides. So it is the same part in every run and on every
    machine, needs no look at the other sentences, and does not depend on capitals, blanks or
    punctuation: what differs from a training sentence by a comma is no test.

    Args:
        source: The sentence to translate.
        share: Of the sentences that "validation" and "test" get, each.

    Raises:
        ValueError: if the share is no probability.

    >>> [part_of(f"This is number {number}.", 0.25) for number in range(4)]
    ['train', 'test', 'train', 'train']
    >>> part_of("this is number 1", 0.25)
    'test'
    """
    check_probability("share", share)
    text = unicodedata.normalize("NFKC", source).casefold()
    key = (_NO_LETTERS.sub("", text) or text).encode("utf-8", errors="surrogatepass")
    place = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") / 2**64
    if place < share:
        return "validation"
    return "test" if place < 2 * share else "train"
