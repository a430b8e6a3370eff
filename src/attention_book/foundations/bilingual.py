"""The same text in two languages: what a verdict says, and what a figure is labeled with.

A `Bilingual` holds both texts. `L("查询", "Query")` makes one into a label for a figure, which is
drawn once and read in both languages: the book's site shows the one the reader has chosen; a
notebook exported in one language calls `set_language` and gets that one alone.
"""

from dataclasses import dataclass
from typing import Literal

from attention_book.foundations.languages import written_as

Language = Literal["zh", "en"]

#: Stands between the two texts of a label: a thin space, invisible where nothing splits it.
#: The site looks for the same character in the figures (book/_ext/website/figures).
SEPARATOR = "\u2009"

_language: Language | None = None


def of_the_two(language: object) -> Language | None:
    """Return which of the two languages a code means; None: neither.

    >>> of_the_two("zh_CN.UTF-8"), of_the_two("eng"), of_the_two("fr")
    ('zh', 'en', None)
    """
    code = written_as(language) if isinstance(language, str) else ""
    return "zh" if code == "zh" else "en" if code == "en" else None


def set_language(language: str | None) -> None:
    """Fix the language of all labels made from now on; None means both again.

    Args:
        language: "zh", "en" or another code of one of the two, such as "zh-CN"; or None.

    Raises:
        ValueError: if ``language`` is anything else.

    >>> set_language("en")
    >>> L("查询", "Query")
    'Query'
    >>> set_language(None)
    """
    global _language
    found = of_the_two(language)
    if language is not None and found is None:
        raise ValueError(f"language must be 'zh', 'en' or None, got {language!r}")
    _language = found


def chosen_language() -> Language | None:
    """Return the language that ``set_language`` has fixed; None while there are both."""
    return _language


@dataclass(frozen=True)
class Bilingual:
    """The same text in Chinese and in English.

    The site's build has a type of the same name, in ``book/_ext/bilingual/marks.py``: that one
    has to be a string, to pass through Sphinx, and the build must not load this package (and
    torch) to make one.

    Attributes:
        zh: The Chinese text.
        en: The English text.

    >>> Bilingual("掩码反了。", "The mask is inverted.").text("en")
    'The mask is inverted.'
    """

    zh: str
    en: str

    def text(self, language: str) -> str:
        """Return the text in one language.

        Raises:
            ValueError: if ``language`` is no code of one of the two.
        """
        found = of_the_two(language)
        if found is None:
            raise ValueError(f"language: expected 'zh' or 'en', got {language!r}")
        return self.zh if found == "zh" else self.en

    def label(self) -> str:
        """Return the text as one string for a figure.

        Both texts with a thin space between them, or one of them where ``set_language`` has
        fixed the language.

        Raises:
            ValueError: if a text is empty, or holds a formula (``$``), a line break or the thin
                space itself.

        >>> Bilingual("键", "Key").label().split(SEPARATOR)
        ['键', 'Key']
        """
        for text in (self.zh, self.en):
            _check_label(text)
        return self.zh + SEPARATOR + self.en if _language is None else self.text(_language)


def L(zh: str, en: str) -> str:
    """Make one label of a Chinese and an English text, for any place of a figure.

    Short for ``Bilingual(zh, en).label()``. Titles, axis labels, legends and tick labels take
    it. Formulas do not belong in it: they read the same in both languages, so write them as a
    plain string.

    Args:
        zh: The Chinese text.
        en: The English text.

    Returns:
        Both texts with a thin space between them, or one of them where a
        language has been fixed.

    Raises:
        ValueError: if a text is empty, or holds a formula (``$``), a line break or the thin
            space itself.

    >>> L("键", "Key").split(SEPARATOR)
    ['键', 'Key']
    """
    return Bilingual(zh, en).label()


def _check_label(text: str) -> None:
    if not text.strip():
        raise ValueError("a label needs a text in each language, got an empty one")
    for sign, name in (("$", "a formula ($)"), ("\n", "a line break"), (SEPARATOR, "U+2009")):
        if sign in text:
            raise ValueError(f"a label in two languages cannot hold {name}: {text!r}")


__all__ = [
    "SEPARATOR",
    "Bilingual",
    "L",
    "Language",
    "chosen_language",
    "of_the_two",
    "set_language",
]
