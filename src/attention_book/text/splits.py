"""Splitting a corpus without leaks from the training set, and a test for leaks."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import torch

from attention_book.foundations.seed import check_seed
from attention_book.text.pairs import SentencePair


def split_pairs(
    pairs: Sequence[SentencePair], *, fractions: Sequence[float], seed: int
) -> tuple[tuple[SentencePair, ...], ...]:
    """Split a corpus at random, all pairs with the same source into the same part.

    A corpus has several translations of many a sentence. Were they split pair by
    pair, a test would ask for sentences that the training has seen.

    Args:
        pairs: The corpus.
        fractions: The share of the pairs that each part gets; their sum is 1.
            A part may miss its share by the pairs of one source.
        seed: Names the split, from 0 to 2**32 - 1; the global random numbers are left alone.

    Returns:
        As many parts as fractions, each in the order of the corpus.

    Raises:
        ValueError: if the fractions are not positive or their sum is not 1, or if
            a part would be empty.

    >>> pairs = [SentencePair((str(i // 2),), (str(i),)) for i in range(10)]
    >>> train, test = split_pairs(pairs, fractions=(0.8, 0.2), seed=0)
    >>> len(train), len(test), leaks(train, test)
    (8, 2, ())
    """
    if min(fractions, default=0) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions: expected positive shares of sum 1, got {tuple(fractions)}")
    check_seed(seed)
    part_of = _part_of_source(pairs, fractions, seed)
    parts: tuple[list[SentencePair], ...] = tuple([] for _ in fractions)
    for pair in pairs:
        parts[part_of[pair.source]].append(pair)
    if not all(parts):
        raise ValueError(
            f"pairs: expected enough sources for {len(parts)} parts, got {len(part_of)}: "
            "a part is empty"
        )
    return tuple(map(tuple, parts))


def _part_of_source(
    pairs: Sequence[SentencePair], fractions: Sequence[float], seed: int
) -> dict[tuple[str, ...], int]:
    """Deal out the sources in random order, each part until it is full."""
    count = Counter(pair.source for pair in pairs)
    sources = list(count)
    order = torch.randperm(len(sources), generator=torch.Generator().manual_seed(seed))
    ends = [len(pairs) * share - 1e-6 for share in itertools.accumulate(fractions)]
    part_of, dealt, part = {}, 0, 0
    for index in order.tolist():
        while part < len(ends) - 1 and dealt >= ends[part]:
            part += 1
        part_of[sources[index]] = part
        dealt += count[sources[index]]
    return part_of


def leaks(
    train: Iterable[SentencePair],
    test: Iterable[SentencePair],
    *,
    by: Literal["source", "pair"] = "source",
) -> tuple[SentencePair, ...]:
    """Return the test pairs that the training has seen.

    Args:
        train: The pairs that a model learns from.
        test: The pairs that it is measured on.
        by: "source": the sentence to translate stands in the training, with
            whatever translation. "pair": with this very translation.

    >>> seen = SentencePair(("go", "."), ("va", "!"))
    >>> other = SentencePair(("go", "."), ("marche", "."))
    >>> leaks([seen], [other]) == (other,)
    True
    >>> leaks([seen], [other], by="pair")
    ()
    """
    if by not in ("source", "pair"):
        raise ValueError(f"by: expected 'source' or 'pair', got {by!r}")

    def key(pair: SentencePair) -> tuple[tuple[str, ...], ...]:
        return (pair.source,) if by == "source" else (pair.source, pair.target)

    seen = {key(pair) for pair in train}
    return tuple(pair for pair in test if key(pair) in seen)
