"""English, French and Chinese sentences, with the word alignment known by construction.

Every sentence is drawn as a meaning and then said three times, so the three tellings
mean the same, and each word knows the concept it says. From the concepts follows the
gold alignment (:mod:`attention_book.text.grammar.words` has the rule).

Tokens are lower case; punctuation stands apart; an elided French word keeps its
apostrophe and is a token of its own ("l'" + "homme"), so that "homme" is one word of
the vocabulary wherever it stands; Chinese is segmented into words.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

from attention_book.text.grammar.phrases import Draw
from attention_book.text.grammar.sentences import draw_meaning
from attention_book.text.grammar.telling import Sentence, telling


def generate(num: int, *, seed: int = 42) -> tuple[Sentence, ...]:
    """Draw ``num`` sentences, no two of which are alike in any of the languages.

    The first sentences do not depend on how many follow.

    Raises:
        ValueError: if ``num`` or ``seed`` is negative.

    >>> for sentence in generate(2, seed=1):
    ...     print(" ".join(sentence.english))
    my hamster eats bread today and the man reads this book with marie .
    paul is happy , so he sings some good songs in the garden .
    """
    if num < 0:
        raise ValueError(f"num: expected 0 or more, got {num}")
    return tuple(islice(stream(seed=seed), num))


def stream(*, seed: int = 42) -> Iterator[Sentence]:
    """Draw sentences for as long as they are asked for, each new in every language.

    >>> next(stream(seed=1)) == generate(1, seed=1)[0]
    True
    """
    if seed < 0:
        raise ValueError(f"seed: expected 0 or more, got {seed}")  # Python drops the sign
    dice = Random(seed)
    seen: set[tuple[str, ...]] = set()
    while True:
        meaning = draw_meaning(Draw(dice))
        if meaning is None:
            continue
        sentence = telling(meaning)
        tellings = {sentence.english, sentence.french, sentence.chinese}
        if seen.isdisjoint(tellings):
            seen |= tellings
            yield sentence
