"""Which rows make which batch: drawn anew for every epoch, the same for any number of ranks."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.seed import mixed


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

    Raises:
        ValueError: if a number is below 1, or both or none of the two sizes are given.

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
        shuffled = torch.randperm(len(sources), generator=dice)
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
        turns = torch.randperm(len(starts), generator=dice)
        return Order(torch.cat(pools), torch.tensor([*starts, before]), turns)

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
