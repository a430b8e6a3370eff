"""Tokenization and detokenization by a few simple rules; scripts that write no blanks.

The rule for English, French and German is the classic one: lower case, every
punctuation mark a token of its own, everything else split at blanks. An
apostrophe and a hyphen stay inside their word. The rule for Chinese is in
:func:`tokenize`.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal, cast, get_args

from attention_book.foundations.languages import written_as

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


#: The languages that have rules here.
Language = Literal["en", "fr", "zh", "de"]

# Marks that cling to the word before them, and to the word after them. " does either.
_CHINESE_CLOSING = frozenset("。！？，、；：）》」』")
_CHINESE_OPENING = frozenset("（《「『")
_CLOSING = frozenset(",.!?;:…)]»”") | _CHINESE_CLOSING
_OPENING = frozenset("([«„“") | _CHINESE_OPENING
_MARK = "[" + re.escape("".join(sorted(_CLOSING | _OPENING)) + '"') + "]"

# What has no blanks around it: Chinese characters, and the Japanese ones among them.
_CHARACTER = HAN + KANA
_CHINESE_MARKS = "".join(sorted(_CHINESE_CLOSING | _CHINESE_OPENING))
_CHINESE = re.compile(f"[{_CHARACTER}{_CHINESE_MARKS}]")
# Nobody writes so but who marks the words: 欢迎 来, 救命 ！ and 《 红楼梦. Other blanks are
# typography: those beside letters and digits, those behind a mark, and all that are not ordinary.
_BLANK_OF_WORDS = re.compile(
    f"[{_CHARACTER}] +[{_CHARACTER}]"
    rf"|\w +[{''.join(sorted(_CHINESE_CLOSING))}]|[{''.join(sorted(_CHINESE_OPENING))}] +\w"
)
_BLANKS_BESIDE_CHINESE = re.compile(rf"(?<={_CHINESE.pattern})\s+|\s+(?={_CHINESE.pattern})")

# A mark between two digits belongs to the number: 3.50, 1,000, 10:30.
_NUMBER_MARK = r"(?<=\d)[.,:](?=\d)"
_WORDS = re.compile(rf"{_MARK}|(?:{_NUMBER_MARK}|(?!{_MARK})\S)+")
_CHARACTERS = re.compile(
    rf"[{_CHARACTER}]|{_MARK}|(?:{_NUMBER_MARK}|(?!{_MARK}|[{_CHARACTER}])\S)+"
)
_HALF = re.compile("[\ud800-\udfff]")
_LETTER = re.compile(r"\w")
_INVISIBLE = re.compile("[\u00ad\u200b\ufeff]")  # soft hyphen, zero-width space, byte order mark

# In French these marks keep their distance, by a space at which no line may break.
_FRENCH_SPACE = dict.fromkeys("!?;", "\u202f") | dict.fromkeys(":»", "\u00a0")


def tokenize(text: str, language: str) -> tuple[str, ...]:
    """Split a text into lower-case tokens.

    English, French, German: each of ``, . ! ? ; : … « » “ ” „ " ( ) [ ]`` is a token,
    unless it stands inside a number (3.50); the rest is split at blanks, among which
    the no-break spaces count. The apostrophe ’ becomes '. On plain sentences this is the
    splitting of *Dive into Deep Learning* (section 10.5).

    Chinese: each character is a token, unless the writer has marked the words: with a blank
    between two Chinese characters (``欢迎 来``), between a word and a mark that closes
    (``救命 ！``) or one that opens. Then blanks are the boundaries. A blank beside Latin letters or
    digits or behind a mark is typography, and so is one of another kind, such as the full-width
    one; none of them marks words. Runs of Latin letters and digits stay together, and the marks
    ``。！？，、；：`` are tokens, in either case; Japanese characters are like Chinese ones.

    Text is brought to Unicode's composed form (NFC), so that é is one
    character however it was typed, and invisible characters (soft hyphen,
    zero-width space) are dropped.

    Args:
        text: One line.
        language: "en", "fr", "de", "zh", or another code of one of them, such as "fra" or
            "zh-Hant-TW".

    >>> tokenize("I'm home.", "en")
    ("i'm", 'home', '.')
    >>> tokenize("Ça va\\u202f?", "fr")
    ('ça', 'va', '?')
    >>> tokenize("欢迎来北京。", "zh")
    ('欢', '迎', '来', '北', '京', '。')
    >>> tokenize("欢迎 来 北京。", "zh")
    ('欢迎', '来', '北京', '。')
    >>> tokenize("我用 Python 写代码。", "zh")
    ('我', '用', 'python', '写', '代', '码', '。')
    """
    rules = rules_of(language)
    text = _normal(text)
    if rules == "zh":
        return tuple((_WORDS if _BLANK_OF_WORDS.search(text) else _CHARACTERS).findall(text))
    return tuple(_WORDS.findall(text.replace("’", "'")))


def marks_words(text: str) -> bool:
    """Whether blanks mark the words of a Chinese text: see :func:`tokenize`.

    >>> marks_words("欢迎 来北京。"), marks_words("我用 Python 写代码。")
    (True, False)
    """
    return _BLANK_OF_WORDS.search(_normal(text)) is not None


def _normal(text: str) -> str:
    # Lower case first: it may take a composed character apart (İ).
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text).lower()).strip()


def without_halves(text: str) -> str:
    """Return a text with U+FFFD for each half of a character, which is none and has no bytes.

    Halves of UTF-16 (surrogates) come from names of files, from JSON, and from broken programs.

    >>> without_halves("a\\ud800b")
    'a�b'
    """
    return _HALF.sub("\ufffd", text)


def without_blanks(text: str) -> str:
    """Write Chinese without the blanks between its words; other blanks stay.

    >>> without_blanks("欢迎 来 北京 , Tom and Mary 。")
    '欢迎来北京, Tom and Mary。'
    """
    return _BLANKS_BESIDE_CHINESE.sub("", text)


def detokenize(tokens: Sequence[str], language: str) -> str:
    """Write tokens as readable text.

    Marks cling to their words; French keeps a no-break space before ``! ? ; :`` and
    inside « »; Chinese has no blanks, except between two words in Latin letters.
    English, French and German begin with a capital: which words had one inside
    the sentence is lost, as is where the words of a Chinese text ended.

    Args:
        tokens: What :func:`tokenize` returned, or a model.
        language: As there.

    >>> detokenize(("he's", "calm", "."), "en")
    "He's calm."
    >>> detokenize(("va", "!"), "fr")
    'Va\\u202f!'
    >>> detokenize(("欢迎", "来", "北京", "。"), "zh")
    '欢迎来北京。'
    """
    rules = rules_of(language)
    text, previous, clings, quoting = "", "", True, False
    for token in tokens:
        opens, closes = token in _opening(rules), token in _closing(rules)
        if token == '"':  # straight quotation marks open and close in turn
            opens, closes, quoting = not quoting, quoting, not quoting
        if not clings:
            text += _space(previous, token, closes=closes, language=rules)
        text, previous, clings = text + token, token, opens and token != "«"
    return text if rules == "zh" else _LETTER.sub(_capital, text, count=1)


def _capital(letter: re.Match[str]) -> str:
    """Return the capital, unless none leads back to the letter (ß)."""
    capital = letter[0].upper()
    return capital if capital.lower() == letter[0] else letter[0]


def _opening(language: Language) -> frozenset[str]:
    return _OPENING - {"“"} if language == "de" else _OPENING


def _closing(language: Language) -> frozenset[str]:
    return _CLOSING | {"“"} if language == "de" else _CLOSING


def _space(previous: str, token: str, *, closes: bool, language: Language) -> str:
    """Return what stands between two tokens."""
    if language == "zh" and (_CHINESE.match(previous[-1:]) or _CHINESE.match(token)):
        return ""
    if language == "fr" and token in _FRENCH_SPACE:
        return _FRENCH_SPACE[token]
    if previous == "«":
        return "\u00a0" if language == "fr" else ""
    return "" if closes else " "


def rules_of(language: str) -> Language:
    """Return the language whose rules hold for a code.

    >>> rules_of("eng"), rules_of("cmn_Hans")
    ('en', 'zh')
    """
    code = written_as(language) if isinstance(language, str) else None
    if code not in get_args(Language):
        raise ValueError(f"language: expected one of {get_args(Language)}, got {language!r}")
    return cast(Language, code)
