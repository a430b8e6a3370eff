"""The codec of a run: how its two languages become tokens and numbers, and text again."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Literal, TypeVar, cast, get_args

from attention_book.foundations.environment import from_extra
from attention_book.foundations.languages import short_code, written_as
from attention_book.runs.settings import RunSettings, TextSettings
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


class Moses:
    """Splits text at blanks and punctuation by the rules of Moses, and joins it again.

    Nothing is escaped: an ampersand stays one. A language that has no rules of its own is split
    by those of English. Joining guesses where blanks stood, and guesses well in plain prose.

    Args:
        language: "en", or the code of another language.

    >>> moses = Moses("en")
    >>> moses.split("Tom's dog, isn't it?")
    "Tom 's dog , isn 't it ?"
    >>> moses.join("Tom 's dog , isn 't it ?")
    "Tom's dog, isn't it?"
    """

    def __init__(self, language: str) -> None:
        library = _library()
        self.language = language
        rules = written_as(language)
        self._splitter = library.MosesTokenizer(rules)
        self._joiner = library.MosesDetokenizer(rules)

    def split(self, text: str) -> str:
        """Return the text with a blank between any two of its words and marks."""
        return " ".join(self._splitter.tokenize(text, escape=False))

    def join(self, text: str) -> str:
        """Return split text as one would write it."""
        joined: str = self._joiner.detokenize(text.split(), unescape=False)
        return joined


def _library() -> Any:
    with from_extra("text", "sacremoses"):
        import sacremoses
    return sacremoses


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
        """Read what :meth:`to_json` returned."""
        check_rule(language, rule)
        return cls(language, rule, Vocabulary.from_json(json.dumps(content)))


def check_rule(language: str, rule: str) -> None:
    """Check that there is such a rule, and that it knows the language.

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
Made = TypeVar("Made")


def piece_vocabulary(tokenizer: SubwordTokenizer) -> Vocabulary:
    """Return a vocabulary of all pieces; how often each was seen is not known.

    >>> tokenizer = SubwordTokenizer.train(["low lower lowest"] * 3, num_tokens=259)
    >>> len(piece_vocabulary(tokenizer))
    263
    """
    tokens = SPECIALS + tokenizer.tokens
    return Vocabulary(tokens, (0,) * len(tokens))


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
    """Return a vocabulary for each side."""
    found = [Vocabulary.from_counts(count, min_frequency=min_frequency) for count in counts]
    if not all(vocabulary.words() for vocabulary in found):
        raise ValueError(f"lines: expected words seen {min_frequency} times or more, got none")
    return found


_FORMAT = "attention_book codec 1"
# Lines are encoded together until there are so many, or so many characters.
_LINES_AT_ONCE, _CHARACTERS_AT_ONCE = 4096, 1 << 20


class TextCodec:
    """Two languages between text, tokens and numbers, both ways.

    :meth:`learn` makes one from a corpus, :meth:`from_json` from what a run has kept.

    Attributes:
        settings: How text is split.
        languages: The one to translate from, and the one to translate to.
        word_rule: Which rule cuts words: "plain", or the finer one of the "grammar".

    >>> lines = [("Go.", "Va !"), ("Go on.", "Continue.")]
    >>> codec = TextCodec.learn(lines, TextSettings(), ("en", "fr"))
    >>> codec.source_tokens("Go on!")
    ('go', 'on', '!')
    >>> codec.target_text(("va", "!"))
    'Va\\u202f!'
    >>> next(codec.encode_pairs(lines))
    ([5, 4], [7, 4])
    """

    def __init__(
        self,
        settings: TextSettings,
        languages: tuple[str, str],
        sides: tuple[Side, Side],
        *,
        word_rule: WordRule = "plain",
    ) -> None:
        self.settings, self.languages, self.word_rule = settings, languages, word_rule
        self._source, self._target = sides

    @classmethod
    def learn(
        cls,
        lines: Iterable[tuple[str, str]],
        settings: TextSettings,
        languages: tuple[str, str],
        *,
        word_rule: WordRule = "plain",
    ) -> "TextCodec":
        """Learn the words or subwords of a corpus in one pass and in bounded memory.

        Subwords are learned from 200,000 pairs, drawn evenly from the corpus where it has
        more. Words are all counted; where a language has more than a million different ones,
        the rarest are forgotten on the way.

        Args:
            lines: The sentence pairs to learn from.
            settings: How to split.
            languages: The one to translate from, and the one to translate to.
            word_rule: Which rule cuts words.
        """
        if settings.unit == "words":
            for language in languages:  # refuse before the corpus is read
                check_rule(language, word_rule)
            counts = count_words(lines, languages, word_rule)
            found = word_vocabularies(counts, settings.min_frequency)
            words = [Words(*side) for side in zip(languages, (word_rule,) * 2, found, strict=True)]
            return cls(settings, languages, (words[0], words[1]), word_rule=word_rule)
        spellings = _spellings(settings, languages)
        sides: Iterable[tuple[str, ...]] = zip(*draw_sample(lines), strict=True)
        texts = [
            list(map(spelling.apart, side))
            for spelling, side in zip(spellings, sides, strict=False)
        ]
        if settings.shared:
            texts = [[text for side in texts for text in side]]
        size = settings.num_pieces
        learned = [SubwordTokenizer.train(side, num_tokens=size) for side in texts or [[]]]
        return cls(settings, languages, _subwords(spellings, learned))

    @property
    def source_vocabulary(self) -> Vocabulary:
        """The numbers of the language to translate from."""
        return self._source.vocabulary

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The numbers of the other; the same object where both share their subwords."""
        return self._target.vocabulary

    @property
    def source_tokenizer(self) -> SubwordTokenizer | None:
        """The tokenizer of a text to translate, or None where it is read in words."""
        return self._source.tokenizer if isinstance(self._source, Subwords) else None

    def source_tokens(self, text: str) -> tuple[str, ...]:
        """Split a text to translate into tokens."""
        return self._source.tokens(text)

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """Return the words of a text to translate that have no number; of subwords there are none.

        >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
        >>> codec.unknown_words("Go home, go!")
        ('home', ',', '!')
        """
        return self._source.unknown(text)

    def target_tokens(self, text: str) -> tuple[str, ...]:
        """Split a translation into tokens."""
        return self._target.tokens(text)

    def source_text(self, tokens: Sequence[str]) -> str:
        """Write the tokens of a source as readable text."""
        return self._source.text(tokens)

    def target_text(self, tokens: Sequence[str]) -> str:
        """Write the tokens of a translation as readable text."""
        return self._target.text(tokens)

    def encode_pairs(
        self, lines: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[list[int], list[int]]]:
        """Return the numbers of both sides of every line; of many lines together, to be fast.

        A side of which no token is left, as of a lone zero-width space in words, is empty.
        """
        for chunk in _chunks(lines):
            sources, targets = zip(*chunk, strict=True)
            yield from zip(self._source.encode(sources), self._target.encode(targets), strict=True)

    @property
    def digest(self) -> str:
        """A short number made of all that decides how text becomes numbers."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the codec as text, for :meth:`from_json`."""
        shared = self.settings.unit == "subwords" and self.settings.shared
        sides = [self._source] if shared else [self._source, self._target]
        content = {
            "format": _FORMAT,
            "settings": asdict(self.settings),
            "languages": self.languages,
            "word_rule": self.word_rule,
            "sides": [side.to_json() for side in sides],
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "TextCodec":
        """Read what :meth:`to_json` wrote.

        >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
        >>> TextCodec.from_json(codec.to_json()).digest == codec.digest
        True
        """
        return read_json(text, _FORMAT, cls._from_content)

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> "TextCodec":
        settings = RunSettings.from_dict({"text": content["settings"]}).text
        source, target = map(str, content["languages"])
        languages, rule = (source, target), content["word_rule"]
        check_rule("en", rule)
        if settings.unit == "words":
            left, right = content["sides"]
            sides = (Words.from_json(left, source, rule), Words.from_json(right, target, rule))
            return cls(settings, languages, sides, word_rule=cast(WordRule, rule))
        kept = [SubwordTokenizer.from_json(json.dumps(side)) for side in content["sides"]]
        if len(kept) != (1 if settings.shared else 2):
            raise ValueError(f"sides: expected one if shared, otherwise two, got {len(kept)}")
        return cls(settings, languages, _subwords(_spellings(settings, languages), kept))


def read_json(text: str, kind: str, build: Callable[[dict[str, Any]], Made]) -> Made:
    """Return the codec that a text in JSON describes.

    Args:
        text: What a codec's ``to_json`` wrote.
        kind: Its format.
        build: Makes the codec of what the text says.

    Raises:
        ValueError: if it is something else.
    """
    try:
        content = json.loads(text)
        json.dumps(content, ensure_ascii=False).encode()  # no half characters
        found = content["format"]
        codec = build(content) if found == kind else None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"text: expected a codec in JSON, got {text[:40]!r}") from error
    if codec is None:
        raise ValueError(f"format: expected {kind!r}, got {found!r}")
    return codec


def _spellings(settings: TextSettings, languages: tuple[str, str]) -> tuple[Spelling, Spelling]:
    source, target = (
        Spelling(language, settings.lowercase, Moses(language) if settings.moses else None)
        for language in languages
    )
    return source, target


def _subwords(
    spellings: tuple[Spelling, Spelling], tokenizers: Sequence[SubwordTokenizer]
) -> tuple[Subwords, Subwords]:
    """Return both sides; with one tokenizer they have one vocabulary."""
    vocabularies = [piece_vocabulary(tokenizer) for tokenizer in tokenizers]
    return (
        Subwords(spellings[0], tokenizers[0], vocabularies[0]),
        Subwords(spellings[1], tokenizers[-1], vocabularies[-1]),
    )


def _chunks(lines: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line[0]) + len(line[1])
        if len(chunk) == _LINES_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
