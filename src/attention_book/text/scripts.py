"""Scripts that are written without blanks between words."""

import itertools
import re
from collections.abc import Iterable

#: Chinese characters, as the inside of a character class; with 々 and 〇.
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
#: Japanese syllables, full and half width.
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
# Thai, Lao, Tibetan, Burmese, Khmer; Tai Le to Tai Tham, Balinese, Javanese, Tai Viet; Yi; Tangut.
_OTHERS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f"
    "\ua000-\ua4cf\ua980-\ua9ff\uaa60-\uaadf\U00017000-\U00018cff"
)

_RUNS = re.compile(rf"[{HAN}{KANA}{_OTHERS}]|[^\s{HAN}{KANA}{_OTHERS}]+")
_ALONE = re.compile(f"[{HAN}{KANA}{_OTHERS}]")


def without_blanks_between_words(texts: Iterable[str]) -> bool:
    """Whether most of some texts is of scripts that write no blanks between words.

    A character of these counts as much as a word of the others.

    >>> without_blanks_between_words(["我在用 Python 写代码。"])
    True
    >>> without_blanks_between_words(["He lives in 西安."])
    False
    """
    alone = words = 0
    for piece in itertools.chain.from_iterable(map(pieces, texts)):
        if _ALONE.match(piece):
            alone += 1
        else:
            words += any(map(str.isalpha, piece))
    return alone > words


def pieces(text: str) -> list[str]:
    """Split a text at blanks; of a script that writes none, each character is a piece.

    >>> pieces("vai avanti."), pieces("ไป Tom")
    (['vai', 'avanti.'], ['ไ', 'ป', 'Tom'])
    """
    return _RUNS.findall(text)
