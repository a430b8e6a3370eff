"""One label in two languages, so that a figure is drawn once and read in both.

`L("查询", "Query")` keeps both texts in one string. The book's site shows the one the reader has
chosen; a notebook exported in one language calls `set_language` and gets that one alone.
"""

from typing import Literal, get_args

Language = Literal["zh", "en"]

#: Stands between the two texts: a thin space, invisible where nobody splits the label.
SEPARATOR = "\u2009"

_language: Language | None = None


def set_language(language: Language | None) -> None:
    """Fix the language of all labels made from now on; None means both again.

    Args:
        language: "zh", "en" or None.

    Raises:
        ValueError: if ``language`` is anything else.

    >>> set_language("en")
    >>> L("查询", "Query")
    'Query'
    >>> set_language(None)
    """
    global _language
    if language is not None and language not in get_args(Language):
        raise ValueError(f"language must be 'zh', 'en' or None, got {language!r}")
    _language = language


def chosen_language() -> Language | None:
    """Return the language that ``set_language`` has fixed; None while there are both."""
    return _language


def L(zh: str, en: str) -> str:
    """Make one label of a Chinese and an English text, for any place of a figure.

    Titles, axis labels, legends and tick labels take it. Formulas do not belong
    in it: they read the same in both languages, so write them as a plain string.

    Args:
        zh: the Chinese text.
        en: the English text.

    Returns:
        Both texts with a thin space between them, or one of them where a
        language has been fixed.

    Raises:
        ValueError: if a text is empty, holds a formula (``$``), a line break
            or the separator itself.

    >>> L("键", "Key").split(SEPARATOR)
    ['键', 'Key']
    """
    for text in (zh, en):
        _check_text(text)
    if _language is None:
        return zh + SEPARATOR + en
    return zh if _language == "zh" else en


def _check_text(text: str) -> None:
    if not text.strip():
        raise ValueError("a label needs a text in each language, got an empty one")
    for sign, name in (("$", "a formula ($)"), ("\n", "a line break"), (SEPARATOR, "U+2009")):
        if sign in text:
            raise ValueError(f"a label in two languages cannot hold {name}: {text!r}")


__all__ = ["SEPARATOR", "L", "Language", "chosen_language", "set_language"]
