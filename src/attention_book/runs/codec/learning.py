"""Learning words and subwords from a corpus of any size, in one pass and in bounded memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from attention_book.runs.codec.sides import WordRule, cut_words
from attention_book.text import Vocabulary

#: Subwords are learned from so many pairs, drawn evenly from the corpus where it has more.
SAMPLE = 200_000
# Of a longer line the sample has the beginning.
_LONGEST = 1000
# Where a language has more different words, the rarest are forgotten on the way.
_MOST_WORDS = 1_000_000


def count_words(
    lines: Iterable[tuple[str, str]], languages: tuple[str, str], rule: WordRule
) -> tuple[Counter[str], Counter[str]]:
    """Count the words of both sides.

    Beyond a million different words of a language the rarest are forgotten and counted anew, so
    that memory stays bounded: words that make up less than about a millionth of the text may be
    missing.

    >>> count_words([("Go.", "Va !"), ("Go on.", "Continue.")], ("en", "fr"), "plain")[0]
    Counter({'go': 2, '.': 2, 'on': 1})
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for line in lines:
        for count, text, language in zip(counts, line, languages, strict=True):
            count.update(cut_words(text, language, rule))
            if len(count) > _MOST_WORDS:
                _forget_rarest(count)
    return counts


def _forget_rarest(count: Counter[str]) -> None:
    """Forget the rarer half of the words, and no word that is more frequent than one forgotten."""
    middle = sorted(count.values())[len(count) // 2]
    for word in [word for word, times in count.items() if times <= middle]:
        del count[word]


def draw_sample(lines: Iterable[tuple[str, str]], size: int = SAMPLE) -> list[tuple[str, str]]:
    """Draw lines evenly from a corpus whose length is not known; the same ones each time.

    This is Vitter's algorithm R: line n takes the place of a line drawn before with
    probability size / n.

    >>> lines = [(str(number), "") for number in range(1000)]
    >>> len(draw_sample(lines, 10)), draw_sample(lines[:5], 10) == lines[:5]
    (10, True)
    """
    dice = Random(0)
    kept: list[tuple[str, str]] = []
    for number, (source, target) in enumerate(lines):
        place = number if number < size else int(dice.random() * (number + 1))
        if place < size:
            kept[place : place + 1] = [(source[:_LONGEST], target[:_LONGEST])]
    return kept


def word_vocabularies(counts: Sequence[Counter[str]], min_frequency: int) -> list[Vocabulary]:
    """Return a vocabulary for each side.

    Raises:
        ValueError: if no word is left of one.
    """
    found = [Vocabulary.from_counts(count, min_frequency=min_frequency) for count in counts]
    if not all(vocabulary.words() for vocabulary in found):
        raise ValueError(f"lines: expected words seen {min_frequency} times or more, got none")
    return found
