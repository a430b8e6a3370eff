"""Between the grammar's tokens and text as people write it.

The grammar cuts finer than :func:`attention_book.text.tokens.tokenize` in two places:
an elided French word is a token of its own ("l'" + "homme"), and Chinese is segmented
into words even where the text has no blanks between them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from attention_book.foundations.languages import short_code
from attention_book.text.grammar.lexicon import (
    ADJECTIVES,
    FOLDER,
    NOUNS,
    PLACES,
    TIMES,
    VERBS,
    Verb,
)
from attention_book.text.tokens import detokenize, marks_words, tokenize

LANGUAGES = ("en", "fr", "zh")

_ELIDED = re.compile(r"^((?:[cdjlmnst]|qu)')(?=.)")
_CAPITALS = {
    "en": {"i", "sunday"} | {n.english for n in NOUNS.values() if "name" in n.tags},
    "fr": {noun.french for noun in NOUNS.values() if "name" in noun.tags},
}
_FUNCTION_WORDS = (
    "的 一 两 三 这 这些 一些 我 我们 他 她 它 他们 她们 它们 不 会 想 必须 吗 在 有 和 一起 "
    "但是 因为 所以 里 上 下 是 很"
)


def grammar_text(tokens: Sequence[str], language: str) -> str:
    """Write the grammar's tokens as text.

    >>> grammar_text(("l'", "homme", "aime", "marie", "."), "fr")
    "L'homme aime Marie."
    >>> grammar_text(("女孩", "读", "书", "。"), "zh")
    '女孩读书。'
    """
    known = spoken_language(language)
    capitals = _CAPITALS.get(known, ())
    written: list[str] = []
    for token in tokens:
        word = token.capitalize() if token in capitals else token
        if known == "fr" and written and written[-1].endswith("'"):
            written[-1] += word
        else:
            written.append(word)
    return detokenize(written, known)


def grammar_tokens(text: str, language: str) -> tuple[str, ...]:
    """Cut text into tokens as the grammar does, so that a reader can type a sentence.

    Chinese without blanks is segmented by taking, from the left, the longest word that
    the grammar knows; an unknown character stays alone.

    >>> grammar_tokens("L'homme n'aime pas l'eau.", "fr")
    ("l'", 'homme', "n'", 'aime', 'pas', "l'", 'eau', '.')
    >>> grammar_tokens("女孩今天在花园里读一本红色的书。", "zh")
    ('女孩', '今天', '在', '花园', '里', '读', '一', '本', '红色', '的', '书', '。')
    """
    known = spoken_language(language)
    tokens = tokenize(text, known)
    if known == "fr":
        return tuple(part for token in tokens for part in _split_elisions(token))
    if known == "zh" and (all(len(t) == 1 for t in tokens) or not marks_words(text)):
        return tuple(_segmented(tokens))
    return tokens


def spoken_language(code: str, name: str = "language") -> str:
    """Return which of the grammar's languages a code means.

    >>> spoken_language("fra"), spoken_language("zh_CN")
    ('fr', 'zh')
    """
    found = short_code(code)
    if found not in LANGUAGES:
        raise ValueError(f"{name}: expected one of {', '.join(LANGUAGES)}, got {code!r}")
    return found


def _split_elisions(token: str) -> list[str]:
    found = _ELIDED.match(token)
    return [found[1], *_split_elisions(token[found.end() :])] if found else [token]


def _segmented(tokens: Sequence[str]) -> Iterator[str]:
    """Join the characters that stand together to words; what is longer stands alone."""
    for is_character, group in groupby(tokens, lambda token: len(token) == 1):
        together = list(group)
        yield from _segment("".join(together)) if is_character else together


def _segment(text: str) -> tuple[str, ...]:
    words, longest = chinese_words(), max(map(len, chinese_words()))
    tokens = []
    while text:
        sizes = range(min(longest, len(text)), 0, -1)
        size = next((size for size in sizes if text[:size] in words), 1)
        tokens.append(text[:size])
        text = text[size:]
    return tuple(tokens)


@cache
def chinese_words() -> frozenset[str]:
    """Return every Chinese word of the grammar.

    >>> "花园" in chinese_words()
    True
    """
    words = set(_FUNCTION_WORDS.split())
    for table in ("nouns", "adjectives", "verbs", "places", "times", "pronouns"):
        text = (FOLDER / f"{table}.tsv").read_text(encoding="utf-8")
        words.update(re.findall(r"[\u4e00-\u9fff]+", text))
    people = (noun for noun in NOUNS.values() if "person" in noun.tags)
    return frozenset(words | {f"{noun.chinese}们" for noun in people})


_BARE = ("mass", "name")  # the tags of nouns that need no article


def is_grammatical(tokens: Sequence[str]) -> bool:
    """Tell whether the grammar could say these English tokens; sense is not asked for.

    >>> is_grammatical("the girl does not read this book .".split())
    True
    >>> is_grammatical("the girl do not read this book .".split())
    False
    >>> is_grammatical("the door drinks this moon .".split())
    True
    """
    return _sentence().fullmatch(" ".join(tokens)) is not None


@cache
def _sentence() -> re.Pattern[str]:
    """Match clauses, joined, and a full stop; or one question."""
    clause = _around(_any((_statement(), _exists())))
    more = rf"(?: (?:and|, but|because|, so) {clause}){{0,2}}"
    return re.compile(_any((rf"{clause}{more} \.", rf"{_ending(_question())} \?")))


def _around(core: str) -> str:
    """Let a clause have a place, and a time before or after it."""
    return _any((rf"{_times()} {core}(?: {_place()})?", _ending(core)))


def _ending(core: str) -> str:
    """Let a clause have a place, and a time after it."""
    return rf"{core}(?: {_place()})?(?: {_times()})?"


def _place() -> str:
    """Match "in the old park", "at home"."""
    places = (
        rf"{place.english_preposition} the (?:{_adjectives()} )?{place.noun.english}"
        if place.english_article
        else f"{place.english_preposition} {place.noun.english}"
        for place in PLACES.values()
    )
    return _any(places)


def _times() -> str:
    return _any(time.english for time in TIMES if time.kind != "adverb")


def _statement() -> str:
    """Match: somebody acts or is somehow, with the verb in his number."""
    adverb = rf"(?:{_adverbs()} )?"
    bare, third = _deed(bare=True), _deed(bare=False)
    anyone = rf"(?:will (?:not )?|must ){adverb}{bare}"
    many = rf"(?:do not )?(?:want to )?{adverb}{bare}"
    one = _any((rf"does not (?:want to )?{adverb}{bare}", rf"wants to {bare}", rf"{adverb}{third}"))
    so = _any((_adjectives(), _place()))
    return _any(
        (
            rf"i {_any((anyone, many, rf'am (?:not )?{so}'))}",
            rf"{_any(('they', _nouns(plural=True)))} {_any((anyone, many, rf'are (?:not )?{so}'))}",
            rf"{_any(('he', 'she', 'it', _nouns(plural=False)))} "
            rf"{_any((anyone, one, rf'is (?:not )?{so}'))}",
        )
    )


def _question() -> str:
    """Match: does somebody act, or is somebody so."""
    one, many = _any(("he", "she", "it", _nouns(plural=False))), _any(("they", _nouns(plural=True)))
    deed = rf"(?:{_adverbs()} )?{_deed(bare=True)}"
    so = _any((_adjectives(), _place()))
    return _any(
        (
            rf"will {_any((one, many))} {deed}",
            rf"does {one} (?:want to )?{deed}",
            rf"do {many} (?:want to )?{deed}",
            rf"is {one} {so}",
            rf"are {many} {so}",
        )
    )


def _exists() -> str:
    """Match: there is such a thing."""
    return _any((rf"there is {_nouns(plural=False)}", rf"there are {_nouns(plural=True)}"))


def _deed(*, bare: bool) -> str:
    """Match a verb with what it takes, and perhaps with whom."""
    thing = _any(("me", "him", "her", "it", "them", _nouns(plural=False), _nouns(plural=True)))
    person = _any((_nouns(plural=False), _nouns(plural=True)))
    alone = _any(_form(verb, bare) for verb in VERBS if not verb.objects)
    acting = _any(_form(verb, bare) for verb in VERBS if verb.objects and verb.english != "give")
    give = _any(_form(verb, bare) for verb in VERBS if verb.english == "give")
    deed = _any((alone, rf"{acting} {thing}", rf"{give} {thing} to {person}"))
    return rf"{deed}(?: with {person})?"


def _form(verb: Verb, bare: bool) -> str:
    form = verb.english if bare else verb.third
    return f"{form} {verb.particle}" if verb.particle else form


def _nouns(*, plural: bool) -> str:
    """Match a noun with article, number and adjective, all agreeing."""
    adjective = rf"(?:{_adjectives()} )?"
    if plural:
        nouns = _any(noun.plural for noun in NOUNS.values() if noun.plural)
        first = _any(("(?:the|these|my|our|some) (?:(?:two|three) )?", "(?:two|three) "))
        return rf"{first}{adjective}{nouns}"
    alone = _any(n.english for n in NOUNS.values() if not n.tags.isdisjoint(_BARE))
    named = [noun for noun in NOUNS.values() if "name" not in noun.tags]
    nouns = _any(noun.english for noun in named)
    counted = _any(noun.english for noun in named if noun.plural)
    article = "(?:a (?![aeiou])|an (?=[aeiou]))"
    return _any(
        (alone, rf"(?:the|this|my|our) {adjective}{nouns}", rf"{article}{adjective}{counted}")
    )


def _adjectives() -> str:
    return _any({each.english for each in ADJECTIVES})


def _adverbs() -> str:
    return _any(time.english for time in TIMES if time.kind == "adverb")


def _any(choices: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(set(choices), key=len, reverse=True)) + ")"
