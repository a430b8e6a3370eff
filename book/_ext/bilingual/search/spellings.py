"""Other spellings of the index's Chinese: traditional characters, Japanese ones, other words.

The book is written in simplified characters and has one word for each idea. A reader who types
機率 or 遮罩 means what the book calls 概率 or 掩码.
"""

from __future__ import annotations

from functools import cache

from opencc import OpenCC

#: The blocks of Chinese characters that dictionaries know.
CHARACTERS = "".join(map(chr, [*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000)]))


def variants(text: str) -> str:
    """Return the characters that stand for one of the text's, each followed by that one.

    A character that the text itself has stands for itself.

    >>> variants("机")
    '機机'
    """
    own = set(text)
    pairs = (each + to for each, to in simplified().items() if to in own and each not in own)
    return "".join(sorted(pairs))


@cache
def simplified() -> dict[str, str]:
    """Return the simplified form of each character that has another one."""
    lines = "\n".join(CHARACTERS)
    to_simplified = OpenCC("t2s").convert
    chinese = to_simplified(lines).split("\n")
    japanese = to_simplified(OpenCC("jp2t").convert(lines)).split("\n")
    found = {}
    for character, first, second in zip(CHARACTERS, chinese, japanese, strict=True):
        form = first if first != character else second
        if form != character:
            found[character] = form
    return found
