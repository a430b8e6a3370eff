"""Words that remember which concept they say, and the alignment that follows from it.

A concept is a path from the clause down: ``"0"`` is what the first clause says (its
verb), ``"0/object"`` the noun it acts on, ``"0/object/the"`` that noun's article. The
three languages say the same concepts, each with its own words in its own order; some
concepts one language leaves unsaid.

**The rule of the gold alignment.** A word is linked to the words of its own concept.
Where the other language has no word for that concept, it is linked to the words of the
concept above: a French article that Chinese leaves out belongs to its noun, a Chinese
measure word (量词) to the noun it counts, 的 to its adjective, 吗 to the verb. So every
word has a link, in every pair of languages.
"""

from collections.abc import Sequence
from typing import NamedTuple

__all__: list[str] = []  # for the languages alone


class Word(NamedTuple):
    """A word, and the concepts it says: mostly one, two in French "au" (à + le).

    >>> Word("book", ("0/object",)).text
    'book'
    """

    text: str
    concepts: tuple[str, ...]


def say(concept: str, text: str) -> list[Word]:
    """Return the words of ``text``, separated by blanks, that together say ``concept``.

    >>> say("0/not", "does not")
    [Word(text='does', concepts=('0/not',)), Word(text='not', concepts=('0/not',))]
    """
    return [Word(word, (concept,)) for word in text.split(" ")]


def choose_forms(words: list[Word], vowels: str, *, aspirated: frozenset[str]) -> list[Word]:
    """Decide between the two forms of words written as "before consonant|before vowel".

    Args:
        words: Some written with two forms: "a|an", "le|l'", "beau|bel".
        vowels: The first letters before which the second form stands.
        aspirated: Words that count as consonants although their first letter does not.

    >>> words = say("0/object", "a|an old umbrella") + say("end", ".")
    >>> [word.text for word in choose_forms(words, "aeiou", aspirated=frozenset())]
    ['an', 'old', 'umbrella', '.']
    """
    chosen = list(words)
    for index in range(len(words) - 1, -1, -1):  # from the end: the next word is decided
        text = words[index].text
        if "|" in text:
            following = chosen[index + 1].text
            vowel = following[0] in vowels and following not in aspirated
            before_consonant, before_vowel = text.split("|")
            form = before_vowel if vowel else before_consonant
            chosen[index] = Word(form, words[index].concepts)
    return chosen


def align(
    source: Sequence[tuple[str, ...]], target: Sequence[tuple[str, ...]]
) -> frozenset[tuple[int, int]]:
    """Return the links (i, j) between two renderings, by the rule of this module.

    Args:
        source: The concepts of each source word.
        target: The concepts of each target word.

    >>> the_book, 那本书 = [("0/the",), ("0",)], [("0/the",), ("0/measure",), ("0",)]
    >>> sorted(align(the_book, 那本书))
    [(0, 0), (1, 1), (1, 2)]
    """
    forward = _links(source, target)
    backward = _links(target, source)
    return frozenset(forward) | {(i, j) for j, i in backward}


def _links(
    speakers: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]
) -> set[tuple[int, int]]:
    said: dict[str, list[int]] = {}
    for position, concepts in enumerate(others):
        for concept in concepts:
            said.setdefault(concept, []).append(position)
    links: set[tuple[int, int]] = set()
    for position, concepts in enumerate(speakers):
        for concept in concepts:
            while concept not in said:
                concept = concept.rpartition("/")[0]
            links.update((position, other) for other in said[concept])
    return links
