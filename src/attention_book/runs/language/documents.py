"""Reading documents: lines or paragraphs of files, texts in the package, a language of a corpus."""

import gzip
import itertools
from collections.abc import Iterable, Iterator
from importlib.resources import files

from attention_book.foundations.languages import short_code
from attention_book.runs.corpus import LONGEST, Split, part_of, raw_lines, read_lines, too_long
from attention_book.runs.language.settings import EMBEDDED, Documents, DocumentSettings
from attention_book.runs.settings import DataSettings, one_of
from attention_book.text import CorpusError, Problem
from attention_book.text.corpora import DOWNLOADED
from attention_book.text.pairs import text_of

#: Fewer documents are no corpus: nothing could be held out to measure with.
FEWEST = 20
# By so many lines it is decided whether blank lines part a file.
_LOOKED_AT = 2000


def embedded_text(name: str) -> list[str]:
    """Return the documents of a text that comes with the package.

    >>> len(embedded_text("tang-poems")), embedded_text("austen")[0]
    (7551, "It was Miss Taylor's loss which first brought grief.")
    """
    one_of("name", name, EMBEDDED)
    path = files("attention_book.text") / "data" / "documents" / f"{name}.txt.gz"
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def read_documents(settings: DocumentSettings, split: Split = "train") -> Iterator[str]:
    """Read the documents of one part of a corpus as they are written, one at a time.

    Where a part has no files of its own, a hash of the letters of a document decides where it
    belongs (:func:`~attention_book.runs.part_of`): the same in each run, whatever else is there.

    Raises:
        CorpusError: if a file cannot be read or is not UTF-8, "path:line: reason", or nothing is
            found.
        ValueError: if a corpus lacks the language.

    >>> next(read_documents(DocumentSettings(corpus="tang-poems"), "test"))
    '仙客厌人间，孤云比性闲。话离情未已，烟水万重山。'
    """
    found = _documents(settings, split)
    if split == "train":
        found = itertools.islice(found, settings.num_train)
    nothing = True
    for document in found:
        nothing = False
        yield document
    if nothing:
        name = settings.corpus or " and ".join(settings.train)
        raise CorpusError(f"{name}: {split}: expected at least one document, got none")


def _documents(settings: DocumentSettings, split: Split) -> Iterator[str]:
    if settings.corpus is None:
        own: tuple[str, ...] = getattr(settings, split)
        if own and split != "train":
            return _of_files(own, settings.documents)
        return _held_out(settings, split, _of_files(settings.train, settings.documents))
    if settings.corpus in EMBEDDED:
        return _held_out(settings, split, iter(embedded_text(settings.corpus)))
    return _one_side(settings, split)


def _held_out(settings: DocumentSettings, split: Split, found: Iterator[str]) -> Iterator[str]:
    taken = {part for part in ("validation", "test") if not getattr(settings, part)}
    for document in found:
        part = part_of(document, settings.held_out)
        if part == split or (split == "train" and part not in taken):
            yield document


def _one_side(settings: DocumentSettings, split: Split) -> Iterator[str]:
    """Return the sentences of one language of a corpus for translation, each once."""
    name, language = str(settings.corpus), settings.language
    if name in DOWNLOADED:
        pair = DOWNLOADED[name]
        if short_code(language) not in pair:
            expected = " or ".join(pair)
            raise ValueError(f"language: expected {expected} for {name}, got {language!r}")
        other: str = next(each for each in pair if each != short_code(language))
    else:
        other = "fr" if short_code(language) == "en" else "en"
    data = DataSettings(corpus=name, source=language, target=other, held_out=settings.held_out)
    return iter(dict.fromkeys(source for source, _ in read_lines(data, split)))


def _of_files(paths: tuple[str, ...], kind: Documents) -> Iterator[str]:
    for path in paths:
        yield from _parted(_lines(path), path, kind)


def _parted(lines: Iterator[str], path: str, kind: Documents) -> Iterator[str]:
    """Return a file's lines, or what stands between blank lines."""
    begin = list(itertools.islice(lines, _LOOKED_AT))
    if kind == "auto":
        kind = "paragraphs" if _has_blank_lines(begin) else "lines"
    everything = itertools.chain(begin, lines)
    if kind == "lines":
        yield from (line.strip() for line in everything if line.strip())
        return
    for blank, group in itertools.groupby(everything, key=lambda line: not line.strip()):
        if not blank:
            paragraph = "\n".join(line.rstrip() for line in group)
            if len(paragraph) > LONGEST:
                raise CorpusError(
                    f"{path}: expected paragraphs of at most {LONGEST} characters, got a longer one"
                )
            yield paragraph


def _has_blank_lines(lines: list[str]) -> bool:
    """Whether blank lines part a text within, and not just a few of its lines."""
    inner = "\n".join(line.strip() for line in lines).strip().split("\n")
    return inner.count("") * 20 > len(inner)


def _lines(path: str) -> Iterator[str]:
    """Return the lines of a file as text.

    Raises:
        CorpusError: if there is something else in it.
    """
    for number, line in enumerate(raw_lines(path), start=1):
        text = too_long(line, number) or text_of(line, number)
        if isinstance(text, Problem):
            raise CorpusError(f"{path}:{number}: {text.reason}")
        yield text


def check_enough(documents: Iterable[str], name: str) -> None:
    """Check that there are documents enough to learn from and to hold some out.

    Raises:
        CorpusError: if not.

    >>> try:
    ...     check_enough(["one line"], "a.txt")
    ... except CorpusError as error:
    ...     print(str(error).partition(";")[0])
    a.txt: expected 20 documents or more, got 1
    """
    count = sum(1 for _ in itertools.islice(documents, FEWEST))
    if count < FEWEST:
        raise CorpusError(
            f"{name}: expected {FEWEST} documents or more, got {count}; a document is a line or, "
            "where blank lines part a file, a paragraph"
        )
