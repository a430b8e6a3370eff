"""What people see of tokens: text in whole characters, cut ones marked, blanks that can be seen.

A tokenizer spells its tokens for itself: byte-level BPE (GPT-2, Llama 3, Qwen) writes every byte
as one printable letter, ``Ġ`` for the blank and ``å ľ ¨`` for 在; SentencePiece writes ``▁`` for
the blank and ``<0xE4>`` for a byte. :func:`token_labels` reads them all back into text;
:func:`visible_label` draws a label where a blank at its edge or a line break would not be seen.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Literal, get_args

Spelling = Literal["text", "byte-level", "sentencepiece"]
Piece = bytes | str  # what a token adds to the bytes of a text; a string stands by itself

# Every byte as one printable character (Radford et al. 2019): the printable ones of Latin-1 as
# themselves, the others by the characters from 256 on.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
#: The byte of each letter in which byte-level BPE writes.
BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(256 + place): byte for place, byte in enumerate(_OTHERS)
}

_BLANK = "▁"
_BLOCKS = re.compile("[\u2580\u2582-\u259f]")  # beside these, ▁ is a drawing
_WORD_END = "</w>"
_ONE_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPELLED_OUT = re.compile(r"<([0-9A-F]{2}(?: [0-9A-F]{2})*)>")  # as SubwordTokenizer does
_SPECIAL = re.compile(r"<[!-;=?-~｜▁]+>|\[[A-Z_0-9]+\]")
_HALF = re.compile("[\ud800-\udfff]")
_OPENING = re.compile("Ġ|Ċ+$")  # what opens a token or is one: a blank, line breaks
_MOST_LOOSE = 3  # bytes of a character of which another is missing
_LENGTHS = ((0x80, 1), (0xC2, 0), (0xE0, 2), (0xF0, 3), (0xF5, 4))  # of a character, by its head


def token_labels(
    tokens: Iterable[str | bytes], *, spelling: Spelling | None = None, tokenizer: Any = None
) -> tuple[str, ...]:
    """Return what people see of tokens: as many labels, which joined are the text.

    A blank is a blank, so that " the" and "the" differ. A character that is cut into several
    tokens stands in each, with a mark: ``在(1/2)``, ``在(2/2)`` are its parts. Bytes that belong
    to no character are hexadecimal, ``<E6 AC>``. The ``##`` of WordPiece, which says that a token
    goes on with a word, stays.

    Without ``spelling`` and ``tokenizer`` the whole sequence decides: it is read as byte-level
    if all of it is letters of that alphabet, some of them can stand for nothing else, and their
    bytes are text without a control character; as SentencePiece if tokens begin with ``▁`` or
    are written ``<0xE4>``. Whatever else is text already, and stays.

    Args:
        tokens: In the order of the text. Bytes are taken as they are.
        spelling: How they are spelled: "text" (as people read it), "byte-level" or
            "sentencepiece".
        tokenizer: Theirs, of transformers or of tokenizers: it knows.

    Raises:
        ValueError: if there is no such spelling.

    >>> token_labels(["the", "Ġcat", "Ġthe", "å", "ľ¨"])
    ('the', ' cat', ' the', '在(1/2)', '在(2/2)')
    >>> token_labels(["▁the", "▁c", "at", "<0xE4>", "<0xBD>", "<0xA0>"])
    (' the', ' c', 'at', '你(1/3)', '你(2/3)', '你(3/3)')
    >>> token_labels(["Ġorġ", "jiekol"])  # two words of Maltese
    ('Ġorġ', 'jiekol')
    """
    if spelling is not None and spelling not in get_args(Spelling):
        raise ValueError(f"spelling: expected one of {get_args(Spelling)}, got {spelling!r}")
    names = [_HALF.sub("\ufffd", each) if isinstance(each, str) else each for each in tokens]
    added: Collection[str] = ()
    if tokenizer is not None:
        added = _added_to(tokenizer)
        spelling = spelling or _spelling_of(tokenizer)
    if spelling is None:
        spelling = _guessed(names)
    if spelling == "text":
        return tuple(_labels(names))
    read = _from_letters if spelling == "byte-level" else _from_blanks
    return tuple(_labels(_piece(name, read, added) for name in names))


def visible_label(label: str) -> str:
    """Return a label as it is drawn: whatever else would not be seen, or would turn the line.

    A blank at an edge is ␣, a line break ↵, a tab ⇥; other control characters are the pictures
    that Unicode has of them. Other blanks at an edge, and what has neither width nor ink, are
    written by their numbers: ``<U+200B>``. A mark that belongs to a letter before it stands on ◌.

    >>> visible_label(" the"), visible_label("a\\n"), visible_label("\\u200b")
    ('␣the', 'a↵', '<U+200B>')
    """
    label = _HALF.sub("\ufffd", label)
    start, end = len(label) - len(label.lstrip()), len(label.rstrip())
    drawn = "".join(
        _drawn(letter, at, len(label), edge=at < start or at >= end)
        for at, letter in enumerate(label)
    )
    combines = drawn[:1] and unicodedata.category(drawn[0]).startswith("M")
    return f"◌{drawn}" if combines else drawn


def _drawn(letter: str, at: int, count: int, *, edge: bool) -> str:
    if letter in (marks := {"\n": "↵", "\t": "⇥", " ": "␣" if edge else " "}):
        return marks[letter]
    kind, number = unicodedata.category(letter), ord(letter)
    if kind == "Cc":
        return chr(0x2400 + number) if number < 0x20 else "␡" if number == 0x7F else _code(number)
    inside = 0 < at < count - 1
    if letter in "\u200c\u200d":  # they shape the letters beside them
        return letter if inside else _code(number)
    # What changes the look of the character before it: variation selectors, and tags of flags.
    if 0xFE00 <= number <= 0xFE0F or 0xE0020 <= number <= 0xE01EF:
        return letter if at else _code(number)
    unseen = kind in ("Zl", "Zp") or (kind == "Cf" and letter not in _ARABIC_SIGNS)
    if unseen or (kind == "Zs" and edge) or letter in _FILLERS:
        return _code(number)
    return letter


_ARABIC_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
_FILLERS = "\u034f\u115f\u1160\u3164\uffa0"


def _code(number: int) -> str:
    return f"<U+{number:04X}>"


def right_to_left(labels: Iterable[str]) -> bool:
    """Whether a text runs from right to left: whether its first letter does.

    Special tokens such as ``<s>`` and ``[CLS]`` have no letters.

    >>> right_to_left(["[CLS]", "هذا", " كتاب"]), right_to_left(["a", "ספר"])
    (True, False)
    """
    for label in labels:
        if _SPECIAL.fullmatch(label):
            continue
        for letter in label:
            if (direction := unicodedata.bidirectional(letter)) in ("L", "R", "AL"):
                return direction != "L"
    return False


def _piece(name: Piece, read: Callable[[str], Piece], added: Collection[str]) -> Piece:
    """Return what a token adds to the bytes of a text; special ones are no part of it."""
    if isinstance(name, bytes) or name in added:
        return name
    if len(name) > len(_WORD_END) and name.endswith(_WORD_END):  # a word ends here, as in CLIP
        found = read(name.removesuffix(_WORD_END))
        return found + (b" " if isinstance(found, bytes) else " ")  # type: ignore[operator]
    return read(name)


def _from_letters(name: str) -> Piece:
    """Return the bytes of a byte-level token; a token that was added has other letters."""
    if _SPECIAL.fullmatch(name) or not all(letter in BYTE_OF for letter in name):
        return name
    return bytes(BYTE_OF[letter] for letter in name)


def _from_blanks(name: str) -> Piece:
    """Return the bytes of a token of SentencePiece, or of SubwordTokenizer."""
    if found := _ONE_BYTE.fullmatch(name) or _SPELLED_OUT.fullmatch(name):
        return bytes.fromhex(found[1])
    return name if _SPECIAL.fullmatch(name) else name.replace(_BLANK, " ").encode()


def _labels(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield the label of each piece: bytes that stand side by side are read as one text."""
    for is_text, group in groupby(pieces, key=lambda piece: isinstance(piece, str)):
        together = list(group)
        if is_text:
            yield from (piece for piece in together if isinstance(piece, str))
        else:
            yield from _labels_of_bytes([piece for piece in together if isinstance(piece, bytes)])


def _labels_of_bytes(run: Sequence[bytes]) -> list[str]:
    """Return the labels of pieces that are one text together."""
    text, found = b"".join(run), [list[Piece]() for _ in run]
    owners = [place for place, piece in enumerate(run) for _ in piece]
    for start, end, letter in _characters(text):
        parts = sorted(set(owners[start:end]))
        for number, place in enumerate(parts, start=1):
            mark = "" if len(parts) == 1 else f"({number}/{len(parts)})"
            found[place].append(text[start:end] if letter is None else letter + mark)
    return ["".join(_written(pieces)) for pieces in found]


def _written(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield letters, and in hexadecimal the bytes that belong to none."""
    for is_loose, group in groupby(pieces, key=lambda piece: isinstance(piece, bytes)):
        together = list(group)
        if is_loose:
            loose = b"".join(piece for piece in together if isinstance(piece, bytes))
            yield f"<{loose.hex(' ').upper()}>"
        else:
            yield "".join(piece for piece in together if isinstance(piece, str))


def _characters(text: bytes) -> Iterator[tuple[int, int, str | None]]:
    """Yield each character of UTF-8 with its place, and None for a byte that is in none."""
    at = 0
    while at < len(text):
        count = next((length for below, length in _LENGTHS if text[at] < below), 0)
        try:
            letter = text[at : at + count].decode()
        except UnicodeDecodeError:
            letter = ""
        end = at + (count if letter else 1)
        yield at, end, letter or None
        at = end


# --- how tokens are spelled ---------------------------------------------------------------------


def _spelling_of(tokenizer: Any) -> Spelling | None:
    """Return how a tokenizer spells its tokens; None: it does not tell."""
    inner = getattr(tokenizer, "backend_tokenizer", tokenizer)  # of transformers
    told = [_told(getattr(inner, part, None)) for part in ("decoder", "pre_tokenizer")]
    if not hasattr(inner, "id_to_token"):
        return None
    for part in filter(None, told):
        if '"ByteLevel"' in part:
            return "byte-level"
        if '"Metaspace"' in part or '"ByteFallback"' in part or _BLANK in part:
            return "sentencepiece"
    return "text"


def _told(part: Any) -> str:
    """Return what a part of a tokenizer says of itself."""
    if part is None:
        return ""
    try:
        return json.dumps(json.loads(part.__getstate__()), ensure_ascii=False)
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        return repr(part)


def _added_to(tokenizer: Any) -> Collection[str]:
    """Return the tokens that were added to a vocabulary: they are text, whatever the others are."""
    inner = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(inner, "get_added_tokens_decoder"):
        return {str(each.content) for each in inner.get_added_tokens_decoder().values()}
    return set(getattr(inner, "added_tokens_encoder", ()))


def _guessed(names: Sequence[Piece]) -> Spelling:
    """Return how a whole sequence is spelled."""
    words = [each for each in names if isinstance(each, str) and not _SPECIAL.fullmatch(each)]
    if _is_byte_level(words, names):
        return "byte-level"
    starts = any(each.startswith(_BLANK) for each in words)
    drawing = any(_BLOCKS.search(each) for each in words)
    ends = any(len(each) > len(_WORD_END) and each.endswith(_WORD_END) for each in words)
    one_byte = any(isinstance(each, str) and _ONE_BYTE.fullmatch(each) for each in names)
    if (starts and not drawing) or ends or one_byte or _is_spelled_out(names):
        return "sentencepiece"
    return "text"


def _is_spelled_out(names: Sequence[Piece]) -> bool:
    """Whether there are tokens such as ``<E4 BD>``, and all are parts of characters."""
    found = [isinstance(name, str) and _SPELLED_OUT.fullmatch(name) for name in names]
    pieces = [bytes.fromhex(each[1]) if each else "" for each in found]
    runs = [b"".join(run) for run in _runs(pieces)]
    letters = [letter for run in runs for _, _, letter in _characters(run)]
    return bool(letters) and all(letter is not None and not letter.isascii() for letter in letters)


def _is_byte_level(words: Sequence[str], names: Sequence[Piece]) -> bool:
    """Whether strings can be nothing but byte-level tokens.

    All must be written in its letters, and read as text: so French or German never is, whose
    letters would be bytes of no character, and Maltese with a small ġ is not, which would be a
    control character. Something must speak for it: a blank at the beginning of a token, a line
    break that is one, or a character of three or four bytes; then the text may begin and end
    within a character. Characters of two bytes do so only where all is whole: Ä before » would
    be one. A tab or a return alone does not: they are letters of Esperanto and Czech.
    """
    if not words or not all(letter in BYTE_OF for word in words for letter in word):
        return False
    if any(re.search("[A-ZÀ-Þ]Ġ", word) for word in words):
        return False  # no blank stands behind a letter: it is a Maltese capital
    pieces = [_from_letters(name) if isinstance(name, str) else name for name in names]
    strong, weak, cut = sum(bool(_OPENING.match(word)) for word in words), 0, False
    for run in _runs(pieces):
        found = list(_characters(b"".join(run)))
        letters = [letter or "" for _, _, letter in found]
        if any(
            letter and unicodedata.category(letter) == "Cc"
            for letter in letters
            if letter not in "\n\t\r"
        ):
            return False
        first = next((at for at, letter in enumerate(letters) if letter), 0)
        last = next((at for at, letter in enumerate(reversed(letters)) if letter), 0)
        if first > _MOST_LOOSE or last > _MOST_LOOSE or "" in letters[first : len(letters) - last]:
            return False
        edges = list(accumulate(map(len, run)))
        cut = (
            cut
            or "" in letters
            or any(start < edge < end for start, end, _ in found for edge in edges)
        )
        strong += sum(end - start > 2 for start, end, _ in found)
        weak += sum(end - start == 2 for start, end, _ in found)
    return strong > 0 or (weak > 0 and not cut)


def _runs(pieces: Iterable[Piece]) -> Iterator[list[bytes]]:
    """Yield the bytes that stand side by side."""
    for together, run in groupby(pieces, key=lambda piece: isinstance(piece, bytes)):
        if together:
            yield [piece for piece in run if isinstance(piece, bytes)]


__all__ = ["BYTE_OF", "Spelling", "right_to_left", "token_labels", "visible_label"]
