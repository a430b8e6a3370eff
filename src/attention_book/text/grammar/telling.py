"""A sentence of the grammar: one meaning said in three languages."""

from dataclasses import dataclass

from attention_book.text.grammar.languages.chinese import say_chinese
from attention_book.text.grammar.languages.english import say_english
from attention_book.text.grammar.languages.french import say_french
from attention_book.text.grammar.meaning import Meaning, Phrase
from attention_book.text.grammar.text import LANGUAGES, grammar_text, spoken_language
from attention_book.text.grammar.words import align
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

        Raises:
            ValueError: if the grammar does not speak the language.

        >>> from attention_book.text import generate
        >>> generate(1, seed=3)[0].tokens("en")[-1]
        '.'
        """
        return (self.english, self.french, self.chinese)[_index(language)]

    def text(self, language: str) -> str:
        """Return the sentence as one would write it.

        Raises:
            ValueError: if the grammar does not speak the language.

        >>> from attention_book.text import generate
        >>> generate(1, seed=3)[0].text("zh")[-1]
        '。'
        """
        return grammar_text(self.tokens(language), language)

    def pair(self, source: str, target: str) -> SentencePair:
        """Return the sentence in two languages with its gold alignment.

        Raises:
            ValueError: if the grammar does not speak one of the languages.

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
    >>> from attention_book.text.grammar.meaning import Clause
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
