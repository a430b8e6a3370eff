"""What a corpus is: its lines, lengths, unknown words, and what its parts share."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import get_args

from attention_book.foundations.languages import written_as
from attention_book.runs.corpora import SPLITS, Skipped, Split, read_lines
from attention_book.runs.settings import DataSettings
from attention_book.text import CorpusError, tokenize
from attention_book.text.scripts import pieces
from attention_book.text.tokens import Language


@dataclass
class Side:
    """One language of a part.

    Attributes:
        lengths: How many sentences have how many tokens.
        words: How often each token occurs.
    """

    lengths: Counter[int] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def take(self, tokens: Sequence[str]) -> None:
        """Count a sentence."""
        self.lengths[len(tokens)] += 1
        self.words.update(tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens there are."""
        return sum(length * count for length, count in self.lengths.items())

    def length_at(self, share: float) -> int:
        """Return the length that so many of the sentences do not exceed.

        >>> Side(lengths=Counter({3: 90, 8: 10})).length_at(0.95)
        8
        """
        below, wanted = 0, share * self.lengths.total()
        for length in sorted(self.lengths):
            below += self.lengths[length]
            if below >= wanted:
                return length
        return 0

    def share_unknown(self, known: Mapping[str, int]) -> float:
        """Return the share of the tokens that are not among the known ones."""
        unknown = sum(count for word, count in self.words.items() if word not in known)
        return unknown / max(self.words.total(), 1)


@dataclass
class Part:
    """One part of a corpus.

    Attributes:
        split: Which one.
        num_pairs: How many pairs of sentences.
        source: The language to translate from.
        target: The other one.
        hashes: Of all sources, to find those that two parts share.
        twice: How many pairs have a source that was there before.
    """

    split: Split
    num_pairs: int = 0
    source: Side = field(default_factory=Side)
    target: Side = field(default_factory=Side)
    hashes: set[bytes] = field(default_factory=set)
    twice: int = 0

    def seen_in(self, other: "Part") -> int:
        """Return how many different sources the other part has too."""
        return len(self.hashes & other.hashes)


def cut(text: str, language: str) -> tuple[str, ...]:
    """Cut a text into words: by the rule of its language, or else at blanks.

    Where a script writes none, as that of Thai, each character is one.

    >>> cut("Go on.", "eng"), cut("vai avanti.", "it")
    (('go', 'on', '.'), ('vai', 'avanti.'))
    """
    if written_as(language) in get_args(Language):
        return tokenize(text, language)
    return tuple(pieces(text.lower()))


def described(data: DataSettings, skipped: Skipped) -> dict[Split, Part]:
    """Return what each part of a corpus is; a part without a sentence is left out.

    Raises:
        CorpusError: if the training part cannot be read, or is empty.
    """
    parts = {}
    for split in SPLITS:
        try:
            counted = Skipped() if split != "train" and not getattr(data, split) else skipped
            parts[split] = _part(split, read_lines(data, split, skipped=counted), data)
        except CorpusError:
            if split == "train" or getattr(data, split):
                raise
    return parts


def _part(split: Split, lines: Iterable[tuple[str, str]], data: DataSettings) -> Part:
    part = Part(split)
    for source, target in lines:
        part.num_pairs += 1
        part.source.take(cut(source, data.source))
        part.target.take(cut(target, data.target))
        key = blake2b(" ".join(cut(source, data.source)).encode(), digest_size=8).digest()
        part.twice += key in part.hashes
        part.hashes.add(key)
    return part


__all__ = ("Part", "Side", "cut", "described")
