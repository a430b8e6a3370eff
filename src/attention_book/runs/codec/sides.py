"""One side of a codec: a language in words or in subwords, with its vocabulary."""

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from attention_book.foundations.languages import short_code, written_as
from attention_book.runs.codec.moses import Moses
from attention_book.text import (
    SPECIALS,
    SubwordTokenizer,
    Vocabulary,
    detokenize,
    grammar_text,
    grammar_tokens,
    tokenize,
)
from attention_book.text.grammar.text import LANGUAGES
from attention_book.text.tokens import Language, without_blanks, without_halves

#: How a text is cut into words: as :func:`~attention_book.text.tokenize` does, or finer, as
#: :func:`~attention_book.text.grammar_tokens` does.
WordRule = Literal["plain", "grammar"]

_SPECIALS = frozenset(SPECIALS)


@dataclass(frozen=True)
class Words:
    """A side in words, always in lower case.

    Attributes:
        language: "en", "fr", "de" or "zh", or another code of one of them.
        rule: How text is cut.
        vocabulary: The words that have a number.
    """

    language: str
    rule: WordRule
    vocabulary: Vocabulary

    def tokens(self, text: str) -> tuple[str, ...]:
        """Split a text into words; one that is spelled as a special token is unknown."""
        words = cut_words(text, self.language, self.rule)
        if _SPECIALS.isdisjoint(words):
            return words
        return tuple("<unk>" if word in _SPECIALS else word for word in words)

    def unknown(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that have no number, each once."""
        words = cut_words(text, self.language, self.rule)
        known = self.vocabulary
        return tuple(dict.fromkeys(w for w in words if w in _SPECIALS or w not in known))

    def text(self, tokens: Sequence[str]) -> str:
        """Write words as readable text."""
        if self.rule == "grammar":
            return grammar_text(tokens, self.language)
        return detokenize(tokens, self.language)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the words of many texts."""
        return [self.vocabulary.encode(self.tokens(text)) for text in texts]

    def to_json(self) -> object:
        """Return the words."""
        return json.loads(self.vocabulary.to_json())

    @classmethod
    def from_json(cls, content: object, language: str, rule: WordRule) -> "Words":
        """Read what :meth:`to_json` returned.

        Raises:
            ValueError: if it is something else, or the rule knows no such language.
        """
        check_rule(language, rule)
        return cls(language, rule, Vocabulary.from_json(json.dumps(content)))


def check_rule(language: str, rule: str) -> None:
    """Check that there is such a rule, and that it knows the language.

    Raises:
        ValueError: if not.

    >>> check_rule("it", "plain")
    Traceback (most recent call last):
    ValueError: language: expected one of en, fr, zh, de, got 'it' (subwords know them all)
    """
    known = {"plain": get_args(Language), "grammar": LANGUAGES}
    if rule not in known:
        raise ValueError(f"word_rule: expected one of {', '.join(known)}, got {rule!r}")
    code = written_as(language) if rule == "plain" else short_code(language)
    if code not in known[rule]:
        expected = ", ".join(known[rule])
        raise ValueError(
            f"language: expected one of {expected}, got {language!r} (subwords know them all)"
        )


def cut_words(text: str, language: str, rule: WordRule) -> tuple[str, ...]:
    """Cut a text into words by one of the two rules.

    >>> cut_words("L'homme dort.", "fr", "plain"), cut_words("L'homme dort.", "fr", "grammar")
    (("l'homme", 'dort', '.'), ("l'", 'homme', 'dort', '.'))
    """
    if rule == "grammar":
        return grammar_tokens(text, language)
    return tokenize(text, language)


@dataclass(frozen=True)
class Spelling:
    """What is done to a text before it is cut into subwords, and undone afterwards.

    Attributes:
        language: Chinese is read without blanks between its words, whether or not they are
            written.
        lowercase: Whether it is read in lower case.
        moses: Splits it, and joins it again; None: nothing does.
    """

    language: str
    lowercase: bool = False
    moses: Moses | None = None

    def apart(self, text: str) -> str:
        """Return the text as it is cut: composed (NFC), without blanks at its ends.

        >>> Spelling("en", lowercase=True).apart(" Go! ")
        'go!'
        >>> Spelling("zh").apart("欢迎 来 北京 。")
        '欢迎来北京。'
        """
        text = without_halves(text.lower() if self.lowercase else text)
        text = unicodedata.normalize("NFC", text).strip()
        if written_as(self.language) == "zh":
            text = without_blanks(text)
        return self.moses.split(text) if self.moses else text

    def together(self, text: str) -> str:
        """Return what was cut as one would write it, but for the capitals that were lost."""
        return self.moses.join(text) if self.moses else text


@dataclass(frozen=True)
class Subwords:
    """A side in subwords.

    Attributes:
        spelling: What is done to a text before it is cut.
        tokenizer: Cuts it.
        vocabulary: The specials and all pieces, in the order of the tokenizer.
    """

    spelling: Spelling
    tokenizer: SubwordTokenizer
    vocabulary: Vocabulary

    def tokens(self, text: str) -> tuple[str, ...]:
        """Split a text into subwords."""
        return self.tokenizer.tokenize(self.spelling.apart(text))

    def unknown(self, text: str) -> tuple[str, ...]:
        """Return nothing: subwords spell every word."""
        return ()

    def text(self, tokens: Sequence[str]) -> str:
        """Join subwords to a text."""
        return self.spelling.together(self.tokenizer.detokenize(tokens))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the subwords of many texts."""
        found = self.tokenizer.encode_batch([self.spelling.apart(text) for text in texts])
        shift = len(SPECIALS)
        return [[number + shift for number in text] for text in found]

    def to_json(self) -> object:
        """Return the pieces."""
        return json.loads(self.tokenizer.to_json())


#: One language of a codec.
Side = Words | Subwords


def piece_vocabulary(tokenizer: SubwordTokenizer) -> Vocabulary:
    """Return a vocabulary of all pieces; how often each was seen is not known.

    >>> tokenizer = SubwordTokenizer.train(["low lower lowest"] * 3, num_tokens=259)
    >>> len(piece_vocabulary(tokenizer))
    263
    """
    tokens = SPECIALS + tokenizer.tokens
    return Vocabulary(tokens, (0,) * len(tokens))
