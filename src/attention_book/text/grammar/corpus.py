"""Sentences of the grammar, one meaning said in three languages; and corpora with splits.

Every sentence is drawn as a meaning and then said three times, so the three tellings
mean the same, and each word knows the concept it says. From the concepts follows the
gold alignment (:mod:`attention_book.text.grammar.languages` has the rule).

Tokens are lower case; punctuation stands apart; an elided French word keeps its
apostrophe and is a token of its own ("l'" + "homme"), so that "homme" is one word of
the vocabulary wherever it stands; Chinese is segmented into words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random

from attention_book.text.grammar.drawing import Draw, draw_meaning
from attention_book.text.grammar.languages import align
from attention_book.text.grammar.languages.chinese import say_chinese
from attention_book.text.grammar.languages.english import say_english
from attention_book.text.grammar.languages.french import say_french
from attention_book.text.grammar.lexicon import Meaning, Phrase
from attention_book.text.grammar.text import LANGUAGES, grammar_text, spoken_language
from attention_book.text.pairs import SentencePair


@dataclass(frozen=True)
class Sentence:
    """One meaning in three languages.

    Attributes:
        english: The tokens.
        french: The tokens.
        chinese: The tokens.
        concepts: For each language the concepts of each token, from which alignments
            follow.
        combinations: Its adjective-noun and subject-verb pairs, in English: what a
            compositional split may hold out.
        num_clauses: How many clauses it joins, 1 to 3.

    >>> from attention_book.text import generate
    >>> (sentence,) = generate(1, seed=3)
    >>> len(sentence.english) == len(sentence.concepts[0])
    True
    """

    english: tuple[str, ...]
    french: tuple[str, ...]
    chinese: tuple[str, ...]
    concepts: tuple[tuple[tuple[str, ...], ...], ...]
    combinations: frozenset[tuple[str, str]]
    num_clauses: int

    def tokens(self, language: str) -> tuple[str, ...]:
        """Return the tokens in "en", "fr" or "zh", or in another code of one of them.

        >>> from attention_book.text import generate
        >>> generate(1, seed=3)[0].tokens("en")[-1]
        '.'
        """
        return (self.english, self.french, self.chinese)[_index(language)]

    def text(self, language: str) -> str:
        """Return the sentence as one would write it.

        >>> from attention_book.text import generate
        >>> generate(1, seed=3)[0].text("zh")[-1]
        '。'
        """
        return grammar_text(self.tokens(language), language)

    def pair(self, source: str, target: str) -> SentencePair:
        """Return the sentence in two languages with its gold alignment.

        >>> from attention_book.text import generate
        >>> pair = generate(1, seed=3)[0].pair("en", "fr")
        >>> max(pair.alignment) == (len(pair.source) - 1, len(pair.target) - 1)
        True
        """
        links = align(self.concepts[_index(source)], self.concepts[_index(target)])
        return SentencePair(self.tokens(source), self.tokens(target), links)


def _index(language: str) -> int:
    return LANGUAGES.index(spoken_language(language))


def telling(meaning: Meaning) -> Sentence:
    """Say a meaning in all three languages.

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> from attention_book.text.grammar.lexicon import Clause
    >>> letter = Phrase(NOUNS["letter"], "a")
    >>> clause = Clause(subject=Phrase(NOUNS["boy"], "the"), verb=VERBS[0], object=letter)
    >>> telling(Meaning((clause,))).chinese
    ('男孩', '读', '一', '封', '信', '。')
    """
    said = say_english(meaning), say_french(meaning), say_chinese(meaning)
    texts = [tuple(word.text for word in words) for words in said]
    concepts = tuple(tuple(word.concepts for word in words) for words in said)
    together = _combinations(meaning)
    return Sentence(texts[0], texts[1], texts[2], concepts, together, len(meaning.clauses))


def _combinations(meaning: Meaning) -> frozenset[tuple[str, str]]:
    """Return (adjective, noun) and (subject, verb), wherever they meet."""
    found = set()
    for clause in meaning.clauses:
        where = clause.where.phrase if clause.where else None
        phrases = (clause.subject, clause.object, clause.recipient, clause.companion, where)
        for phrase in phrases:
            if isinstance(phrase, Phrase) and phrase.adjective:
                found.add((phrase.adjective.english, phrase.noun.english))
        if isinstance(clause.subject, Phrase):
            noun = clause.subject.noun.english
            found |= {(clause.quality.english, noun)} if clause.quality else set()
            found |= {(noun, clause.verb.english)} if clause.verb else set()
    return frozenset(found)


def generate(num: int, *, seed: int = 42) -> tuple[Sentence, ...]:
    """Draw ``num`` sentences, no two of which are alike in any of the languages.

    The first sentences do not depend on how many follow.

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
        seed: Seeds the random draws.

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
