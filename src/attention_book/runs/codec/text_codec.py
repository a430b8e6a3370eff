"""The codec of a run: how its two languages become tokens and numbers, and text again."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from attention_book.runs.codec.learning import count_words, draw_sample, word_vocabularies
from attention_book.runs.codec.moses import Moses
from attention_book.runs.codec.sides import (
    Side,
    Spelling,
    Subwords,
    WordRule,
    Words,
    check_rule,
    piece_vocabulary,
)
from attention_book.runs.settings import RunSettings, TextSettings
from attention_book.text import SubwordTokenizer, Vocabulary

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
        """Keep the two sides; :meth:`learn` and :meth:`from_json` make them."""
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

        Raises:
            ValueError: if there is nothing to learn from, or a language has no rule for words.
            ImportError: if tokenizers or sacremoses are needed and not installed.
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

        Raises:
            ValueError: if the text is something else.
            ImportError: if tokenizers or sacremoses are needed and not installed.

        >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
        >>> TextCodec.from_json(codec.to_json()).digest == codec.digest
        True
        """
        try:
            content = json.loads(text)
            json.dumps(content, ensure_ascii=False).encode()  # no half characters
            found = content["format"]
            codec = cls._from_content(content) if found == _FORMAT else None
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"text: expected a codec in JSON, got {text[:40]!r}") from error
        if codec is None:
            raise ValueError(f"format: expected {_FORMAT!r}, got {found!r}")
        return codec

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
