"""A task of looking things up in a table of keys and labels."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.foundations.checks import check_sizes

# The seed of the map between queries and keys: the same in every batch, so that
# a score can learn it, and independent of the caller's random numbers.
_MAP_SEED = 2017


@dataclass(frozen=True)
class LookupBatch:
    """A batch of :func:`lookup_task`: tables, queries, and the answers.

    Attributes:
        queries: One question per position of the table, (batch, num_keys, d_key).
        keys: The entries of the table, (batch, num_keys, d_key).
        values: What stands beside each entry, a one-hot label,
            (batch, num_keys, num_labels).
        answer_index: The key each query asks for, (batch, num_keys).
        answer: The value of that key: the output of a perfect attention,
            (batch, num_keys, num_labels).

    >>> task = lookup_task(3, 5, 4)
    >>> task.error(task.answer).max()
    tensor(0.)
    """

    queries: Float[Tensor, "batch num_keys d_key"]
    keys: Float[Tensor, "batch num_keys d_key"]
    values: Float[Tensor, "batch num_keys num_labels"]
    answer_index: Int[Tensor, "batch num_keys"]
    answer: Float[Tensor, "batch num_keys num_labels"]

    def error(self, output: Float[Tensor, "batch num_keys num_labels"]) -> Tensor:
        """Return how much of each output lies on wrong labels, (batch, num_keys).

        .. math:: \\text{error}_i = 1 - \\text{output}_i \\cdot \\text{answer}_i

        It is linear in the output. So the error of soft attention *is* the
        expected error of an attention that draws one key with the same weights,
        and the two can be trained, and compared, by one number.

        Raises:
            ValueError: if ``output`` is not shaped like ``answer``.
        """
        self._check(output)
        return 1 - (output * self.answer).sum(dim=-1)

    def accuracy(self, output: Float[Tensor, "batch num_keys num_labels"]) -> float:
        """Return the fraction of queries whose largest label is the right one.

        Raises:
            ValueError: if ``output`` is not shaped like ``answer``.
        """
        self._check(output)
        return (output.argmax(dim=-1) == self.answer.argmax(dim=-1)).float().mean().item()

    def _check(self, output: Tensor) -> None:
        if output.shape != self.answer.shape:
            raise ValueError(
                f"output: expected the shape of the answers, {tuple(self.answer.shape)}, "
                f"got the shape {tuple(output.shape)}"
            )


def lookup_map(d_key: int) -> Float[Tensor, "d_key d_key"]:
    """Return the fixed rotation R that turns a key into the query that asks for it.

    It depends on ``d_key`` alone. A bilinear score :math:`q^\\top W k` finds the
    right key when W is a multiple of R, the surer the larger the multiple.

    >>> R = lookup_map(3)
    >>> torch.allclose(R @ R.T, torch.eye(3), atol=1e-6)
    True
    """
    generator = torch.Generator().manual_seed(_MAP_SEED)
    rotation: Tensor = torch.linalg.qr(torch.randn(d_key, d_key, generator=generator)).Q
    return rotation


def lookup_task(
    batch: int,
    num_keys: int,
    d_key: int,
    *,
    noise: float = 0.1,
    num_labels: int = 8,
    reach: int | None = None,
    rotated: bool = True,
    generator: torch.Generator | None = None,
) -> LookupBatch:
    """Draw tables of keys and labels, and queries that each ask for one key.

    .. math:: q_i = R \\, k_{a(i)} + \\varepsilon_i,
        \\qquad \\varepsilon_i \\sim N(0, \\text{noise}^2 I)

    The keys point in random directions and are all of length
    :math:`\\sqrt{d_{key}}`: among keys of one length, the largest dot product is
    the nearest key. The rotation R is ``lookup_map(d_key)``, the same in every
    batch, so that a score can and must learn it. Each key carries one of
    ``num_labels`` random labels; a guess is right once in ``num_labels`` times.

    There are as many queries as keys, and query i stands at position i, so that
    local attention has a place to look around.

    Args:
        batch: How many tables.
        num_keys: Keys, and queries, per table.
        d_key: Features of a key and of a query.
        noise: Standard deviation of :math:`\\varepsilon`.
        num_labels: How many labels there are.
        reach: The answer a(i) lies at most this far from position i; None: anywhere.
        rotated: False leaves R out: then a score that compares is right untrained.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, or ``noise`` or ``reach`` is negative.

    >>> task = lookup_task(2, 5, 4, reach=1, generator=torch.Generator().manual_seed(0))
    >>> task.answer_index[0]
    tensor([1, 1, 3, 4, 3])
    >>> task.values.shape
    torch.Size([2, 5, 8])
    """
    check_sizes(batch=batch, num_keys=num_keys, d_key=d_key, num_labels=num_labels)
    _check_task(noise, reach)
    directions = torch.randn(batch, num_keys, d_key, generator=generator)
    keys = math.sqrt(d_key) * torch.nn.functional.normalize(directions, dim=-1)
    labels = torch.randint(num_labels, (batch, num_keys), generator=generator)
    answer_index = _draw_positions(batch, num_keys, reach, generator)
    error = noise * torch.randn(batch, num_keys, d_key, generator=generator)

    values = torch.nn.functional.one_hot(labels, num_labels).to(keys.dtype)
    asked_for = keys.take_along_dim(answer_index.unsqueeze(-1), dim=1)
    queries = (asked_for @ lookup_map(d_key).T if rotated else asked_for) + error
    answer = values.take_along_dim(answer_index.unsqueeze(-1), dim=1)
    return LookupBatch(queries, keys, values, answer_index, answer)


def _draw_positions(
    batch: int, num_keys: int, reach: int | None, generator: torch.Generator | None
) -> Int[Tensor, "batch num_keys"]:
    """Draw one position per query, uniform over those within reach that exist."""
    own = torch.arange(num_keys)
    distance = num_keys if reach is None else reach
    first = (own - distance).clamp(min=0)
    last = (own + distance).clamp(max=num_keys - 1)
    share = torch.rand(batch, num_keys, generator=generator)
    return first + (share * (last - first + 1)).long()


def _check_task(noise: float, reach: int | None) -> None:
    if noise < 0:
        raise ValueError(f"noise: expected a standard deviation, 0 or more, got {noise}")
    if reach is not None and reach < 0:
        raise ValueError(f"reach: expected a distance, 0 or more, or None, got {reach}")
