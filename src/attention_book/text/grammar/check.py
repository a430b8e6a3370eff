"""Whether an English sentence is one that the grammar could say.

The grammar draws sentences; this is the way back, for sentences that a model wrote. English
as :mod:`attention_book.text.grammar.languages.english` says it is a regular language, so one long
regular expression will do: it is built from the same tables of words, from the inside out.
It knows of number, of a and an, of which verbs take an object; it does not know what is
sensible: "the door drinks this moon ." is grammatical.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from attention_book.text.grammar.lexicon import ADJECTIVES, NOUNS, PLACES, TIMES, VERBS, Verb

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
