"""A corpus as numbers on the disk, batched from there: its size is no matter of memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import strict
from attention_book.runs.corpora.files import Skipped
from attention_book.runs.corpora.header import Header
from attention_book.runs.corpora.plan import BatchPlan, Order
from attention_book.runs.corpora.side import Side
from attention_book.runs.corpora.writing import write_folder
from attention_book.text import Batch, CorpusError, Vocabulary

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
        """Map the files of the folder."""
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

        Raises:
            ValueError: if ``rank`` is not below ``world``, or ``start`` is negative.
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
