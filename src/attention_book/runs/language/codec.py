"""Documents between text and numbers: characters, or subwords, learned from a text."""

import hashlib
import itertools
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from attention_book.runs.codec import SAMPLE, piece_vocabulary, read_json
from attention_book.runs.language.settings import LanguageSettings, PieceSettings
from attention_book.text import SPECIALS, SubwordTokenizer, Vocabulary
from attention_book.text.tokens import without_blanks_between_words, without_halves

_FORMAT = "attention_book pieces 1"
#: So many subwords where the settings do not say.
USUAL_PIECES = 1000
# By so many documents it is seen whether a text has blanks between its words.
_LOOKED_AT = 1000
# Of a longer document the tokens are learned from the beginning.
_LONGEST = 100_000


class PieceCodec:
    """One language, or several, between documents, tokens and numbers, both ways.

    Attributes:
        settings: How text is split.
        vocabulary: The numbers of the tokens.
        tokenizer: Cuts subwords; None: characters.

    >>> codec = PieceCodec.learn(["春眠不觉晓", "春风不度"], PieceSettings())
    >>> codec.tokens("春天不"), codec.numbers("春天不")
    (('春', '天', '不'), [5, 1, 4])
    >>> codec.text([5, 4])
    '春不'
    """

    def __init__(
        self,
        settings: PieceSettings,
        vocabulary: Vocabulary,
        tokenizer: SubwordTokenizer | None = None,
    ) -> None:
        self.settings, self.vocabulary, self.tokenizer = settings, vocabulary, tokenizer

    @classmethod
    def learn(cls, documents: Iterable[str], settings: PieceSettings) -> "PieceCodec":
        """Learn characters or subwords, from 200,000 documents where there are more.

        Raises:
            ValueError: if the text has not as many subwords as the settings ask for, or no
                character often enough.
        """
        kept = [
            _apart(document[:_LONGEST], settings)
            for document in itertools.islice(documents, SAMPLE)
        ]
        unit = settings.unit
        if unit == "auto":
            alone = without_blanks_between_words(kept[:_LOOKED_AT])
            unit = "characters" if alone else "subwords"
        if unit == "characters":
            return cls(settings, _characters(kept, settings))
        asked = settings.num_pieces or USUAL_PIECES
        tokenizer = SubwordTokenizer.train(kept, num_tokens=asked)
        found = len(tokenizer.tokens)
        if settings.num_pieces is not None and found < settings.num_pieces:
            raise ValueError(
                f"num_pieces: expected at most {found}, as many as this text has, got {asked}"
            )
        return cls(settings, piece_vocabulary(tokenizer), tokenizer)

    @property
    def unit(self) -> str:
        """Return what tokens are, "characters" or "subwords"."""
        return "characters" if self.tokenizer is None else "subwords"

    def tokens(self, text: str) -> tuple[str, ...]:
        """Split a document into tokens."""
        text = _apart(text, self.settings)
        return tuple(text) if self.tokenizer is None else self.tokenizer.tokenize(text)

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a document's tokens, without ``<bos>`` and ``<eos>``."""
        return self.vocabulary.encode(self.tokens(text))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of many documents."""
        if self.tokenizer is None:
            return [self.numbers(text) for text in texts]
        cut = self.tokenizer.encode_batch([_apart(text, self.settings) for text in texts])
        shift = len(SPECIALS)
        return [[number + shift for number in document] for document in cut]

    def text(self, numbers: Sequence[int]) -> str:
        """Return the text of numbers; special tokens are left out, an unknown one is U+FFFD."""
        unknown = self.vocabulary.unk
        tokens = [
            "\ufffd" if number == unknown else self.vocabulary.decode([number])[0]
            for number in numbers
        ]
        said = [token for token in tokens if token not in SPECIALS]
        return "".join(said) if self.tokenizer is None else self.tokenizer.detokenize(said)

    def unknown(self, text: str) -> tuple[str, ...]:
        """Return the characters of a text that have no number; of subwords there are none."""
        return tuple(token for token in self.tokens(text) if token not in self.vocabulary)

    @property
    def digest(self) -> str:
        """A short number made of all that decides how text becomes numbers."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the codec as text, for :meth:`from_json`."""
        vocabulary = None if self.tokenizer else json.loads(self.vocabulary.to_json())
        tokenizer = json.loads(self.tokenizer.to_json()) if self.tokenizer else None
        content = {
            "format": _FORMAT,
            "settings": asdict(self.settings),
            "vocabulary": vocabulary,
            "tokenizer": tokenizer,
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "PieceCodec":
        """Read what :meth:`to_json` wrote.

        >>> codec = PieceCodec.learn(["春眠不觉晓", "春风不度"], PieceSettings())
        >>> PieceCodec.from_json(codec.to_json()).digest == codec.digest
        True
        """
        return read_json(text, _FORMAT, cls._from_content)

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> "PieceCodec":
        settings = LanguageSettings.from_dict({"text": content["settings"]}).text
        if content["tokenizer"] is None:
            return cls(settings, Vocabulary.from_json(json.dumps(content["vocabulary"])))
        tokenizer = SubwordTokenizer.from_json(json.dumps(content["tokenizer"]))
        return cls(settings, piece_vocabulary(tokenizer), tokenizer)


def _apart(text: str, settings: PieceSettings) -> str:
    """Return a document as it is cut: composed (NFC), without blanks at its ends."""
    text = without_halves(text.lower() if settings.lowercase else text)
    return unicodedata.normalize("NFC", text).strip()


def _characters(documents: Sequence[str], settings: PieceSettings) -> Vocabulary:
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document)
    most = Counter(dict(counts.most_common(settings.num_pieces)))
    found = Vocabulary.from_counts(most, min_frequency=settings.min_frequency)
    if not found.words():
        raise ValueError(
            f"text: expected characters seen {settings.min_frequency} times or more, got none"
        )
    return found
