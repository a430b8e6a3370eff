"""Sentence pairs in two languages, the files that hold them, and splits without leaks."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from attention_book.foundations.seed import check_seed
from attention_book.text.tokens import tokenize


class CorpusError(ValueError):
    """A corpus is missing, damaged, or not written as it should be.

    >>> raise CorpusError("fra.tsv:3: expected source TAB target, got no tab")
    Traceback (most recent call last):
    attention_book.text.pairs.CorpusError: fra.tsv:3: expected source TAB target, got no tab
    """


@dataclass(frozen=True)
class SentencePair:
    """A sentence and its translation, as tokens.

    Attributes:
        source: The tokens to translate.
        target: The tokens of the translation.
        alignment: Which words translate which: (i, j) links source token i with
            target token j. None if unknown.

    >>> pair = SentencePair(("go", "."), ("va", "!"), frozenset({(0, 0), (1, 1)}))
    >>> pair.reversed().source
    ('va', '!')
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] | None = None

    def __post_init__(self) -> None:
        """Check the links."""
        for i, j in self.alignment or ():
            if not (0 <= i < len(self.source) and 0 <= j < len(self.target)):
                raise ValueError(
                    f"alignment: expected links between {len(self.source)} source and "
                    f"{len(self.target)} target tokens, got ({i}, {j})"
                )

    def reversed(self) -> "SentencePair":
        """Return the pair for the other direction of translation."""
        links = self.alignment
        turned = None if links is None else frozenset((j, i) for i, j in links)
        return SentencePair(self.target, self.source, turned)


@dataclass(frozen=True)
class Problem:
    """A line that is not a pair of sentences.

    Attributes:
        line: Its number in the file, from 1.
        reason: What was expected, and what stands there.

    >>> Problem(3, "expected source TAB target, got no tab").line
    3
    """

    line: int
    reason: str


@dataclass(frozen=True)
class Reading:
    """What :func:`read_pairs` found.

    Attributes:
        pairs: The sentence pairs, in the order of the file.
        problems: The lines that were skipped, with the reason.

    >>> Reading((SentencePair(("go", "."), ("va", "!")),), ()).problems
    ()
    """

    pairs: tuple[SentencePair, ...]
    problems: tuple[Problem, ...]


def read_pairs(
    path: str | Path,
    *,
    source_language: str,
    target_language: str,
    max_tokens: int | None = None,
    on_problem: Literal["raise", "skip"] = "raise",
) -> Reading:
    """Read a UTF-8 file of lines "source TAB target".

    A problem is a line without a tab or with several, a bad encoding, an empty side,
    or a side of more than ``max_tokens`` tokens.

    Args:
        path: The file.
        source_language: Chooses the rule of :func:`tokenize` for the left column: "en", "fr",
            "de", "zh", or another code of one of them.
        target_language: The same for the right column.
        max_tokens: How long a sentence may be; None: as long as it likes.
        on_problem: "raise" stops at the first problem; "skip" leaves the line out
            and lists it.

    Raises:
        ValueError: if a language has no rule.
        CorpusError: at the first problem, "file:line: …"; and, however problems are
            dealt with, if the file cannot be opened or holds no pair.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("Go.\\tVa !\\nno tab here\\n", encoding="utf-8")
    ...     reading = read_pairs(
    ...         path, source_language="en", target_language="fr", on_problem="skip"
    ...     )
    >>> reading.pairs[0].target
    ('va', '!')
    >>> reading.problems
    (Problem(line=2, reason='expected source TAB target, got no tab'),)
    """
    try:
        with Path(path).open("rb") as file:
            return pairs_from_lines(
                file,
                name=str(path),
                languages=(source_language, target_language),
                max_tokens=max_tokens,
                on_problem=on_problem,
            )
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error


def pairs_from_lines(
    lines: Iterable[bytes],
    *,
    name: str,
    languages: tuple[str, str],
    max_tokens: int | None = None,
    limit: int | None = None,
    on_problem: Literal["raise", "skip"] = "raise",
) -> Reading:
    """Read lines as :func:`read_pairs` does, at most ``limit`` pairs; ``name`` is for errors."""
    if on_problem not in ("raise", "skip"):
        raise ValueError(f"on_problem: expected 'raise' or 'skip', got {on_problem!r}")
    problems: list[Problem] = []

    def good_pairs() -> Iterable[SentencePair]:
        for number, line in enumerate(lines, start=1):
            found = _parse(line, number, languages, max_tokens)
            if isinstance(found, SentencePair):
                yield found
            elif on_problem == "raise":
                raise CorpusError(f"{name}:{found.line}: {found.reason}")
            else:
                problems.append(found)

    pairs = tuple(itertools.islice(good_pairs(), limit))
    if not pairs:
        raise CorpusError(_nothing_found(name, problems))
    return Reading(pairs, tuple(problems))


def _parse(
    line: bytes, number: int, languages: tuple[str, str], max_tokens: int | None
) -> SentencePair | Problem:
    columns = columns_of(line, number)
    if isinstance(columns, Problem):
        return columns
    source, target = tokenize(columns[0], languages[0]), tokenize(columns[1], languages[1])
    for side, tokens in (("source", source), ("target", target)):
        if not tokens:
            return Problem(number, f"expected two sentences, got an empty {side}")
        if max_tokens is not None and len(tokens) > max_tokens:
            reason = f"expected at most {max_tokens} tokens, got {len(tokens)} in the {side}"
            return Problem(number, reason)
    return SentencePair(source, target)


def columns_of(line: bytes, number: int) -> tuple[str, str] | Problem:
    """Return the two sides of a line "source TAB target", or what is wrong with it.

    >>> columns_of("Go.\\tVa !".encode(), 1)
    ('Go.', 'Va !')
    """
    text = text_of(line, number)
    if isinstance(text, Problem):
        return text
    columns = text.split("\t")
    if len(columns) != 2:
        tabs = f"{len(columns) - 1} tabs" if len(columns) > 1 else "no tab"
        return Problem(number, f"expected source TAB target, got {tabs}")
    return columns[0], columns[1]


def text_of(line: bytes, number: int) -> str | Problem:
    """Return a line of a file without its end, or what is wrong with its bytes.

    >>> text_of(b"caf\\xe9", 7).reason
    'expected UTF-8, got the byte 0xe9 at byte 4'
    """
    try:  # a byte order mark may stay: tokenize drops it, like all that is invisible
        text = line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"expected UTF-8, got the byte 0x{line[error.start]:02x} at byte {error.start + 1}"
        return Problem(number, reason)
    if b"\0" in line:  # UTF-16 without its mark can pass for UTF-8, but for these
        return Problem(number, f"expected UTF-8, got a null byte at byte {line.index(0) + 1}")
    return text


def _nothing_found(name: str, problems: Sequence[Problem]) -> str:
    found = f"{name}: expected at least one pair of sentences, got none"
    if not problems:
        return found
    first = problems[0]
    return f"{found} ({len(problems)} lines skipped; line {first.line}: {first.reason})"


def split_pairs(
    pairs: Sequence[SentencePair], *, fractions: Sequence[float], seed: int
) -> tuple[tuple[SentencePair, ...], ...]:
    """Split a corpus at random, all pairs with the same source into the same part.

    A corpus has several translations of many a sentence. Were they split pair by
    pair, a test would ask for sentences that the training has seen.

    Args:
        pairs: The corpus.
        fractions: The share of the pairs that each part gets; their sum is 1.
            A part may miss its share by the pairs of one source.
        seed: Names the split, from 0 to 2**32 - 1; the global random numbers are left alone.

    Returns:
        As many parts as fractions, each in the order of the corpus.

    >>> pairs = [SentencePair((str(i // 2),), (str(i),)) for i in range(10)]
    >>> train, test = split_pairs(pairs, fractions=(0.8, 0.2), seed=0)
    >>> len(train), len(test), leaks(train, test)
    (8, 2, ())
    """
    if min(fractions, default=0) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions: expected positive shares of sum 1, got {tuple(fractions)}")
    check_seed(seed)
    part_of = _part_of_source(pairs, fractions, seed)
    parts: tuple[list[SentencePair], ...] = tuple([] for _ in fractions)
    for pair in pairs:
        parts[part_of[pair.source]].append(pair)
    if not all(parts):
        raise ValueError(
            f"pairs: expected enough sources for {len(parts)} parts, got {len(part_of)}: "
            "a part is empty"
        )
    return tuple(map(tuple, parts))


def _part_of_source(
    pairs: Sequence[SentencePair], fractions: Sequence[float], seed: int
) -> dict[tuple[str, ...], int]:
    """Deal out the sources in random order, each part until it is full."""
    count = Counter(pair.source for pair in pairs)
    sources = list(count)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(sources), generator=generator, device="cpu")
    ends = [len(pairs) * share - 1e-6 for share in itertools.accumulate(fractions)]
    part_of, dealt, part = {}, 0, 0
    for index in order.tolist():
        while part < len(ends) - 1 and dealt >= ends[part]:
            part += 1
        part_of[sources[index]] = part
        dealt += count[sources[index]]
    return part_of


def leaks(
    train: Iterable[SentencePair],
    test: Iterable[SentencePair],
    *,
    by: Literal["source", "pair"] = "source",
) -> tuple[SentencePair, ...]:
    """Return the test pairs that the training has seen.

    Args:
        train: The pairs that a model learns from.
        test: The pairs that it is measured on.
        by: "source": the sentence to translate stands in the training, with
            whatever translation. "pair": with this very translation.

    >>> seen = SentencePair(("go", "."), ("va", "!"))
    >>> other = SentencePair(("go", "."), ("marche", "."))
    >>> leaks([seen], [other]) == (other,)
    True
    >>> leaks([seen], [other], by="pair")
    ()
    """
    if by not in ("source", "pair"):
        raise ValueError(f"by: expected 'source' or 'pair', got {by!r}")

    def key(pair: SentencePair) -> tuple[tuple[str, ...], ...]:
        return (pair.source,) if by == "source" else (pair.source, pair.target)

    seen = {key(pair) for pair in train}
    return tuple(pair for pair in test if key(pair) in seen)
