"""Vocabularies: the tokens that a model knows, each with its number."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from attention_book.foundations.checks import check_whole

#: The usual number of ``<pad>``, which fills a batch up.
PAD = 0
#: The usual number of ``<unk>``, which stands for every unknown word.
UNK = 1
#: The usual number of ``<bos>``, the beginning of a sentence.
BOS = 2
#: The usual number of ``<eos>``, the end of a sentence.
EOS = 3
#: The four tokens that are no words, in the order of their usual numbers.
SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>")

# The first lists the words behind the specials, the second every token in its place.
_FORMAT, _FORMAT_WITH_SPECIALS = "attention_book vocabulary 1", "attention_book vocabulary 2"


@dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """The numbers of the special tokens that a model and a search have to know.

    They are settings: a :class:`Vocabulary` has its own, and the configuration of a model says
    which ones the model was built for. The defaults are those of :meth:`Vocabulary.build`.

    Attributes:
        pad: Fills a batch up.
        bos: Begins a sentence.
        eos: Ends a sentence.

    >>> SpecialIds()
    SpecialIds(pad=0, bos=2, eos=3)
    """

    pad: int = PAD
    bos: int = BOS
    eos: int = EOS

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be told apart."""
        ids = vars(self)
        check_whole(**ids)
        if min(ids.values()) < 0 or len(set(ids.values())) < len(ids):
            named = ", ".join(f"{name}={number}" for name, number in ids.items())
            raise ValueError(f"special tokens: expected different numbers from 0 on, got {named}")


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The tokens a model knows, numbered from 0, the four specials among them.

    Attributes:
        tokens: All tokens; a token's number is its place. :meth:`build` puts the specials
            first, but they may stand anywhere.
        frequencies: How often each was seen when the vocabulary was built
            (specials: 0).

    >>> vocabulary = Vocabulary.build([("go", "."), ("go", "on", ".")])
    >>> vocabulary.tokens
    ('<pad>', '<unk>', '<bos>', '<eos>', '.', 'go', 'on')
    >>> vocabulary.encode(("go", "home", "."))
    [5, 1, 4]
    >>> vocabulary.decode([5, 4])
    ['go', '.']
    >>> vocabulary
    Vocabulary(7 tokens)
    """

    tokens: tuple[str, ...]
    frequencies: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that every token has one number and every special has one."""
        missing = [special for special in SPECIALS if special not in self._ids]
        if missing:
            raise ValueError(f"tokens: expected {SPECIALS} among them, got no {missing[0]}")
        if len(self.frequencies) != len(self.tokens):
            raise ValueError(
                f"frequencies: expected one for each of {len(self.tokens)} tokens, "
                f"got {len(self.frequencies)}"
            )
        if len(self._ids) != len(self.tokens):
            twice = next(token for token, count in Counter(self.tokens).items() if count > 1)
            raise ValueError(f"tokens: expected every token once, got {twice!r} more than once")

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, min_frequency: int = 1) -> "Vocabulary":
        """Number the tokens by falling frequency, ties in alphabetical order.

        Args:
            sentences: Sentences as tokens.
            min_frequency: Rarer tokens are left out: they will be unknown words.
        """
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(_checked(sentence))
        return cls.from_counts(counts, min_frequency=min_frequency)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], *, min_frequency: int = 1) -> "Vocabulary":
        """Number the tokens as :meth:`build` does, where they have been counted already.

        >>> Vocabulary.from_counts({"go": 1, ".": 2}).tokens[4:]
        ('.', 'go')
        """
        if min_frequency < 1:
            raise ValueError(f"min_frequency: expected 1 or more, got {min_frequency}")
        words = counts.keys() - set(SPECIALS)
        kept = [(word, counts[word]) for word in words if counts[word] >= min_frequency]
        kept.sort(key=lambda item: (-item[1], item[0]))
        return cls(
            SPECIALS + tuple(token for token, _ in kept),
            (0,) * len(SPECIALS) + tuple(count for _, count in kept),
        )

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @property
    def unk(self) -> int:
        """The number of ``<unk>``, which every unknown word gets."""
        return self._ids["<unk>"]

    @cached_property
    def special_ids(self) -> SpecialIds:
        """The numbers of ``<pad>``, ``<bos>`` and ``<eos>``."""
        return SpecialIds(pad=self._ids["<pad>"], bos=self._ids["<bos>"], eos=self._ids["<eos>"])

    def words(self) -> list[int]:
        """Return the numbers of all tokens that are not special."""
        return [number for number, token in enumerate(self.tokens) if token not in SPECIALS]

    def __len__(self) -> int:
        """Return the number of tokens, specials included."""
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        """Tell whether the token has a number of its own."""
        return token in self._ids

    def __repr__(self) -> str:
        """Return a line rather than all the words."""
        return f"Vocabulary({len(self)} tokens)"

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the tokens' numbers; an unknown token gets that of ``<unk>``."""
        ids = self._ids
        return [ids.get(token, self.unk) for token in _checked(tokens)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens with these numbers."""
        return [self._token(int(number)) for number in ids]

    def _token(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(f"ids: expected numbers from 0 to {len(self) - 1}, got {number}")
        return self.tokens[number]

    def frequency(self, token: str) -> int:
        """Return how often the token was seen; 0 if it has no number."""
        number = self._ids.get(token)
        return 0 if number is None else self.frequencies[number]

    def unknown(self, sentences: Iterable[Sequence[str]]) -> Counter[str]:
        """Return the tokens that have no number, and how often each occurs.

        >>> Vocabulary.build([("go", ".")]).unknown([("go", "home", "!"), ("home",)])
        Counter({'home': 2, '!': 1})
        """
        return Counter(
            token for sentence in sentences for token in _checked(sentence) if token not in self
        )

    def to_json(self) -> str:
        """Return the vocabulary as text, for :meth:`from_json`."""
        words = list(zip(self.tokens, self.frequencies, strict=True))
        usual = self.tokens[: len(SPECIALS)] == SPECIALS
        content = (
            {"format": _FORMAT, "words": words[len(SPECIALS) :]}
            if usual
            else {"format": _FORMAT_WITH_SPECIALS, "words": words}
        )
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Vocabulary":
        """Read what :meth:`to_json` wrote.

        >>> vocabulary = Vocabulary.build([("go", ".")])
        >>> Vocabulary.from_json(vocabulary.to_json()) == vocabulary
        True
        """
        try:
            content = json.loads(text)
            found = content["format"]
            words = [(str(token), int(count)) for token, count in content["words"]]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"text: expected a vocabulary in JSON, got {text[:40]!r}") from error
        if found == _FORMAT:
            words = [(special, 0) for special in SPECIALS] + words
        elif found != _FORMAT_WITH_SPECIALS:
            raise ValueError(f"format: expected {_FORMAT!r}, got {found!r}")
        return cls(tuple(token for token, _ in words), tuple(count for _, count in words))


def _checked(sentence: Sequence[str]) -> Sequence[str]:
    """Refuse a string: it is a sequence too, and its letters would pass for tokens."""
    if isinstance(sentence, str):
        raise TypeError(f"sentence: expected a sequence of tokens, got the string {sentence!r}")
    return sentence
