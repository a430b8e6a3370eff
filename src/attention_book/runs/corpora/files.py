"""Reading one's own files line by line, packed or not: what is no pair of sentences is named."""

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from attention_book.text import CorpusError, Problem
from attention_book.text.pairs import columns_of, text_of

Line = tuple[str, str]
#: Is told "path:line: reason" of a line that is left out; or raises.
Complain = Callable[[str], None]

# A longer line is no sentence, but a file of something else; it is not read into memory.
_LONGEST = 1 << 20
# So many bad lines are named.
_NAMED = 5
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8


@dataclass
class Skipped:
    """The lines that were left out because they are no pair of sentences.

    Attributes:
        keep: How many reasons are kept.
        count: How many lines were left out.
        reasons: The first of them, "path:line: reason".

    >>> skipped = Skipped(keep=1)
    >>> skipped.add("a.tsv:3: expected source TAB target, got no tab")
    >>> skipped.add("a.tsv:7: expected source TAB target, got no tab")
    >>> skipped.count, skipped.reasons
    (2, ['a.tsv:3: expected source TAB target, got no tab'])
    """

    keep: int = 100
    count: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, reason: str) -> None:
        """Count a line."""
        self.count += 1
        if len(self.reasons) < self.keep:
            self.reasons.append(reason)


def refuse(reason: str) -> None:
    """Stop at a line that is no pair of sentences.

    Raises:
        CorpusError: always.
    """
    raise CorpusError(reason)


class BadLines(CorpusError):
    """Lines of somebody's own files that are no pairs of sentences: the first of them, and all.

    Attributes:
        paths: The files.
        source: The language to translate from.
        target: The other.
        found: The lines.
        named: What is said of the first of them.

    >>> found = Skipped()
    >>> for line in (3, 7):
    ...     found.add(f"a.tsv:{line}: expected source TAB target, got no tab")
    >>> print(BadLines(found, ("a.tsv",), "it", "en"))  # doctest: +NORMALIZE_WHITESPACE
    a.tsv:3: expected source TAB target, got no tab; 2 lines are no pairs of sentences, the others:
    a.tsv:7: expected source TAB target, got no tab
    """

    def __init__(self, found: Skipped, paths: tuple[str, ...], source: str, target: str) -> None:
        """Name the first lines, and say how many there are."""
        self.named = tuple(found.reasons[:_NAMED])
        first, *others = self.named
        text = first
        if others:
            more = "; …" if found.count > _NAMED else ""
            text += (
                f"; {found.count} lines are no pairs of sentences, the others: "
                f"{'; '.join(others)}{more}"
            )
        super().__init__(text)
        self.paths, self.source, self.target, self.found = paths, source, target, found


def read_files(paths: tuple[str, ...], complain: Complain) -> Iterator[Line]:
    """Read one file of lines "source TAB target", or two files with a sentence a line each.

    Raises:
        CorpusError: if a file cannot be read, or two have different numbers of lines.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("Go.\\tVa !\\nno tab here\\n", encoding="utf-8")
    ...     skipped = Skipped()
    ...     print(list(read_files((str(path),), skipped.add)), skipped.count)
    [('Go.', 'Va !')] 1
    """
    if len(paths) == 1:
        return columns(_lines(paths[0]), paths[0], complain)
    return _side_by_side(paths[0], paths[1], complain)


def columns(lines: Iterable[bytes], path: str, complain: Complain) -> Iterator[Line]:
    """Return both sides of lines "source TAB target"; ``path`` is for errors.

    >>> next(columns([b"Go.\\tVa !\\n"], "pairs.tsv", refuse))
    ('Go.', 'Va !')
    """
    for number, line in enumerate(lines, start=1):
        found = _too_long(line, number) or columns_of(line, number)
        if isinstance(found, Problem):
            complain(f"{path}:{number}: {found.reason}")
            continue
        source, target = (side.strip() for side in found)
        if source and target:
            yield source, target
        else:
            empty = "target" if source else "source"
            complain(f"{path}:{number}: expected two sentences, got an empty {empty}")


def _side_by_side(left: str, right: str, complain: Complain) -> Iterator[Line]:
    """Return the lines of two files; one that is bad on either side is left out on both."""
    both = itertools.zip_longest(_lines(left), _lines(right))
    for number, lines in enumerate(both, start=1):
        if None in lines:
            short, long = (left, right) if lines[0] is None else (right, left)
            more = number + sum(1 for _ in both)
            raise CorpusError(
                f"{short}: expected as many lines as in {long}, {more}, got {number - 1}"
            )
        source, target = (_sentence(line, number) for line in lines)
        if isinstance(source, Problem):
            complain(f"{left}:{number}: {source.reason}")
        elif isinstance(target, Problem):
            complain(f"{right}:{number}: {target.reason}")
        else:
            yield source, target


def _sentence(line: bytes, number: int) -> str | Problem:
    found = _too_long(line, number) or text_of(line, number)
    if isinstance(found, Problem):
        return found
    # Some sentences have a tab where they should have a blank.
    return found.replace("\t", " ").strip() or Problem(number, "expected a sentence, got none")


def _too_long(line: bytes, number: int) -> Problem | None:
    if len(line) <= _LONGEST:
        return None
    return Problem(number, f"expected a line of at most {_LONGEST} bytes, got more")


def _lines(path: str) -> Iterator[bytes]:
    """Return the lines of a file; of one that is far too long, the beginning."""
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            line = file.readline(_LONGEST + 1).removeprefix(_MARK)
            while line:
                yield line
                while len(line) > _LONGEST and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST + 1)
                line = file.readline(_LONGEST + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read: {reason}") from error
