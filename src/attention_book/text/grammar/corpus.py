"""A training set from the grammar, and three ways of holding sentences out."""

from dataclasses import dataclass
from functools import cache
from random import Random

from attention_book.text.grammar.generate import stream
from attention_book.text.grammar.telling import Sentence
from attention_book.text.grammar.text import LANGUAGES, spoken_language
from attention_book.text.pairs import SentencePair

# Training sentences have at most two clauses and this many tokens, in every language.
MAX_TRAIN_TOKENS = 14
# The sentences of the length split have more, in every language, and at most this many.
MAX_LENGTH_TOKENS = 24
# Combinations that training never shows, though it shows each of the two words often:
# adjective and noun ("a red car", "this car is red"), or subject and verb.
HELD_OUT = frozenset(
    {
        ("red", "car"), ("black", "cat"), ("small", "dog"), ("old", "house"),
        ("beautiful", "bird"), ("new", "bag"), ("white", "flower"), ("blue", "dress"),
        ("green", "apple"), ("young", "woman"), ("clever", "student"), ("big", "tree"),
        ("girl", "read"), ("boy", "eat"), ("cat", "sleep"), ("doctor", "drink"),
        ("man", "sing"), ("teacher", "write"), ("child", "draw"),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GrammarCorpus:
    """Pairs with gold alignments, for training and for four kinds of questions.

    Attributes:
        train: What a model learns from.
        validation: Other sentences of the same kind, to choose settings by.
        random: Other sentences of the same kind, to report.
        compositional: Sentences with a combination from :data:`HELD_OUT`, each word of
            which training shows in other company.
        length: Sentences longer than any in training, in both languages.

    >>> corpus = grammar_corpus("en", "fr", num_train=100, num_test=10)
    >>> len(corpus.train), len(corpus.length)
    (100, 10)
    """

    train: tuple[SentencePair, ...]
    validation: tuple[SentencePair, ...]
    random: tuple[SentencePair, ...]
    compositional: tuple[SentencePair, ...]
    length: tuple[SentencePair, ...]


def grammar_corpus(
    source: str = "en",
    target: str = "fr",
    *,
    num_train: int = 8000,
    num_test: int = 500,
    seed: int = 42,
) -> GrammarCorpus:
    """Draw a corpus; a seed draws the same sentences for every pair of languages.

    No sentence stands in two splits, nor twice in one, in any language. Training,
    validation and random split are one bag of sentences, dealt out at random.

    Args:
        source: "en", "fr" or "zh", or another code of one of them.
        target: Another of them.
        num_train: How many pairs to train on.
        num_test: How many pairs in each of the four held-out splits.
        seed: Of the drawing.

    Raises:
        ValueError: if a number is negative, a language unknown, or both are the same.

    >>> corpus = grammar_corpus("en", "zh", num_train=100, num_test=10)
    >>> max(len(pair.source) for pair in corpus.train) <= 14
    True
    >>> min(len(pair.source) for pair in corpus.length) >= 15
    True
    """
    _check(source, target, num_train=num_train, num_test=num_test)
    parts = _draw(num_train, num_test, seed)
    return GrammarCorpus(*(tuple(s.pair(source, target) for s in part) for part in parts))


@cache
def _draw(num_train: int, num_test: int, seed: int) -> tuple[tuple[Sentence, ...], ...]:
    """Draw the sentences of all splits: once, for all pairs of languages."""
    plain: list[Sentence] = []
    combined: list[Sentence] = []
    long: list[Sentence] = []
    shelves = {"plain": (plain, num_train + 2 * num_test),
               "compositional": (combined, num_test), "length": (long, num_test)}  # fmt: skip
    for sentence in stream(seed=seed):
        if all(len(shelf) == size for shelf, size in shelves.values()):
            break
        shelf, size = shelves.get(_kind(sentence), ([], 0))
        if len(shelf) < size:
            shelf.append(sentence)
    # The longer the stream, the rarer its short sentences, which have all been said:
    # shuffled, each split has its share of them.
    Random(seed).shuffle(plain)
    train, held_out = plain[2 * num_test :], plain[: 2 * num_test]
    splits = (train, held_out[:num_test], held_out[num_test:], combined, long)
    return tuple(map(tuple, splits))


def _kind(sentence: Sentence) -> str:
    """Return where a sentence may stand; "" for those in between, which are left out."""
    lengths = [len(sentence.tokens(language)) for language in LANGUAGES]
    held_out = not sentence.combinations.isdisjoint(HELD_OUT)
    if max(lengths) <= MAX_TRAIN_TOKENS and sentence.num_clauses <= 2:
        return "compositional" if held_out else "plain"
    if min(lengths) > MAX_TRAIN_TOKENS and max(lengths) <= MAX_LENGTH_TOKENS and not held_out:
        return "length"
    return ""


def _check(source: str, target: str, **numbers: int) -> None:
    if spoken_language(source, "source") == spoken_language(target, "target"):
        raise ValueError(f"target: expected another language than the source, got {target!r}")
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name}: expected 0 or more, got {number}")
