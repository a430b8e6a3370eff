"""Associative recall (MQAR): a list of pairs, then questions for the values of keys."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.foundations.checks import check_sizes


@dataclass(frozen=True)
class RecallBatch:
    """A batch of :func:`recall_task`: pairs to remember, and then keys that ask for their values.

    Attributes:
        keys: The keys that are written, one after another, (batch, written).
        values: The value that stands beside each, (batch, written).
        questions: The keys that are asked for in the end, (batch, question).
        answer: The last value that was written under each, (batch, question).

    >>> keys, values = torch.tensor([[3, 1, 3]]), torch.tensor([[7, 5, 9]])
    >>> RecallBatch(keys, values, torch.tensor([[3]]), torch.tensor([[9]])).answer.item()
    9
    """

    keys: Int[Tensor, "batch written"]
    values: Int[Tensor, "batch written"]
    questions: Int[Tensor, "batch question"]
    answer: Int[Tensor, "batch question"]


def recall_task(
    batch: int,
    num_pairs: int,
    *,
    times: int = 1,
    num_keys: int = 64,
    num_values: int = 64,
    generator: torch.Generator | None = None,
) -> RecallBatch:
    """Draw sequences that write values under keys, and then ask for the last value of each.

    All keys of a sequence are written ``times`` times, each time with a value of its own, in
    random order; then each is asked for once, in another random order. With ``times`` above 1
    a value has to be overwritten. After the synthetic tasks of Arora et al. (2024), "Zoology".

    Args:
        batch: How many sequences.
        num_pairs: Different keys in each sequence.
        times: How often each key is written.
        num_keys: How many different keys there are in all.
        num_values: How many different values there are; a guess is right once in so many.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, or there are fewer keys than pairs.

    >>> task = recall_task(1, 2, times=2, generator=torch.Generator().manual_seed(0))
    >>> task.keys, task.values
    (tensor([[35, 12, 35, 12]]), tensor([[ 0, 36, 53,  5]]))
    >>> task.questions, task.answer
    (tensor([[12, 35]]), tensor([[ 5, 53]]))
    """
    check_sizes(
        batch=batch, num_pairs=num_pairs, times=times, num_keys=num_keys, num_values=num_values
    )
    if num_keys < num_pairs:
        raise ValueError(f"num_keys: expected at least num_pairs={num_pairs}, got {num_keys}")
    drawn = _orders(batch, num_keys, generator)[:, :num_pairs]
    order = _orders(batch, num_pairs * times, generator) % num_pairs
    values = torch.randint(num_values, order.shape, generator=generator)
    questions = _orders(batch, num_pairs, generator)
    # The last place at which a key was written: the largest place with its number.
    place = torch.arange(num_pairs * times).expand_as(order)
    last = torch.zeros_like(questions).scatter_reduce(1, order, place, "amax")
    answer = values.gather(1, last).gather(1, questions)
    return RecallBatch(drawn.gather(1, order), values, drawn.gather(1, questions), answer)


def _orders(batch: int, size: int, generator: torch.Generator | None) -> Tensor:
    """Return one random permutation of 0 to size - 1 for each example."""
    return torch.rand(batch, size, generator=generator).argsort(dim=1)


__all__ = ["RecallBatch", "recall_task"]
