"""The language in which the command speaks: Chinese or English, chosen anywhere on the line."""

import os
from collections.abc import Mapping, Sequence

from attention_book.foundations.bilingual import Bilingual, Language, chosen_language, of_the_two

#: The environment variable that chooses the language where the line does not.
VARIABLE = "ATTENTION_BOOK_LANG"
OPTION = "--lang"


def spoken(text: Bilingual | str) -> str:
    """Return a text in the language of this call; a string is the same in both."""
    return text if isinstance(text, str) else text.text(chosen_language() or "en")


def language_asked_for(
    arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> tuple[Language, list[str]]:
    """Return the language that a command line chooses, and the line without the choice.

    It may stand anywhere before ``--``; of several the last counts. A variable of the
    environment that names another language is left alone: it may be meant for others.

    Raises:
        ValueError: if the option names no language, or another one.

    >>> language_asked_for(["train", "--lang", "zh", "--steps", "9"], {})
    ('zh', ['train', '--steps', '9'])
    >>> language_asked_for(["train"], {"ATTENTION_BOOK_LANG": "zh_CN.UTF-8"})
    ('zh', ['train'])
    """
    asked: str | None = None
    rest, words = [], list(arguments)
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
            break
        if name != OPTION or not (sign or word == OPTION):
            rest.append(word)
        else:
            asked = value if sign else (words.pop(0) if words else "")
    if asked is not None and of_the_two(asked) is None:
        raise ValueError(f"{OPTION}: expected en or zh, got {asked!r}")
    return of_the_two(asked) or of_the_two(environment.get(VARIABLE)) or "en", rest


__all__ = ["OPTION", "VARIABLE", "language_asked_for", "spoken"]
