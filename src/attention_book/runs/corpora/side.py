"""One side of a prepared corpus: sentences as numbers in a file that is mapped into memory."""

import os
from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import Tensor

from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.text import CorpusError

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
        """Say where the files go; they are opened by ``with``."""
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
        """Write a sentence.

        Raises:
            ValueError: if a number is no token's.
        """
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

    Raises:
        CorpusError: if a file is missing, has another size, or does not say where the sentences
            begin.
    """

    def __init__(
        self, folder: Path, name: str, *, rows: int, total: int, vocabulary: int, pad: int
    ) -> None:
        """Map the files, and check where the sentences begin."""
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

    def gather(self, rows: Tensor) -> tuple[TokenIds, TokenMask]:
        """Return some sentences, padded to the longest, and the mask that says what is real.

        Raises:
            CorpusError: if a number is no token's.
        """
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
