"""The header of a prepared corpus: what the files beside it hold, checked before they are read."""

import json
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from attention_book.text import CorpusError

_FORMAT = "attention_book prepared corpus 1"
#: The name of the file that holds it.
HEADER = "header.json"
_LARGEST = 2**62


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a prepared corpus says of itself.

    Attributes:
        digest: Made of all that the numbers follow from.
        rows: How many pairs there are.
        num_sources: How many numbers all sources have together, each ``<eos>`` included.
        num_targets: Likewise.
        source_vocabulary: How many tokens the sources know.
        target_vocabulary: Likewise.
        source_pad: The number that fills a batch up.
        target_pad: Likewise.
        target_bos: The number that begins a sentence.
        too_long: How many pairs were left out for their length.
        empty: How many pairs were left out because no token was left on a side.
        skipped: How many lines were left out that are no pair of sentences.

    >>> from attention_book.runs.corpora.header import Header
    >>> header = Header(digest="a", rows=1, num_sources=2, num_targets=2,
    ...                 source_vocabulary=9, target_vocabulary=9)
    >>> Header.from_json(header.to_json()) == header
    True
    """

    digest: str
    rows: int
    num_sources: int
    num_targets: int
    source_vocabulary: int
    target_vocabulary: int
    source_pad: int = 0
    target_pad: int = 0
    target_bos: int = 2
    too_long: int = 0
    empty: int = 0
    skipped: int = 0

    def to_json(self) -> str:
        """Return the header as text, for :meth:`from_json`."""
        return json.dumps({"format": _FORMAT, "byte_order": sys.byteorder, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> "Header":
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: if it is something else, or says what cannot be.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError("expected a header in JSON, got something else") from error
        about = content if isinstance(content, dict) else {}
        expected = {"format": _FORMAT, "byte_order": sys.byteorder}
        for name, wanted in expected.items():
            if about.get(name) != wanted:
                raise ValueError(f"{name}: expected {wanted!r}, got {_short(about.get(name))}")
        for field in fields(cls):
            value = about.get(field.name)
            fits = type(value) is str if field.name == "digest" else _is_size(value)
            if not fits:
                raise ValueError(f"{field.name}: expected {field.type}, got {_short(value)}")
        header = cls(**{field.name: about[field.name] for field in fields(cls)})
        header._check()
        return header

    def _check(self) -> None:
        """Refuse numbers that contradict each other."""
        if not 1 <= self.rows <= min(self.num_sources, self.num_targets) // 2:
            raise ValueError(
                f"rows: expected one or more of two numbers or more a side, got {self.rows}"
            )
        if self.source_pad >= self.source_vocabulary:
            raise ValueError(f"source_pad: expected a token, got {self.source_pad}")
        if max(self.target_pad, self.target_bos) >= self.target_vocabulary:
            raise ValueError(
                f"target_pad, target_bos: expected tokens, got {self.target_pad}, {self.target_bos}"
            )

    @classmethod
    def read(cls, folder: Path) -> "Header":
        """Read the header of a folder.

        Raises:
            CorpusError: if it has none, or one that says what cannot be.
        """
        path = folder / HEADER
        try:
            with path.open("rb") as file:
                return cls.from_json(file.read(1 << 16))
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise CorpusError(f"{path}: {error}") from error


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _short(value: object) -> str:
    return repr(value)[:60]
