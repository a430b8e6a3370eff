"""What can be exported: a trained model with words, or one with subwords, an open vocabulary."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from attention_book.text import SPECIALS, SentencePair, SubwordTokenizer, Vocabulary


@runtime_checkable
class Described(Protocol):
    """What a page says of a model; a recipe is described like this, and a run."""

    @property
    def name(self) -> str:
        """Small letters, digits and hyphens; it names the files."""
        ...

    @property
    def digest(self) -> str:
        """A short number made of all settings."""
        ...

    @property
    def model(self) -> str:
        """Its kind."""
        ...

    @property
    def source(self) -> str:
        """The language to translate from."""
        ...

    @property
    def target(self) -> str:
        """The language to translate to."""
        ...

    def splits(self) -> Mapping[str, tuple[SentencePair, ...]]:
        """Return sentences of its corpus by the names of the book's splits."""
        ...


@runtime_checkable
class Exported(Protocol):
    """A trained model that a page can load, with what it takes to use it."""

    @property
    def model(self) -> Any:
        """In evaluation mode."""
        ...

    @property
    def source_vocabulary(self) -> Vocabulary:
        """Numbers the source tokens."""
        ...

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Names the model's words."""
        ...

    @property
    def recipe(self) -> Described:
        """What a page says of it."""
        ...


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the sentences are from that a model was trained on, as their license asks to be told.

    Attributes:
        name: Who collected them.
        address: Where.
        license: Its name.
        terms: Where its text stands.
        num_pairs: On how many the model was trained.
        longest: How many words the longest of their sources has.
    """

    name: str
    address: str
    license: str
    terms: str
    num_pairs: int
    longest: int


@dataclass(frozen=True, kw_only=True)
class Subwords:
    """How a text becomes subwords.

    Attributes:
        tokenizer: Tokenizer of the language to translate from.
        lowercase: Whether it is read in lower case.
    """

    tokenizer: SubwordTokenizer
    lowercase: bool = False

    def for_a_page(self) -> dict[str, Any]:
        """Return what the page's engine has to know beside the pieces themselves.

        Pieces are joined two by two; ``merges`` names them by their numbers in the vocabulary,
        left, right, left, right, and so on.

        >>> tokenizer = SubwordTokenizer.train(["low lower lowest"] * 3, num_tokens=258)
        >>> Subwords(tokenizer=tokenizer).for_a_page()
        {'lowercase': False, 'merges': [79, 82, 260, 90]}
        """
        model = json.loads(self.tokenizer.to_json())["tokenizer"]["model"]
        # Older versions of the library write the two with a blank between them.
        pairs = [each.split(" ") if isinstance(each, str) else each for each in model["merges"]]
        shift = len(SPECIALS)
        merges = [model["vocab"][piece] + shift for pair in pairs for piece in pair]
        return {"lowercase": self.lowercase, "merges": merges}


@runtime_checkable
class OpenVocabulary(Exported, Protocol):
    """A trained model that reads subwords."""

    @property
    def subwords(self) -> Subwords:
        """How a text becomes subwords."""
        ...

    @property
    def origin(self) -> Origin | None:
        """Where its sentences are from; None: they are somebody's own."""
        ...


def learned_from(found: Exported) -> dict[str, Any] | None:
    """Return where a model's sentences are from, as a page reads it."""
    origin = found.origin if isinstance(found, OpenVocabulary) else None
    return None if origin is None else asdict(origin)


def sentence(found: Exported, tokens: Sequence[str]) -> str:
    """Return a source sentence as a page keeps it: words with blanks between them, or a text."""
    if isinstance(found, OpenVocabulary):
        return found.subwords.tokenizer.detokenize(tokens)
    return " ".join(tokens)


def copied(source: Sequence[str], target: Sequence[str]) -> frozenset[tuple[int, int]]:
    """Return links between subwords that stand once in both sentences: names and the like.

    It is what is known of an alignment where nobody has drawn one.

    >>> sorted(copied(("▁Tom", "▁sl", "ept", "."), ("▁Tom", "▁dor", "mait", ".")))
    [(0, 0)]
    """
    once = {token for token in {*source} & {*target} if token.lstrip("▁").isalpha()}
    once = {token for token in once if source.count(token) == target.count(token) == 1}
    once = {token for token in once if len(token.lstrip("▁")) > 1}
    return frozenset((source.index(token), target.index(token)) for token in once)


__all__ = (
    "Described",
    "Exported",
    "OpenVocabulary",
    "Origin",
    "Subwords",
    "copied",
    "learned_from",
    "sentence",
)
