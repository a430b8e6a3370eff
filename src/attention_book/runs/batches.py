"""A corpus as numbers on the disk, and its batches: its size is no matter of memory."""

import hashlib
import json
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_sizes, strict
from attention_book.foundations.seed import mixed
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.runs.codec import TextCodec
from attention_book.runs.corpus import Skipped, Split, read_lines
from attention_book.runs.settings import DataSettings, TextSettings
from attention_book.text import Batch, CorpusError, Vocabulary


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    """How a corpus is cut into batches.

    The rows are shuffled; among ``pool`` of them at a time those of similar length are put
    together, for less padding; and the batches are shuffled. Only (seed, epoch) decide how.

    Attributes:
        batch_tokens: How many places a batch may have: rows times the longest sentence of
            either side, ``<eos>`` and padding included. A longer pair is a batch of its own.
        batch_size: Or: how many pairs a batch has; where a pool ends it may have fewer.
        seed: Names the shuffling; the global random numbers are left alone.
        pool: Among how many pairs those of similar length are looked for.

    >>> plan = BatchPlan(batch_tokens=12)
    >>> lengths = torch.tensor([3, 3, 6, 2, 3, 20])
    >>> order = plan.order(lengths, lengths, epoch=1)
    >>> [lengths[order.rows(number)].tolist() for number in range(len(order))]
    [[20], [6, 3], [3, 3, 2]]
    """

    batch_tokens: int | None = None
    batch_size: int | None = None
    seed: int = 42
    pool: int = 8192

    def __post_init__(self) -> None:
        """Check the numbers."""
        if (self.batch_tokens is None) == (self.batch_size is None):
            raise ValueError(
                "batch_tokens, batch_size: expected one of the two, "
                f"got {self.batch_tokens} and {self.batch_size}"
            )
        sizes = {"batch_tokens": self.batch_tokens, "batch_size": self.batch_size}
        check_sizes(pool=self.pool, **{name: n for name, n in sizes.items() if n is not None})

    def order(self, sources: Tensor, targets: Tensor, *, epoch: int) -> "Order":
        """Return the batches of an epoch.

        Args:
            sources: The length of every source.
            targets: The length of every target.
            epoch: Which epoch.
        """
        dice = torch.Generator().manual_seed(mixed(self.seed, epoch))
        shuffled = torch.randperm(len(sources), generator=dice, device="cpu")
        longest = torch.maximum(sources, targets)
        pools, starts, before = [], [], 0
        for pool in shuffled.split(self._pool_size()):
            # The longest first, so that the first row of a batch says how many fit. Among
            # equals those with similar targets.
            pool = pool[targets[pool].argsort(descending=True, stable=True)]
            pool = pool[longest[pool].argsort(descending=True, stable=True)]
            pools.append(pool)
            starts += [before + start for start in self._cut(longest[pool].tolist())]
            before += len(pool)
        turns = torch.randperm(len(starts), generator=dice, device="cpu")
        return Order(torch.cat(pools), torch.tensor([*starts, before], device="cpu"), turns)

    def _pool_size(self) -> int:
        size = self.batch_size or 1
        return max(1, self.pool // size) * size

    def _cut(self, lengths: list[int]) -> list[int]:
        """Return where batches begin among rows of falling length."""
        starts, start = [], 0
        while start < len(lengths):
            starts.append(start)
            start += self.batch_size or max(1, (self.batch_tokens or 0) // lengths[start])
        return starts


@dataclass(frozen=True, eq=False)
class Order:
    """The batches of an epoch, as rows of the corpus.

    Attributes:
        ordered: All rows, batch by batch.
        starts: Where each batch begins among them, and where the last one ends.
        turns: In which order the batches have their turn.

    >>> order = Order(torch.tensor([4, 2, 0]), torch.tensor([0, 2, 3]), torch.tensor([1, 0]))
    >>> len(order), order.rows(0), order.rows(1)
    (2, tensor([0]), tensor([4, 2]))
    """

    ordered: Tensor
    starts: Tensor
    turns: Tensor

    def __len__(self) -> int:
        """Return how many batches there are."""
        return len(self.turns)

    def rows(self, number: int) -> Tensor:
        """Return the rows of the batch that has this turn, from 0."""
        place = self.turns[number]
        start, end = self.starts[place : place + 2].tolist()
        return self.ordered[start:end]


Item = TypeVar("Item")

# How long a thread sleeps at most before it looks whether anyone still wants something of it.
_SECONDS = 0.1
_END = object()


class _Failure:
    """What went wrong in the thread."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def prefetched(items: Iterable[Item], depth: int = 4) -> Iterator[Item]:
    """Return the same items in the same order, made ahead of time in a thread.

    The thread begins when the first item is asked for, and ends with the last one, or when the
    caller breaks off; then whatever makes the items is closed, too. An error in it is raised
    where the item would have come.

    Args:
        items: What to make, mostly batches.
        depth: How many of them wait at most.

    >>> list(prefetched(range(5)))
    [0, 1, 2, 3, 4]
    """
    check_sizes(depth=depth)
    return _prefetched(items, depth)


def _prefetched(items: Iterable[Item], depth: int) -> Iterator[Item]:
    ready: Queue[object] = Queue(depth)
    stop = Event()
    # In the caller's context, so that strict mode holds in the thread as well.
    thread = Thread(target=copy_context().run, args=(_make, items, ready, stop), daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        stop.set()
        _empty(ready)
        thread.join()


def _make(items: Iterable[Item], ready: "Queue[object]", stop: Event) -> None:
    """Make items until there is no more, or nobody wants them."""
    try:
        making = iter(items)
        try:
            for item in making:
                if not _put(item, ready, stop):
                    return
        finally:
            getattr(making, "close", lambda: None)()
        _put(_END, ready, stop)
    except BaseException as error:
        _put(_Failure(error), ready, stop)


def _put(item: object, ready: "Queue[object]", stop: Event) -> bool:
    """Wait until there is room; return whether the item is still wanted."""
    while not stop.is_set():
        try:
            ready.put(item, timeout=_SECONDS)
            return True
        except Full:
            continue
    return False


def _empty(ready: "Queue[object]") -> None:
    while True:
        try:
            ready.get_nowait()
        except Empty:
            return


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

    >>> from attention_book.runs.batches import Header
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
        """Read what :meth:`to_json` wrote."""
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
        """Read the header of a folder."""
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


# Numbers of two bytes where every token has room, otherwise of four.
_SMALL = 1 << 16
_AT_ONCE = 1 << 16


class SideWriter:
    """Writes the sentences of one side, one after the other.

    Args:
        folder: Where the two files go.
        name: "source" or "target".
        vocabulary: How many tokens there are.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with SideWriter(Path(folder), "source", vocabulary=9) as writer:
    ...         writer.add([5, 6, 3])
    ...         writer.add([7, 3])
    ...     side = Side(Path(folder), "source", rows=2, total=5, vocabulary=9, pad=0)
    ...     side.gather(torch.tensor([1, 0]))[0]
    tensor([[7, 3, 0],
            [5, 6, 3]])
    """

    def __init__(self, folder: Path, name: str, *, vocabulary: int) -> None:
        self._paths = paths(folder, name)
        self._vocabulary = vocabulary
        self._numbers = array("H" if vocabulary <= _SMALL else "I")
        self._ends = array("q", [0])
        self.total = 0

    def __enter__(self) -> "SideWriter":
        """Open the files."""
        with ExitStack() as files:
            self._files = [files.enter_context(path.open("xb")) for path in self._paths]
            self._closing = files.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        """Write the rest, wait until it is on the disk, and close the files."""
        with self._closing:
            if exception[0] is None:
                self._flush()
                for file in self._files:
                    file.flush()
                    os.fsync(file.fileno())

    def add(self, numbers: Sequence[int]) -> None:
        """Write a sentence."""
        if not 0 <= min(numbers) <= max(numbers) < self._vocabulary:
            raise ValueError(f"numbers: expected some below {self._vocabulary}, got {numbers}")
        self._numbers.extend(numbers)
        self.total += len(numbers)
        self._ends.append(self.total)
        if len(self._numbers) >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        for file, waiting in zip(self._files, (self._numbers, self._ends), strict=True):
            file.write(waiting.tobytes())
            del waiting[:]


class Side:
    """Reads the sentences of one side; nothing but what is asked for is in memory.

    Args:
        folder: Where the two files are.
        name: "source" or "target".
        rows: How many sentences there are.
        total: How many numbers they have together.
        vocabulary: How many tokens there are.
        pad: Fills a batch up.
    """

    def __init__(
        self, folder: Path, name: str, *, rows: int, total: int, vocabulary: int, pad: int
    ) -> None:
        self._path, places = paths(folder, name)
        self._vocabulary, self._pad = vocabulary, pad
        wide = vocabulary > _SMALL
        # Signed, for torch computes little with unsigned numbers; :meth:`gather` reads them right.
        self._numbers = _mapped(self._path, total, torch.int32 if wide else torch.int16)
        self._bits = 0xFFFFFFFF if wide else 0xFFFF
        self._places = _mapped(places, rows + 1, torch.int64)
        ends = self._places[[0, -1]].tolist()
        # Where a place lies beyond, the difference of two may be too large to be one.
        beyond = int(self._places.min()) < 0 or int(self._places.max()) > total
        if ends != [0, total] or beyond or int(self._places.diff().min()) < 2:
            raise CorpusError(f"{places}: expected {rows} places that rise to {total}, got others")

    def lengths(self) -> Tensor:
        """Return how many numbers each sentence has, ``<eos>`` included."""
        return self._places.diff()

    def stretch(self, row: int, start: int, length: int) -> Tensor:
        """Return some numbers of one sentence, from its ``start`` on."""
        begin = int(self._places[row]) + start
        ids = self._numbers[begin : begin + length].to(torch.int64) & self._bits
        if int(ids.max()) >= self._vocabulary:
            raise CorpusError(
                f"{self._path}: expected numbers below {self._vocabulary}, got {int(ids.max())}"
            )
        return ids

    def gather(self, rows: Tensor) -> tuple[TokenIds, TokenMask]:
        """Return some sentences, padded to the longest, and the mask that says what is real."""
        starts = self._places[rows]
        lengths = self._places[rows + 1] - starts
        steps = torch.arange(int(lengths.max()))
        mask = steps < lengths[:, None]
        places = (starts[:, None] + steps).masked_fill_(~mask, 0)
        ids = self._numbers[places].to(torch.int64) & self._bits
        if int(ids.max()) >= self._vocabulary:
            raise CorpusError(
                f"{self._path}: expected numbers below {self._vocabulary}, got {int(ids.max())}"
            )
        return ids.masked_fill_(~mask, self._pad), mask


def paths(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the file of the numbers, and that of the places where sentences begin.

    >>> [path.name for path in paths(Path("train"), "source")]
    ['source.numbers', 'source.places']
    """
    return folder / f"{name}.numbers", folder / f"{name}.places"


def _mapped(path: Path, size: int, dtype: torch.dtype) -> Tensor:
    """Return a file as a tensor that is read from the disk where it is looked at."""
    expected = size * dtype.itemsize
    try:
        found = path.stat().st_size
        if found != expected:
            raise CorpusError(f"{path}: expected {expected} bytes, got {found}")
        return torch.from_file(str(path), shared=False, size=size, dtype=dtype)
    except (OSError, RuntimeError) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from error


#: After how many pairs the caller hears of it.
_EVERY = 10_000


def write_folder(
    folder: Path,
    pairs: Iterable[tuple[list[int], list[int]]],
    *,
    vocabularies: tuple[Vocabulary, Vocabulary],
    max_tokens: int | None,
    digest: str,
    skipped: Callable[[], int],
    progress: Callable[[int], object],
) -> None:
    """Write pairs into a folder, which gets its name in the end.

    A prepared corpus that had the name is replaced; anything else is not touched.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _check_ours(folder)
    for left_over in folder.parent.iterdir():
        if left_over.name.startswith(f".{folder.name}.") and left_over.name.endswith(".part"):
            _remove(left_over)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    part.mkdir()
    try:
        header = _write(part, pairs, vocabularies, max_tokens, progress)
        content = Header(**header, digest=digest, skipped=skipped()).to_json()
        with (part / HEADER).open("x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _remove(folder)
        part.rename(folder)
    finally:
        _remove(part)


def _write(
    part: Path,
    pairs: Iterable[tuple[list[int], list[int]]],
    vocabularies: tuple[Vocabulary, Vocabulary],
    max_tokens: int | None,
    progress: Callable[[int], object],
) -> dict[str, int]:
    """Write both sides, and return what the header says of them."""
    source, target = vocabularies
    counts = {"rows": 0, "too_long": 0, "empty": 0}
    with (
        SideWriter(part, "source", vocabulary=len(source)) as sources,
        SideWriter(part, "target", vocabulary=len(target)) as targets,
    ):
        for left, right in pairs:
            kind = _kind(left, right, max_tokens)
            counts[kind] += 1
            if kind == "rows":
                sources.add([*left, source.special_ids.eos])
                targets.add([*right, target.special_ids.eos])
                if counts["rows"] % _EVERY == 0:
                    progress(counts["rows"])
    if not counts["rows"]:
        raise CorpusError(
            "expected at least one pair of sentences, got none "
            f"({counts['too_long']} too long, {counts['empty']} empty)"
        )
    progress(counts["rows"])
    return {
        **counts,
        **{"num_sources": sources.total, "num_targets": targets.total},
        **{"source_vocabulary": len(source), "target_vocabulary": len(target)},
        **{"source_pad": source.special_ids.pad, "target_pad": target.special_ids.pad},
        "target_bos": target.special_ids.bos,
    }


def _kind(source: list[int], target: list[int], max_tokens: int | None) -> str:
    if not source or not target:
        return "empty"
    longest = max(len(source), len(target))
    return "rows" if max_tokens is None or longest <= max_tokens else "too_long"


def _ours(folder: Path) -> list[Path]:
    """Return the files that a prepared corpus has, the header first."""
    return [folder / HEADER, *paths(folder, "source"), *paths(folder, "target")]


def _check_ours(folder: Path) -> None:
    """Refuse to replace what is no prepared corpus."""
    if folder.exists() and not (folder.is_dir() and set(folder.iterdir()) <= set(_ours(folder))):
        raise CorpusError(f"{folder}: expected a prepared corpus or nothing, got something else")


def _remove(folder: Path) -> None:
    """Remove a prepared corpus where there is one; its header first: it is not whole then.

    Of a link the link is removed, and nothing behind it.
    """
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        for path in _ours(folder):
            path.unlink(missing_ok=True)
        folder.rmdir()


Numbers = tuple[list[int], list[int]]


class PreparedCorpus:
    """Sentence pairs as numbers in a folder, mapped into memory.

    :meth:`prepare` writes one, :meth:`open` reads it.

    Attributes:
        folder: Where it is.
        header: What it says of itself: how many pairs there are, and how many were left out.

    Raises:
        CorpusError: if the folder holds no whole prepared corpus.

    >>> from tempfile import TemporaryDirectory
    >>> words = Vocabulary.build([("go", "on")])
    >>> pairs = [([4], [5]), ([4, 5], [5])]
    >>> with TemporaryDirectory() as folder:
    ...     corpus = PreparedCorpus.prepare(
    ...         Path(folder) / "train", pairs, vocabularies=(words, words), digest="these"
    ...     )
    ...     [batch] = corpus.batches(BatchPlan(batch_size=2), epoch=1)
    ...     len(corpus), corpus.num_tokens, batch.source
    (2, 4, tensor([[4, 5, 3],
            [4, 3, 0]]))
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.header = header = Header.read(self.folder)
        self._source = Side(
            self.folder,
            "source",
            rows=header.rows,
            total=header.num_sources,
            vocabulary=header.source_vocabulary,
            pad=header.source_pad,
        )
        self._target = Side(
            self.folder,
            "target",
            rows=header.rows,
            total=header.num_targets,
            vocabulary=header.target_vocabulary,
            pad=header.target_pad,
        )
        self._order: tuple[tuple[BatchPlan, int], Order] | None = None

    @classmethod
    def open(cls, folder: str | Path, *, digest: str | None = None) -> "PreparedCorpus":
        """Open a prepared corpus.

        Args:
            folder: Where it is.
            digest: That of what it should hold; None: whatever it holds.

        Raises:
            CorpusError: if the folder holds no whole prepared corpus, or that of another digest.
        """
        corpus = cls(folder)
        if digest is not None and corpus.header.digest != digest:
            raise CorpusError(
                f"{folder}: expected a corpus prepared as {digest!r}, "
                f"got {corpus.header.digest[:60]!r}"
            )
        return corpus

    @classmethod
    def prepare(
        cls,
        folder: str | Path,
        pairs: Iterable[Numbers],
        *,
        vocabularies: tuple[Vocabulary, Vocabulary],
        digest: str,
        max_tokens: int | None = None,
        skipped: Skipped | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> "PreparedCorpus":
        """Write pairs of numbers into a folder, unless it holds them already, and open it.

        The folder gets its name when all is on the disk. Until then, and when the process is
        killed, there is another folder beside it, which the next preparation takes away. Only
        one process at a time may prepare a folder.

        Args:
            folder: Where to; what is there and is not this corpus is replaced.
            pairs: The numbers of both sides, without ``<eos>``.
            vocabularies: Those that the numbers are from.
            digest: Made of all that the numbers follow from; a whole folder that has the same
                one is not written again.
            max_tokens: Pairs with a longer side, ``<eos>`` not counted, are left out; None: none.
            skipped: The lines that never became numbers; how many is written down.
            progress: Is told now and then how many pairs are written.

        Raises:
            CorpusError: if no pair is left, or the folder holds something else.
            ValueError: if a number is no token's.
            OSError: if it cannot be written.
        """
        try:
            return cls.open(folder, digest=digest)
        except CorpusError:
            write_folder(
                Path(folder),
                pairs,
                vocabularies=vocabularies,
                max_tokens=max_tokens,
                digest=digest,
                skipped=lambda: skipped.count if skipped else 0,
                progress=progress or (lambda rows: None),
            )
        return cls.open(folder, digest=digest)

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return self.header.rows

    @property
    def num_tokens(self) -> int:
        """How many target tokens there are to predict, each ``<eos>`` included."""
        return self.header.num_targets

    def lengths(self) -> tuple[Tensor, Tensor]:
        """Return how many tokens each source and each target has, ``<eos>`` included."""
        return self._source.lengths(), self._target.lengths()

    def batch(self, rows: Tensor) -> Batch:
        """Return some pairs as a batch, padded on the right.

        Raises:
            ValueError: if there is no row, or no such row.
            CorpusError: if the files hold a number that is no token's.
        """
        if not len(rows) or int(rows.min()) < 0 or int(rows.max()) >= len(self):
            raise ValueError(f"rows: expected some from 0 to {len(self) - 1}, got {rows.tolist()}")
        source, source_mask = self._source.gather(rows)
        target, target_mask = self._target.gather(rows)
        # One place to the right, so that each word is predicted from those before it.
        target_input = F.pad(target, (1, -1), value=self.header.target_bos)
        target_input.masked_fill_(~target_mask, self.header.target_pad)
        return Batch(source, source_mask, target_input, target, target_mask)

    def num_batches(self, plan: BatchPlan, epoch: int) -> int:
        """Return how many batches an epoch has, for any number of ranks."""
        return len(self.order(plan, epoch))

    def order(self, plan: BatchPlan, epoch: int) -> Order:
        """Return which rows make which batch in an epoch."""
        if self._order is None or self._order[0] != (plan, epoch):
            self._order = (plan, epoch), plan.order(*self.lengths(), epoch=epoch)
        return self._order[1]

    def batches(
        self, plan: BatchPlan, epoch: int, *, start: int = 0, rank: int = 0, world: int = 1
    ) -> Iterator[Batch]:
        """Go through the corpus once, every pair in exactly one batch of one rank.

        All ranks have the same number of batches: together, their n-th ones are the n-th
        batch of a single process. A rank that gets no row of a small batch gets one in whose
        target no token is real, so that its loss counts nothing.

        Args:
            plan: How the corpus is cut.
            epoch: Which epoch; another one has other batches.
            start: How many batches to leave out without making them.
            rank: Which of the processes this is, from 0.
            world: How many there are.
        """
        if not 0 <= rank < world or start < 0:
            raise ValueError(
                "start, rank, world: expected 0 or more, and a rank below world, "
                f"got {start}, {rank}, {world}"
            )
        return self._batches(plan, epoch, start, rank, world)

    def _batches(
        self, plan: BatchPlan, epoch: int, start: int, rank: int, world: int
    ) -> Iterator[Batch]:
        order = self.order(plan, epoch)
        for number in range(start, len(order)):
            rows = order.rows(number)
            mine = rows[rank::world]
            yield self.batch(mine) if len(mine) else _uncounted(self.batch(rows[:1]))


def _uncounted(batch: Batch) -> Batch:
    """Return the batch with no real token in its target."""
    with strict(False):  # which would complain of just that
        return replace(batch, target_mask=torch.zeros_like(batch.target_mask))


def learn_codec(data: DataSettings, text: TextSettings) -> TextCodec:
    """Learn words or subwords from the training part of a corpus.

    Words of the grammar are cut as the grammar cuts them.

    Raises:
        ValueError: if a language has no rule for words.
        CorpusError: if the corpus cannot be read.
        ImportError: if a library of the extra "text" is needed and not installed.

    >>> codec = learn_codec(DataSettings(corpus="phrasebook"), TextSettings())
    >>> codec.source_tokens("The girl reads.")
    ('the', 'girl', 'reads', '.')
    """
    finer = data.corpus == "grammar" and text.unit == "words"
    return TextCodec.learn(
        read_lines(data),
        text,
        (data.source, data.target),
        word_rule="grammar" if finer else "plain",
    )


def prepare_split(
    folder: str | Path,
    data: DataSettings,
    split: Split,
    codec: TextCodec,
    *,
    skipped: Skipped | None = None,
    progress: Callable[[int], object] | None = None,
) -> PreparedCorpus:
    """Prepare one part of a corpus in a folder, unless the folder holds it already.

    Only one process at a time may prepare a folder; the others open it then.

    Args:
        folder: Where to.
        data: Which corpus.
        split: Which part of it.
        codec: Makes numbers of text.
        skipped: Counts the lines that are left out, where the settings say so.
        progress: Is told now and then how many pairs are written.

    Raises:
        CorpusError: if the corpus cannot be read, or has no pair for this part, or the folder
            holds something else.
        OSError: if it cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> data = DataSettings(corpus="phrasebook", num_train=200)
    >>> codec = learn_codec(data, TextSettings())
    >>> with TemporaryDirectory() as folder:
    ...     len(prepare_split(Path(folder) / "train", data, "train", codec))
    200
    """
    skipped = Skipped() if skipped is None else skipped
    return PreparedCorpus.prepare(
        folder,
        codec.encode_pairs(read_lines(data, split, skipped=skipped)),
        vocabularies=(codec.source_vocabulary, codec.target_vocabulary),
        max_tokens=data.max_tokens,
        digest=corpus_digest(data, split, codec),
        skipped=skipped,
        progress=progress,
    )


def corpus_digest(data: DataSettings, split: Split, codec: TextCodec) -> str:
    """Return a short number made of all that the numbers of a part follow from.

    Of files it is their content that counts, not their names.

    >>> data = DataSettings(corpus="phrasebook")
    >>> codec = learn_codec(data, TextSettings())
    >>> one, other = (corpus_digest(data, split, codec) for split in ("train", "test"))
    >>> one == other
    False
    """
    about = asdict(data) | {"split": split, "codec": codec.digest}
    for part in ("train", "validation", "test"):
        about[part] = [digest_of(path) for path in getattr(data, part)]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def digest_of(path: str) -> str:
    """Return the digest of a file's content.

    Raises:
        CorpusError: if it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read: {reason}") from error
