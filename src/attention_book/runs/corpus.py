"""Reading any corpus line by line as it is written: those with a name, and one's own files."""

import gzip
import itertools
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from attention_book.foundations.checks import check_probability
from attention_book.foundations.languages import short_code
from attention_book.runs.settings import DataSettings, one_of
from attention_book.text import CorpusError, GrammarCorpus, Problem, grammar_corpus, grammar_text
from attention_book.text.corpora import DOWNLOADED, open_corpus, phrase_lines
from attention_book.text.pairs import columns_of, text_of

Line = tuple[str, str]
#: Is told "path:line: reason" of a line that is left out; or raises.
Complain = Callable[[str], None]

#: A longer line is no sentence, but a file of something else; it is not read into memory.
LONGEST = 1 << 20
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
    """Stop at a line that is no pair of sentences."""
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
        return columns(raw_lines(paths[0]), paths[0], complain)
    return _side_by_side(paths[0], paths[1], complain)


def columns(lines: Iterable[bytes], path: str, complain: Complain) -> Iterator[Line]:
    """Return both sides of lines "source TAB target"; ``path`` is for errors.

    >>> next(columns([b"Go.\\tVa !\\n"], "pairs.tsv", refuse))
    ('Go.', 'Va !')
    """
    for number, line in enumerate(lines, start=1):
        found = too_long(line, number) or columns_of(line, number)
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
    both = itertools.zip_longest(raw_lines(left), raw_lines(right))
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
    found = too_long(line, number) or text_of(line, number)
    if isinstance(found, Problem):
        return found
    # Some sentences have a tab where they should have a blank.
    return found.replace("\t", " ").strip() or Problem(number, "expected a sentence, got none")


def too_long(line: bytes, number: int) -> Problem | None:
    """Return what is wrong with a line that is longer than any sentence or document."""
    if len(line) <= LONGEST:
        return None
    return Problem(number, f"expected a line of at most {LONGEST} bytes, got more")


def raw_lines(path: str) -> Iterator[bytes]:
    """Return the lines of a file; of one that is far too long, the beginning."""
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            line = file.readline(LONGEST + 1).removeprefix(_MARK)
            while line:
                yield line
                while len(line) > LONGEST and not line.endswith(b"\n"):
                    line = file.readline(LONGEST + 1)
                line = file.readline(LONGEST + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read: {reason}") from error


#: A part of a corpus.
Split = Literal["train", "validation", "test"]
#: What a corpus is divided into.
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

_NO_LETTERS = re.compile(r"\W+")


def part_of(source: str, share: float) -> Split:
    """Return the part that a source sentence belongs to, whatever its translations.

    A hash of its letters and digits decides. So it is the same part in every run and on every
    machine, needs no look at the other sentences, and does not depend on capitals, blanks or
    punctuation: what differs from a training sentence by a comma is no test.

    Args:
        source: The sentence to translate.
        share: Share of the sentences that "validation" and "test" get, each.

    >>> [part_of(f"This is number {number}.", 0.25) for number in range(4)]
    ['train', 'test', 'train', 'train']
    >>> part_of("this is number 1", 0.25)
    'test'
    """
    check_probability("share", share)
    text = unicodedata.normalize("NFKC", source).casefold()
    key = (_NO_LETTERS.sub("", text) or text).encode("utf-8", errors="surrogatepass")
    place = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") / 2**64
    if place < share:
        return "validation"
    return "test" if place < 2 * share else "train"


_PARTS = {"train": "train", "validation": "val", "test": "test"}


def read_lines(
    settings: DataSettings, split: Split = "train", *, skipped: Skipped | None = None
) -> Iterator[Line]:
    """Read the sentence pairs of a corpus as they are written, one at a time.

    Args:
        settings: Which corpus, and which share of the sources is held out.
        split: Which part of it.
        skipped: Counts the lines that are left out, where the settings say so.

    Raises:
        ValueError: if there is no such split, or the corpus lacks one of the languages.
        CorpusError: at the first line that is no pair of sentences, "path:line: reason", if the
            settings say so, with the others of the file; and in any case if a file cannot be
            read, if two parallel files have different numbers of lines, or if nothing is found.

    >>> next(read_lines(DataSettings(corpus="phrasebook")))
    ('Go.', 'Va\\u202f!')
    """
    one_of("split", split, SPLITS)
    skipped = Skipped() if skipped is None else skipped
    complain = refuse if settings.on_problem == "raise" else skipped.add
    if settings.corpus is None:
        found, name = _all_or_none(settings, split, skipped), " and ".join(settings.train)
    else:
        found, name = _named(settings, split, skipped.add, complain), settings.corpus
    if split == "train":
        found = itertools.islice(found, settings.num_train)
    return _some(found, f"{name}: {split}", skipped)


def _all_or_none(settings: DataSettings, split: Split, skipped: Skipped) -> Iterator[Line]:
    """Return the pairs of one's own files; where bad lines are refused, after a look at all."""
    if settings.on_problem == "skip":
        yield from _own(settings, split, skipped.add)
        return
    bad = Skipped()
    for line in _own(settings, split, bad.add):
        if not bad.count:
            yield line
    if bad.count:
        paths = getattr(settings, split) or settings.train
        raise BadLines(bad, paths, settings.source, settings.target)


def _some(lines: Iterator[Line], name: str, skipped: Skipped) -> Iterator[Line]:
    """Return the lines, and complain in the end if there was none."""
    nothing = True
    for line in lines:
        nothing = False
        yield line
    if nothing:
        why = f" ({skipped.count} lines skipped; {skipped.reasons[0]})" if skipped.count else ""
        raise CorpusError(f"{name}: expected at least one pair of sentences, got none{why}")


def _named(
    settings: DataSettings, split: Split, skip: Complain, complain: Complain
) -> Iterator[Line]:
    """Return the pairs of a corpus with a name."""
    source, target, name = settings.source, settings.target, str(settings.corpus)
    if name == "grammar":
        return _grammar(settings, split)
    if name == "phrasebook":
        return _held_out(iter(phrase_lines(source, target)), settings, split)
    languages = DOWNLOADED[name]
    wanted = (short_code(source), short_code(target))
    if wanted not in (languages, languages[::-1]):
        expected = " and ".join(languages)
        raise ValueError(
            f"source, target: expected {expected} for {name}, got {source!r} and {target!r}"
        )
    has_splits = name.startswith("multi30k")
    lines = _downloaded(name, _PARTS[split] if has_splits else "train", skip, complain)
    if wanted != languages:
        lines = ((right, left) for left, right in lines)
    return lines if has_splits else _held_out(lines, settings, split)


def _grammar(settings: DataSettings, split: Split) -> Iterator[Line]:
    source, target = settings.source, settings.target
    corpus = _drawn(source, target, settings.num_train)
    pairs = {"train": corpus.train, "validation": corpus.validation, "test": corpus.random}
    return (
        (grammar_text(pair.source, source), grammar_text(pair.target, target))
        for pair in pairs[split]
    )


@lru_cache(maxsize=1)
def _drawn(source: str, target: str, num_train: int | None) -> GrammarCorpus:
    """Draw the grammar's sentences; all parts are drawn together, and asked for one by one."""
    wanted = {} if num_train is None else {"num_train": num_train}
    return grammar_corpus(source, target, **wanted)


def _downloaded(name: str, part: str, skip: Complain, complain: Complain) -> Iterator[Line]:
    with open_corpus(name, split=part) as corpus:
        yield from columns(corpus.lines, corpus.path, complain if corpus.is_checked else skip)


def _own(settings: DataSettings, split: Split, complain: Complain) -> Iterator[Line]:
    """Return the pairs of files: the split's own, or those held out of the training files."""
    files: tuple[str, ...] = getattr(settings, split)
    if files and split != "train":
        return read_files(files, complain)
    lines = read_files(settings.train, complain)
    if split != "train":
        return _held_out(lines, settings, split)
    # What has files of its own takes nothing away from the training.
    taken = {part for part in SPLITS[1:] if not getattr(settings, part)}
    return (line for line in lines if part_of(line[0], settings.held_out) not in taken)


def _held_out(lines: Iterator[Line], settings: DataSettings, split: Split) -> Iterator[Line]:
    return (line for line in lines if part_of(line[0], settings.held_out) == split)
