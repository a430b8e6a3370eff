"""Reading any corpus line by line as it is written: those with a name, and one's own files."""

import itertools
from collections.abc import Iterator
from functools import lru_cache

from attention_book.foundations.languages import short_code
from attention_book.runs.corpora.files import (
    BadLines,
    Complain,
    Line,
    Skipped,
    columns,
    read_files,
    refuse,
)
from attention_book.runs.corpora.held_out import SPLITS, Split, part_of
from attention_book.runs.settings import DataSettings
from attention_book.runs.settings.checking import one_of
from attention_book.text import CorpusError, GrammarCorpus, grammar_corpus, grammar_text
from attention_book.text.corpora import DOWNLOADED, open_corpus
from attention_book.text.phrases import phrase_lines

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
    """Return the pairs of one's own files; where bad lines are refused, after a look at all.

    Raises:
        BadLines: after the first one, and the rest of the file.
    """
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
