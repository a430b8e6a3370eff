"""Corpora by name: this book's phrases, and real ones, downloaded once or read from your folder."""

import gzip
import itertools
import os
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from attention_book.foundations.environment import bar_options, from_extra
from attention_book.foundations.languages import short_code
from attention_book.text.pairs import CorpusError, Reading, SentencePair, pairs_from_lines
from attention_book.text.tokens import Language, tokenize

#: Is told how many bytes are there, and how many there will be (None: not known).
Report = Callable[[int, int | None], None]

_CHUNK = 1 << 16
_NOT_SATISFIABLE = 416


def download(
    url: str,
    part: Path,
    *,
    report: Report | None = None,
    attempts: int = 3,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> None:
    """Download ``url`` into ``part``, continuing where an earlier download broke off.

    ``part`` is complete when the function returns. When it raises, ``part`` holds
    what has come so far, and the next call asks the server for the rest only.
    Whether the parts fit together is for the caller's checksum to say.

    Args:
        url: The address.
        part: Where the bytes go.
        report: Called after every piece.
        attempts: How often to try before giving up.
        wait: Seconds before the second attempt; before every other twice as long.
        timeout: Seconds of silence after which a connection counts as broken.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     source, part = Path(folder) / "source", Path(folder) / "part"
    ...     _ = source.write_text("all of it")
    ...     download(source.as_uri(), part)
    ...     part.read_text()
    'all of it'
    """
    for attempt in range(1, attempts + 1):
        try:
            return _continue(url, part, report, timeout)
        except HTTPError as error:
            error.close()
            if error.code == _NOT_SATISFIABLE:  # longer than the file: of something else
                part.unlink()
            elif error.code < 500:
                raise
            failure: Exception = error
        except (OSError, HTTPException) as error:
            failure = error
        if attempt < attempts:
            time.sleep(wait * 2 ** (attempt - 1))
    raise OSError(f"{failure} ({attempts} attempts)") from failure


def _continue(url: str, part: Path, report: Report | None, timeout: float) -> None:
    here = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={here}-"} if here else {})
    with urlopen(request, timeout=timeout) as response:
        if response.status != 206:  # the server sends everything, not the rest only
            here = 0
        length = response.headers["Content-Length"]
        total = None if length is None else here + int(length)
        with part.open("ab" if here else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                here += len(chunk)
                if report is not None:
                    report(here, total)
    if total is not None and here != total:
        raise OSError(f"the connection broke after {here} of {total} bytes")


#: The environment variable that names a folder to read the corpora from.
DATA_FOLDER = "ATTENTION_BOOK_DATA"

_D2L = "http://d2l-data.s3-accelerate.amazonaws.com"
_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MULTI30K_SHA256 = {
    "train": {
        "de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        "en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        "fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    },
    "val": {
        "de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        "en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        "fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    },
    "test_2016_flickr": {
        "de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        "en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        "fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    },
}

# Every file that is ever downloaded: its name below the folder, its address, its checksum.
_FILES = {
    "fra-eng.zip": (f"{_D2L}/fra-eng.zip", "sha1:94646ad1522d915e7b0f9296181140edcf86a4f5")
} | {
    f"multi30k/{stem}.{language}.gz": (f"{_MULTI30K}/{stem}.{language}.gz", f"sha256:{digest}")
    for stem, digests in _MULTI30K_SHA256.items()
    for language, digest in digests.items()
}

_TATOEBA_LINES = "tatoeba-eng-fra.tsv"  # your own folder may have these instead of the zip
_TATOEBA_MEMBER = "fra-eng/fra.txt"
_MULTI30K_SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}


@dataclass(frozen=True)
class _Corpus:
    languages: tuple[Language, Language]
    splits: tuple[str, ...]


_CORPORA = {
    "tatoeba-eng-fra": _Corpus(("en", "fr"), ("train",)),
    "multi30k-en-de": _Corpus(("en", "de"), tuple(_MULTI30K_SPLITS)),
    "multi30k-en-fr": _Corpus(("en", "fr"), tuple(_MULTI30K_SPLITS)),
}
#: The corpora that are downloaded, and the languages of their two columns.
DOWNLOADED: dict[str, tuple[Language, Language]] = {
    name: corpus.languages for name, corpus in _CORPORA.items()
}


def load_corpus(
    name: str,
    *,
    split: str = "train",
    limit: int | None = None,
    progress: bool | None = None,
) -> tuple[SentencePair, ...]:
    """Return a corpus, tokenized, in the order of its file.

    ``tatoeba-eng-fra``: short everyday sentences, the shortest first, collected at
    tatoeba.org (CC BY 2.0 FR), as *Dive into Deep Learning* serves them. One split,
    "train"; :func:`split_pairs` makes others. ``multi30k-en-de`` and
    ``multi30k-en-fr``: descriptions of pictures (Elliott et al. 2016; for research,
    see its terms of use) in the splits "train", "val" and "test" (2016, Flickr).

    The environment variable ``ATTENTION_BOOK_DATA`` names a folder to read
    instead of downloading: ``tatoeba-eng-fra.tsv`` or ``fra-eng.zip``, and
    ``multi30k/train.en.gz`` and so on. Otherwise the files are downloaded once, their
    checksums compared, into a cache folder that is shown then. A download that broke
    off is continued; a file that is there is complete.

    Args:
        name: Which corpus.
        split: Which part of it.
        limit: Return only the first ``limit`` pairs.
        progress: A progress bar while downloading. None: in a terminal or a
            notebook, but not while the book is built.

    Raises:
        ValueError: if there is no such corpus or split, or ``limit`` is below 1.
        CorpusError: if a file is missing and cannot be downloaded (the message says
            where to get it and where to put it), or is damaged.
        ImportError: if something is to be downloaded, and pooch or tqdm is not installed.

    >>> load_corpus("tatoeba-eng-fra", limit=2)[1].target  # doctest: +SKIP
    ('salut', '!')
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit: expected 1 or more, got {limit}")
    with open_corpus(name, split=split, progress=progress) as corpus:
        reading = pairs_from_lines(
            corpus.lines,
            name=corpus.path,
            languages=corpus.languages,
            limit=limit,
            on_problem="raise" if corpus.is_checked else "skip",
        )
    _warn_of_problems(corpus.path, reading)
    return reading.pairs


class OpenCorpus(NamedTuple):
    """A corpus that is being read, line by line, as it is written.

    Attributes:
        path: What to call it in an error.
        lines: Lines "source TAB target" in UTF-8.
        languages: Languages of the two columns.
        is_checked: Whether every line is known to be a pair of sentences.
    """

    path: str
    lines: Iterable[bytes]
    languages: tuple[Language, Language]
    is_checked: bool


@contextmanager
def open_corpus(
    name: str, *, split: str = "train", progress: bool | None = None
) -> Iterator[OpenCorpus]:
    """Open a corpus to read its lines as they are written; found as :func:`load_corpus` does.

    >>> with open_corpus("tatoeba-eng-fra") as corpus:  # doctest: +SKIP
    ...     next(iter(corpus.lines))
    b'Go.\\tVa !\\n'
    """
    if name not in _CORPORA:
        raise ValueError(f"name: expected one of {', '.join(_CORPORA)}, got {name!r}")
    languages, splits = _CORPORA[name].languages, _CORPORA[name].splits
    if split not in splits:
        expected = ", ".join(splits)
        raise ValueError(f"split: expected one of {expected} for {name}, got {split!r}")
    opened = (
        _open_tatoeba(progress)
        if name == "tatoeba-eng-fra"
        else _open_multi30k(languages, _MULTI30K_SPLITS[split], progress)
    )
    with opened as (path, lines):
        yield OpenCorpus(path, lines, languages, is_checked=not path.endswith(_TATOEBA_MEMBER))


@contextmanager
def _open_tatoeba(progress: bool | None) -> Iterator[tuple[str, Iterable[bytes]]]:
    folder = _own_folder()
    if folder is not None and (folder / _TATOEBA_LINES).exists():
        path = folder / _TATOEBA_LINES
        with _reading(path), path.open("rb") as lines:
            yield str(path), lines
        return
    path = _find("fra-eng.zip", progress)
    with _reading(path), zipfile.ZipFile(path) as archive, archive.open(_TATOEBA_MEMBER) as lines:
        yield f"{path}/{_TATOEBA_MEMBER}", lines


@contextmanager
def _open_multi30k(
    languages: tuple[Language, Language], stem: str, progress: bool | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    left, right = [_find(f"multi30k/{stem}.{language}.gz", progress) for language in languages]
    name = f"{left} and {right.name}"
    with _reading(left, right), gzip.open(left) as sources, gzip.open(right) as targets:
        yield name, _side_by_side(sources, targets, name)


def _side_by_side(sources: Iterable[bytes], targets: Iterable[bytes], name: str) -> Iterator[bytes]:
    for number, sides in enumerate(itertools.zip_longest(sources, targets), start=1):
        if None in sides:
            raise CorpusError(f"{name}:{number}: expected as many lines in both files")
        # A few sentences have a tab where they should have a blank.
        yield b"\t".join(side.rstrip(b"\r\n").replace(b"\t", b" ") for side in sides)


def _warn_of_problems(name: str, reading: Reading) -> None:
    if reading.problems:
        first = reading.problems[0]
        warnings.warn(
            f"{name}: {len(reading.problems)} lines left out; line {first.line}: {first.reason}",
            stacklevel=3,
        )


@contextmanager
def _reading(*paths: Path) -> Iterator[None]:
    """Turn what a damaged file raises into one kind of error that names the file."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError) as error:
        names = " or ".join(map(str, paths))
        raise CorpusError(f"{names}: cannot be read: {error}") from error


# --- finding a file --------------------------------------------------------------------------


def _own_folder() -> Path | None:
    folder = os.environ.get(DATA_FOLDER)
    return Path(folder) if folder else None


def _find(name: str, progress: bool | None) -> Path:
    """Return where the file is: in your own folder, or in the cache after a download."""
    folder = _own_folder()
    if folder is None:
        return _download(name, progress)
    if not (folder / name).exists():
        raise CorpusError(
            f"{name}: expected in the folder that {DATA_FOLDER} names, {folder}, where it is not; "
            f"get it from {_FILES[name][0]}"
        )
    return folder / name


def _download(name: str, progress: bool | None) -> Path:
    pooch = _pooch()
    with from_extra("text", "tqdm"):
        from tqdm import tqdm
    url, checksum = _FILES[name]
    path = _cache() / name

    def fetch(url: str, output_file: str, _: object) -> None:
        part = path.with_name(path.name + ".part")
        options = bar_options() if progress is None else {"disable": not progress}
        with tqdm(unit="B", unit_scale=True, desc=name, **options) as bar:

            def show(here: int, total: int | None) -> None:
                bar.total = total
                bar.update(here - bar.n)

            download(url, part, report=show)
        part.replace(output_file)

    try:  # pooch compares the checksum, and only then gives the file its name
        pooch.retrieve(url, checksum, fname=path.name, path=path.parent, downloader=fetch)
    except OSError as error:
        raise CorpusError(
            f"{name}: cannot be downloaded from {url}: {error}. Without network, get the file by "
            f"other means and put it at {path}, or at FOLDER/{name} and set {DATA_FOLDER}=FOLDER"
        ) from error
    except ValueError as error:
        raise CorpusError(
            f"{name}: expected the checksum {checksum}, got another from {url}; "
            "nothing was kept, try again"
        ) from error
    return path


class CorpusFile(NamedTuple):
    """A file that a corpus is read from: its name, address and checksum, and where it lies.

    >>> CorpusFile("a.gz", "https://example.org/a.gz", "sha256:0", Path("a.gz")).name
    'a.gz'
    """

    name: str
    url: str
    checksum: str
    path: Path


def corpus_files(name: str) -> tuple[CorpusFile, ...]:
    """Return the files of a corpus that is downloaded, in your own folder or in the cache."""
    stems, languages = _MULTI30K_SPLITS.values(), _CORPORA[name].languages
    names = [f"multi30k/{stem}.{language}.gz" for stem in stems for language in languages]
    if name == "tatoeba-eng-fra":
        names = ["fra-eng.zip"]
    folder = _own_folder() or _cache()
    return tuple(CorpusFile(each, *_FILES[each], folder / each) for each in names)


def fetch_corpus(name: str, *, progress: bool | None = None) -> None:
    """Download the files of a corpus, unless they are there."""
    for file in corpus_files(name):
        _find(file.name, progress)


def _cache() -> Path:
    return Path(_pooch().os_cache("attention_book"))


def _pooch() -> Any:
    with warnings.catch_warnings():  # in a notebook without widgets pooch's import complains
        warnings.simplefilter("ignore")
        with from_extra("text", "pooch"):
            import pooch
    return pooch


PhrasebookLanguage = Literal["en", "fr", "zh"]

_LANGUAGES: tuple[PhrasebookLanguage, ...] = get_args(PhrasebookLanguage)  # as the columns

# From the shortest phrases to whole stories, by folder; the corpus stands in this order.
_TOPICS = {
    "first_words": ("commands", "exclamations", "feelings", "being"),
    "at_home": ("home", "having", "family", "routine", "food", "health"),
    "out_and_about": ("weather", "conversation", "time", "city", "travel", "shopping"),
    "longer": ("work_and_school", "hobbies", "nature", "stories"),
}


def topics() -> tuple[str, ...]:
    """Return the topics of the phrasebook, in its order.

    >>> topics()[:3]
    ('commands', 'exclamations', 'feelings')
    """
    return tuple(topic for folder in _TOPICS.values() for topic in folder)


def phrasebook(
    source: str = "en",
    target: str = "fr",
    *,
    max_tokens: int | None = None,
) -> tuple[SentencePair, ...]:
    """Return the phrases of the book in two languages, each distinct pair once.

    A source sentence with several translations makes several pairs. The
    pairs carry no alignment.

    Args:
        source: The language to translate from: "en", "fr" or "zh", or another code of one of
            them.
        target: The language to translate to, another one.
        max_tokens: How many tokens each side may have; None: as many as it likes.

    >>> phrasebook()[0]
    SentencePair(source=('go', '.'), target=('va', '!'), alignment=None)
    >>> [pair.target for pair in phrasebook("en", "zh") if pair.source == ("i", "lost", ".")]
    [('我', '输', '了', '。')]
    >>> max(len(pair.source) for pair in phrasebook(max_tokens=4))
    4
    """
    left, right = _columns(source, target)
    pairs = dict.fromkeys(SentencePair(line[left], line[right]) for line in _lines())
    if max_tokens is None:
        return tuple(pairs)
    short = tuple(p for p in pairs if max(len(p.source), len(p.target)) <= max_tokens)
    if not short:
        raise ValueError(f"max_tokens: expected room for at least one phrase, got {max_tokens}")
    return short


def check_languages(source: str, target: str) -> None:
    """Refuse languages that are not two of the three."""
    _columns(source, target)


def _columns(source: str, target: str) -> list[int]:
    """Return in which columns of the files two languages stand."""
    codes = [short_code(language) for language in (source, target)]
    if len(set(codes)) < 2 or not set(codes) <= set(_LANGUAGES):
        raise ValueError(
            f"source, target: expected two of {_LANGUAGES}, got {source!r} and {target!r}"
        )
    return [tuple(_LANGUAGES).index(code) for code in codes]


@cache
def _lines() -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return every line of every topic as its tokens, (English, French, Chinese)."""
    return tuple(
        line
        for folder, names in _TOPICS.items()
        for name in names
        for line in _lines_of(folder, name)
    )


def _lines_of(folder: str, topic: str) -> list[tuple[tuple[str, ...], ...]]:
    return [
        tuple(tokenize(side, language) for side, language in zip(line, _LANGUAGES, strict=True))
        for line in _written(folder, topic)
    ]


def phrase_lines(source: str = "en", target: str = "fr") -> tuple[tuple[str, str], ...]:
    """Return the phrases of the book in two languages as they are written, each pair once.

    Chinese has a blank between words.

    >>> phrase_lines()[0]
    ('Go.', 'Va\\u202f!')
    """
    left, right = _columns(source, target)
    topics = ((folder, name) for folder, names in _TOPICS.items() for name in names)
    lines = (line for topic in topics for line in _written(*topic))
    return tuple(dict.fromkeys((line[left], line[right]) for line in lines))


def _written(folder: str, topic: str) -> list[list[str]]:
    """Return the lines of a topic as they are written."""
    name = f"{topic}.tsv"
    phrases = files("attention_book.text") / "data" / "phrasebook"
    text = (phrases / folder / name).read_text(encoding="utf-8")
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) != len(_LANGUAGES):
            raise CorpusError(
                f"{name}:{number}: expected English TAB French TAB Chinese, "
                f"got {len(columns)} columns"
            )
        lines.append(columns)
    return lines
