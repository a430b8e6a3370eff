"""A corpus of documents as numbers on the disk, and its rows: documents packed whole."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import torch
from torch import Tensor

from attention_book.foundations.checks import check_sizes, strict
from attention_book.foundations.files import write_whole
from attention_book.foundations.seed import mixed
from attention_book.runs.batches import HEADER, BatchPlan, Side, SideWriter, digest_of, paths
from attention_book.runs.corpus import Split
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.documents import read_documents
from attention_book.runs.language.settings import DocumentSettings
from attention_book.text import BOS, EOS, PAD, CorpusError, PackedBatch, first_fit

_FORMAT = "attention_book prepared documents 1"
_NAME = "text"
_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class TextHeader:
    """What prepared documents say of themselves.

    Attributes:
        digest: Made of all that the numbers follow from.
        rows: How many documents there are.
        num_tokens: How many numbers they have together, each ``<eos>`` included.
        num_bytes: How many bytes of UTF-8 they have, an end of line each included, but not those
            of unknown characters.
        unknown: How many unknown characters there are.
        vocabulary: How many tokens there are.

    >>> header = TextHeader(digest="a", rows=1, num_tokens=3, num_bytes=3, vocabulary=9)
    >>> TextHeader.from_json(header.to_json()) == header
    True
    """

    digest: str
    rows: int
    num_tokens: int
    num_bytes: int
    unknown: int = 0
    vocabulary: int

    def to_json(self) -> str:
        """Return the header as text, for :meth:`from_json`."""
        return json.dumps({"format": _FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "TextHeader":
        """Read what :meth:`to_json` wrote."""
        try:
            content = json.loads(text)
            known = content.pop("format") == _FORMAT
            header = cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"expected prepared documents, got {text[:40]!r}") from error
        sizes = [getattr(header, each.name) for each in fields(cls) if each.name != "digest"]
        if not known or not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError(f"expected prepared documents, got {text[:40]!r}")
        return header


class PackedCorpus:
    """Documents as numbers in a folder, in rows of one width.

    Each document is read after ``<bos>`` and ends with ``<eos>``. One that is longer than a row is
    cut into pieces; each token is predicted once, from those of its piece before it.

    Args:
        folder: Where it is.
        context: How many tokens a row has.

    Attributes:
        header: What it says of itself.

    Raises:
        CorpusError: if the folder holds no prepared documents.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs.language.settings import PieceSettings
    >>> texts = ["abc", "b", "ca", "abcab"]
    >>> codec = PieceCodec.learn(texts, PieceSettings(unit="characters"))
    >>> with TemporaryDirectory() as name:
    ...     write_documents(Path(name), texts, codec, digest="these")
    ...     corpus = PackedCorpus(Path(name), context=6)
    ...     [batch] = corpus.batches(BatchPlan(batch_size=9), 1)
    ...     batch.num_tokens, corpus.header.num_tokens, batch.documents.shape
    (15, 15, torch.Size([3, 6]))
    """

    def __init__(self, folder: Path, context: int) -> None:
        check_sizes(context=context)
        self.folder, self._context = folder, context
        path = folder / HEADER
        try:
            self.header = TextHeader.from_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise CorpusError(f"{path}: {error}") from error
        self._side = Side(
            folder,
            _NAME,
            rows=self.header.rows,
            total=self.header.num_tokens,
            vocabulary=self.header.vocabulary,
            pad=PAD,
        )
        self._pieces = _pieces(self._side.lengths(), context)
        self._packed: tuple[tuple[int, int], list[list[int]]] | None = None

    def documents(self) -> Iterator[list[int]]:
        """Return the documents' numbers, without ``<bos>`` and ``<eos>``."""
        for row, length in enumerate(self._side.lengths().tolist()):
            yield self._side.stretch(row, 0, length - 1).tolist()

    def num_batches(self, plan: BatchPlan, epoch: int) -> int:
        """Return how many batches an epoch has, for any number of ranks."""
        return -(-len(self._rows(plan.seed, epoch)) // self._size(plan))

    def batches(
        self, plan: BatchPlan, epoch: int, *, start: int = 0, rank: int = 0, world: int = 1
    ) -> Iterator[PackedBatch]:
        """Go through the corpus once, every token predicted once in exactly one rank.

        Arguments as of :meth:`~attention_book.runs.PreparedCorpus.batches`.
        """
        rows, size = self._rows(plan.seed, epoch), self._size(plan)
        for number in range(start, self.num_batches(plan, epoch)):
            taken = rows[number * size : (number + 1) * size]
            mine = taken[rank::world]
            yield self._batch(mine) if mine else _uncounted(self._batch(taken[:1]))

    def _size(self, plan: BatchPlan) -> int:
        return plan.batch_size or max(1, (plan.batch_tokens or 0) // self._context)

    def _rows(self, seed: int, epoch: int) -> list[list[int]]:
        """Return which pieces make which row in an epoch."""
        if self._packed is None or self._packed[0] != (seed, epoch):
            dice = torch.Generator().manual_seed(mixed(seed, epoch))
            order = torch.randperm(len(self._pieces), generator=dice, device="cpu")
            found = first_fit(self._pieces[order, 2].tolist(), self._context)
            turns = torch.randperm(len(found), generator=dice, device="cpu").tolist()
            pieces = order.tolist()
            rows = [[pieces[each] for each in found[turn]] for turn in turns]
            self._packed = (seed, epoch), rows
        return self._packed[1]

    def _batch(self, rows: list[list[int]]) -> PackedBatch:
        shape = (len(rows), self._context)
        tokens, targets = torch.full(shape, PAD), torch.full(shape, PAD)
        documents = torch.zeros(shape, dtype=torch.long)
        for place, row in enumerate(rows):
            at = 0
            for number, piece in enumerate(row, start=1):
                document, start, length = self._pieces[piece].tolist()
                before = max(start - 1, 0)
                read = self._side.stretch(document, before, start + length - before)
                here = slice(at, at + length)
                targets[place, here] = read[start - before :]
                tokens[place, here] = read[:length] if start else _shifted(read)
                documents[place, here] = number
                at += length
        return PackedBatch(tokens, targets, documents, documents > 0)


def _shifted(read: Tensor) -> Tensor:
    return torch.cat((read.new_full((1,), BOS), read[:-1]))


def _pieces(lengths: Tensor, context: int) -> Tensor:
    """Return of each piece its document, where it starts there, and how long it is."""
    counts = (lengths + context - 1) // context
    document = torch.arange(len(lengths)).repeat_interleave(counts)
    first = counts.cumsum(0) - counts
    start = (torch.arange(len(document)) - first[document]) * context
    return torch.stack((document, start, (lengths[document] - start).clamp(max=context)), dim=1)


def _uncounted(batch: PackedBatch) -> PackedBatch:
    """Return the batch with nothing to predict."""
    with strict(False):  # which would complain of just that
        return replace(batch, mask=torch.zeros_like(batch.mask))


def write_documents(
    folder: Path, documents: Iterable[str], codec: PieceCodec, *, digest: str
) -> None:
    """Write documents as numbers into a folder; its header last, without which it is nothing.

    Raises:
        CorpusError: if there is no document with a token.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder / HEADER, *paths(folder, _NAME)):
        path.unlink(missing_ok=True)
    counts = {"rows": 0, "num_bytes": 0, "unknown": 0}
    with SideWriter(folder, _NAME, vocabulary=len(codec.vocabulary)) as writer:
        for chunk in _chunks(documents):
            for text, numbers in zip(chunk, codec.encode(chunk), strict=True):
                if not numbers:
                    continue
                unknown = codec.unknown(text) if codec.tokenizer is None else ()
                writer.add([*numbers, EOS])
                counts["rows"] += 1
                counts["unknown"] += len(unknown)
                counts["num_bytes"] += len(text.encode()) + 1 - len("".join(unknown).encode())
        total = writer.total
    if not counts["rows"]:
        raise CorpusError("expected at least one document with a token, got none")
    header = TextHeader(digest=digest, num_tokens=total, vocabulary=len(codec.vocabulary), **counts)
    write_whole(folder / HEADER, header.to_json().encode())


def _chunks(documents: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for document in documents:
        chunk.append(document)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def prepare_documents(
    folder: Path, data: DocumentSettings, split: Split, codec: PieceCodec
) -> None:
    """Prepare one part of a corpus in a folder, unless the folder holds it already.

    Raises:
        CorpusError: if the corpus cannot be read, or has no document for this part.
    """
    digest = documents_digest(data, split, codec)
    try:
        there = TextHeader.from_json((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = None
    if there is None or there.digest != digest:
        write_documents(folder, read_documents(data, split), codec, digest=digest)


def documents_digest(data: DocumentSettings, split: Split, codec: PieceCodec) -> str:
    """Return a short number made of all that the numbers of a part follow from.

    Of files it is their content that counts, not their names.
    """
    about = asdict(data) | {"split": split, "codec": codec.digest}
    for part in ("train", "validation", "test"):
        about[part] = [digest_of(path) for path in getattr(data, part)]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
