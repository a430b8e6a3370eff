"""Short phrases in three languages, written for this book: a corpus that needs no network.

The files lie in ``data/phrasebook``, one for each topic, with a license of their own.
A line holds one phrase: English, French and Chinese, separated by tabs. The
Chinese has a blank between words, so that its tokens are words. A phrase that people
say in several ways (tu or vous, he or she who speaks, careful or casual) has
a line for each way.
"""

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from attention_book.foundations.languages import short_code
from attention_book.text.pairs import CorpusError, SentencePair
from attention_book.text.tokens import tokenize

PhrasebookLanguage = Literal["en", "fr", "zh"]

_LANGUAGES: tuple[PhrasebookLanguage, ...] = get_args(PhrasebookLanguage)  # as the columns

# From the shortest phrases to whole stories, by folder; the corpus stands in this order.
_TOPICS = {
    "first_words": ("commands", "exclamations", "feelings", "being"),
    "at_home": ("home", "having", "family", "routine", "food", "health"),
    "out_and_about": ("weather", "conversation", "time", "city", "travel", "shopping"),
    "longer": ("work_and_school", "hobbies", "nature", "stories"),
}


def topics() -> tuple[str, ...]:
    """Return the topics of the phrasebook, in its order.

    >>> topics()[:3]
    ('commands', 'exclamations', 'feelings')
    """
    return tuple(topic for folder in _TOPICS.values() for topic in folder)


def phrasebook(
    source: str = "en",
    target: str = "fr",
    *,
    max_tokens: int | None = None,
) -> tuple[SentencePair, ...]:
    """Return the phrases of the book in two languages, each distinct pair once.

    A source sentence with several translations makes several pairs. The
    pairs carry no alignment.

    Args:
        source: The language to translate from: "en", "fr" or "zh", or another code of one of
            them.
        target: The language to translate to, another one.
        max_tokens: How many tokens each side may have; None: as many as it likes.

    Raises:
        ValueError: if the languages are not two of the three, or ``max_tokens`` is
            so small that no phrase is left.

    >>> phrasebook()[0]
    SentencePair(source=('go', '.'), target=('va', '!'), alignment=None)
    >>> [pair.target for pair in phrasebook("en", "zh") if pair.source == ("i", "lost", ".")]
    [('我', '输', '了', '。')]
    >>> max(len(pair.source) for pair in phrasebook(max_tokens=4))
    4
    """
    left, right = _columns(source, target)
    pairs = dict.fromkeys(SentencePair(line[left], line[right]) for line in _lines())
    if max_tokens is None:
        return tuple(pairs)
    short = tuple(p for p in pairs if max(len(p.source), len(p.target)) <= max_tokens)
    if not short:
        raise ValueError(f"max_tokens: expected room for at least one phrase, got {max_tokens}")
    return short


def check_languages(source: str, target: str) -> None:
    """Refuse languages that are not two of the three."""
    _columns(source, target)


def _columns(source: str, target: str) -> list[int]:
    """Return in which columns of the files two languages stand."""
    codes = [short_code(language) for language in (source, target)]
    if len(set(codes)) < 2 or not set(codes) <= set(_LANGUAGES):
        raise ValueError(
            f"source, target: expected two of {_LANGUAGES}, got {source!r} and {target!r}"
        )
    return [tuple(_LANGUAGES).index(code) for code in codes]


@cache
def _lines() -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return every line of every topic as its tokens, (English, French, Chinese)."""
    return tuple(
        line
        for folder, names in _TOPICS.items()
        for name in names
        for line in _lines_of(folder, name)
    )


def _lines_of(folder: str, topic: str) -> list[tuple[tuple[str, ...], ...]]:
    return [
        tuple(tokenize(side, language) for side, language in zip(line, _LANGUAGES, strict=True))
        for line in _written(folder, topic)
    ]


def phrase_lines(source: str = "en", target: str = "fr") -> tuple[tuple[str, str], ...]:
    """Return the phrases of the book in two languages as they are written, each pair once.

    Chinese has a blank between words.

    Raises:
        ValueError: if the languages are not two of the three.

    >>> phrase_lines()[0]
    ('Go.', 'Va\\u202f!')
    """
    left, right = _columns(source, target)
    topics = ((folder, name) for folder, names in _TOPICS.items() for name in names)
    lines = (line for topic in topics for line in _written(*topic))
    return tuple(dict.fromkeys((line[left], line[right]) for line in lines))


def _written(folder: str, topic: str) -> list[list[str]]:
    """Return the lines of a topic as they are written."""
    name = f"{topic}.tsv"
    phrases = files("attention_book.text") / "data" / "phrasebook"
    text = (phrases / folder / name).read_text(encoding="utf-8")
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) != len(_LANGUAGES):
            raise CorpusError(
                f"{name}:{number}: expected English TAB French TAB Chinese, "
                f"got {len(columns)} columns"
            )
        lines.append(columns)
    return lines
