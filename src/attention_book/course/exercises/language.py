"""Which of the two languages this reader wants to be spoken to in."""

import locale
import os

from attention_book.foundations.bilingual import Language, chosen_language, of_the_two
from attention_book.foundations.environment import in_book_build

#: "zh" or "en": the language of verdicts, where neither the call nor the notebook names one.
LANGUAGE_VARIABLE = "ATTENTION_BOOK_LANGUAGE"


def reader_language(language: str | None = None) -> Language:
    """Return the language to speak: the one asked for, the notebook's, or the computer's.

    In this order: the argument, ``set_language``, the environment variable
    ``ATTENTION_BOOK_LANGUAGE``, the locale (zh_CN is Chinese), English.
    """
    if language is not None:
        return checked("language", language)
    chosen = chosen_language()
    if chosen is not None:
        return chosen
    if LANGUAGE_VARIABLE in os.environ:
        return checked(LANGUAGE_VARIABLE, os.environ[LANGUAGE_VARIABLE])
    return "zh" if not in_book_build() and _is_chinese(_locale()) else "en"


def checked(name: str, language: str) -> Language:
    """Return which of the two languages a code means."""
    found = of_the_two(language)
    if found is None:
        raise ValueError(f"{name}: expected 'zh' or 'en', got {language!r}")
    return found


def _is_chinese(name: str) -> bool:
    return of_the_two(name) == "zh" or name.startswith("Chinese")  # as Windows writes it


def _locale() -> str:
    """Return the name of the reader's locale, as the terminal or the system tells it."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if name := os.environ.get(variable):
            return name
    return locale.getlocale()[0] or ""
