"""Subword tokenization: byte pair encoding (BPE, Sennrich et al. 2016) of any text."""

import json
import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from attention_book.foundations.environment import from_extra
from attention_book.foundations.labels import BYTE_OF
from attention_book.text.tokens import without_halves

_FORMAT = "attention_book subwords 1"
_NUM_BYTES = 256

_BLANK = "▁"
_SPELLED_OUT = re.compile(r"<([0-9A-F]{2}(?: [0-9A-F]{2})*)>")


class SubwordTokenizer:
    """Byte pair encoding (Sennrich et al. 2016) over bytes: any text, and back, unchanged.

    Training starts from the 256 bytes and again and again joins the pair of
    pieces that stands side by side most often, until there are ``num_tokens``
    pieces. Frequent words become one piece, rare ones several, and there is no
    unknown word in any language.

    Pieces are written to be read: a blank as ``▁``, and bytes that are no whole
    characters in hexadecimal, ``<E6 AC>``. Half a character (a surrogate) has no bytes: it is
    read as U+FFFD.

    >>> tokenizer = SubwordTokenizer.train(["low lower lowest"] * 3, num_tokens=259)
    >>> tokenizer.tokenize("lower low 低")
    ('low', 'e', 'r', '▁low', '▁', '<E4>', '<BD>', '<8E>')
    >>> tokenizer.detokenize(tokenizer.tokenize("lower low 低"))
    'lower low 低'
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def train(
        cls, texts: Iterable[str], *, num_tokens: int, min_frequency: int = 2
    ) -> "SubwordTokenizer":
        """Learn the pieces from texts.

        Args:
            texts: Sentences, of one language or of several.
            num_tokens: How many pieces at most, the 256 bytes among them.
            min_frequency: Pairs that are rarer are not joined.
        """
        if num_tokens < _NUM_BYTES:
            raise ValueError(f"num_tokens: expected {_NUM_BYTES} or more, got {num_tokens}")
        if isinstance(texts, str):
            raise TypeError(f"texts: expected several strings, got the string {texts[:40]!r}")
        lines = list(map(without_halves, texts))
        if not any(lines):
            raise ValueError("texts: expected at least one that is not empty, got none")
        library = _library()
        tokenizer = _of_bytes(library.models.BPE())
        trainer = library.trainers.BpeTrainer(
            vocab_size=num_tokens,
            min_frequency=min_frequency,
            initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(lines, trainer)
        return cls(tokenizer)

    @property
    def tokens(self) -> tuple[str, ...]:
        """All pieces, the bytes first, then in the order in which they were joined."""
        numbers = self._tokenizer.get_vocab()
        return tuple(_readable(piece) for piece in sorted(numbers, key=numbers.__getitem__))

    def tokenize(self, text: str) -> tuple[str, ...]:
        """Split a text into pieces."""
        return tuple(
            _readable(piece) for piece in self._tokenizer.encode(without_halves(text)).tokens
        )

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return for many texts the numbers of their pieces, which are their places in ``tokens``.

        It is the fast way: all texts at once, on all processors.

        >>> tokenizer = SubwordTokenizer.train(["low lower lowest"] * 3, num_tokens=259)
        >>> [[tokenizer.tokens[number] for number in text] for text in
        ...  tokenizer.encode_batch(["low", "lower"])]
        [['low'], ['low', 'e', 'r']]
        """
        whole = list(map(without_halves, texts))
        return [found.ids for found in self._tokenizer.encode_batch_fast(whole)]

    def detokenize(self, tokens: Sequence[str]) -> str:
        """Join pieces; what is no whole character (a model may say so) becomes U+FFFD."""
        return b"".join(map(_bytes, tokens)).decode("utf-8", errors="replace")

    def to_json(self) -> str:
        """Return the pieces as text, for :meth:`from_json`."""
        content = {"format": _FORMAT, "tokenizer": json.loads(self._tokenizer.to_str())}
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "SubwordTokenizer":
        """Read what :meth:`to_json` wrote.

        Of the text only the pieces and their order are taken, and checked: a file can ask the
        library for nothing else.
        """
        library = _library()
        try:
            content = json.loads(text)
            found = content["format"]
            pieces, joined = _checked(content["tokenizer"]["model"])
            tokenizer = _of_bytes(library.models.BPE(pieces, joined))
        except Exception as error:  # the library raises Exception itself
            raise ValueError(f"text: expected subwords in JSON, got {text[:40]!r}") from error
        if found != _FORMAT:
            raise ValueError(f"format: expected {_FORMAT!r}, got {found!r}")
        return cls(tokenizer)


def _library() -> ModuleType:
    with from_extra("text", "tokenizers"):
        import tokenizers
    return tokenizers


def _of_bytes(model: Any) -> Any:
    """Return a tokenizer of the library's that spells every text in bytes, and joins them."""
    library = _library()
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    return tokenizer


def _checked(model: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the numbers of all pieces, and which two were joined, in this order."""
    pieces: dict[str, int] = dict(model["vocab"])
    # Older versions of the library write the two with a blank between them.
    pairs = [each.split(" ") if isinstance(each, str) else each for each in model["merges"]]
    joined = [(str(left), str(right)) for left, right in pairs]
    if sorted(pieces.values()) != list(range(len(pieces))) or not BYTE_OF.keys() <= pieces.keys():
        raise ValueError("expected every byte, and numbers from 0 on")
    if not all({left, right, left + right} <= pieces.keys() for left, right in joined):
        raise ValueError("expected pieces that are joined from pieces")
    for piece in pieces:
        _readable(piece)
    return pieces, joined


def _readable(piece: str) -> str:
    """Write a piece of the library's, a letter for each byte, as its reader would."""
    raw = bytes(BYTE_OF[letter] for letter in piece)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    # Letters and marks are never joined, so no piece reads <E6>, or <unk>, by itself.
    if not text or _BLANK in text:
        return f"<{raw.hex(' ').upper()}>"
    return text.replace(" ", _BLANK)


def _bytes(token: str) -> bytes:
    spelled_out = _SPELLED_OUT.fullmatch(token)
    if spelled_out:
        return bytes.fromhex(spelled_out[1])
    return token.replace(_BLANK, " ").encode("utf-8")
