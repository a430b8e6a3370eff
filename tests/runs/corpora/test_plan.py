"""Batches of an epoch: every row once, never too large, and the same each time."""

from collections import Counter

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.runs.corpora import BatchPlan

LENGTHS = st.lists(st.tuples(st.integers(2, 40), st.integers(2, 40)), min_size=1, max_size=200)
PLANS = st.builds(
    lambda by, size, seed, pool: BatchPlan(**{by: size}, seed=seed, pool=pool),
    st.sampled_from(["batch_tokens", "batch_size"]),
    st.integers(1, 120),
    st.integers(0, 2**32 - 1),
    st.integers(1, 100),
)


def batches(plan, lengths, epoch=1):
    sources, targets = torch.tensor(lengths).T
    order = plan.order(sources, targets, epoch=epoch)
    return [order.rows(number).tolist() for number in range(len(order))]


@given(PLANS, LENGTHS, st.integers(0, 5))
def test_every_row_is_in_exactly_one_batch_and_no_batch_is_empty(plan, lengths, epoch):
    found = batches(plan, lengths, epoch)
    assert all(found)
    assert sorted(row for rows in found for row in rows) == list(range(len(lengths)))


@given(PLANS, LENGTHS)
def test_no_batch_is_larger_than_it_may_be_but_for_a_single_pair(plan, lengths):
    for rows in batches(plan, lengths):
        longest = max(max(lengths[row]) for row in rows)
        if plan.batch_size:
            assert len(rows) <= plan.batch_size
        else:
            assert len(rows) == 1 or len(rows) * longest <= plan.batch_tokens


@given(LENGTHS, st.integers(1, 120))
@example([(2, 3)] * 3, 6)
@example([(2, 3)] * 5 + [(4, 2)], 7)
def test_in_one_pool_a_batch_is_as_full_as_it_can_be(lengths, size):
    """The next shorter row would not have fitted: what greedy means."""
    plan = BatchPlan(batch_tokens=size, pool=1000)
    found = [
        tuple(sorted((max(lengths[row]) for row in rows), reverse=True))
        for rows in batches(plan, lengths)
    ]
    rest = sorted((max(pair) for pair in lengths), reverse=True)
    expected = []
    while rest:
        count = max(1, size // rest[0])
        expected.append(tuple(rest[:count]))
        rest = rest[count:]
    # Batches whose longest rows are equal come in any order: as many of each kind, that is all.
    assert Counter(found) == Counter(expected)


def test_seed_and_epoch_are_not_one_number():
    """The kind: two numbers mixed into one, so that neighbors coincide (1 and 2, 2 and 1)."""
    lengths = [(2 + number % 13, 2 + number % 7) for number in range(150)]
    seeds, epochs = (0, 1, 2, 3, 11, 12, 255, 256, 4096, 2**32 - 1), (0, 1, 2, 3, 11, 12, 4096)
    found = {
        (seed, epoch): str(batches(BatchPlan(batch_tokens=99, seed=seed), lengths, epoch))
        for seed in seeds
        for epoch in epochs
    }
    assert len(set(found.values())) == len(seeds) * len(epochs)


def test_seed_and_epoch_decide_and_nothing_else():
    lengths = [(2 + number % 13, 2 + number % 7) for number in range(300)]
    plan = BatchPlan(batch_tokens=100, seed=3)
    state = torch.get_rng_state()
    first = batches(plan, lengths, epoch=1)
    torch.manual_seed(99)
    assert batches(plan, lengths, epoch=1) == first
    torch.set_rng_state(state)
    batches(plan, lengths, epoch=1)
    assert torch.equal(torch.get_rng_state(), state)
    assert batches(plan, lengths, epoch=2) != first
    assert batches(BatchPlan(batch_tokens=100, seed=4), lengths, epoch=1) != first
    # A seed beyond 32 bits of which torch would read the lower half only.
    assert batches(BatchPlan(batch_tokens=100, seed=3 + 2**32), lengths, epoch=1) != first


def test_other_epochs_put_other_sentences_together():
    lengths = [(5, 5)] * 400
    plan = BatchPlan(batch_size=20, pool=80)
    one, other = ({frozenset(rows) for rows in batches(plan, lengths, e)} for e in (1, 2))
    assert not one & other


def test_long_batches_do_not_all_come_first():
    lengths = [(length, length) for length in range(2, 402)]
    longest = [max(lengths[row][0] for row in rows) for rows in
               batches(BatchPlan(batch_size=10), lengths)]  # fmt: skip
    assert longest != sorted(longest, reverse=True)
    assert longest != sorted(longest)


def padding(plan, lengths):
    places = words = 0
    for rows in batches(plan, lengths):
        for side in (0, 1):
            sizes = [lengths[row][side] for row in rows]
            places += len(rows) * max(sizes)
            words += sum(sizes)
    return 1 - words / places


def test_a_pool_saves_padding():
    dice = torch.Generator().manual_seed(0)
    sources = torch.randint(2, 60, (2000,), generator=dice).tolist()
    lengths = [(source, max(2, source + source % 5 - 2)) for source in sources]
    with_pool = padding(BatchPlan(batch_size=32), lengths)
    without = padding(BatchPlan(batch_size=32, pool=1), lengths)
    assert with_pool < 0.1 < 0.3 < without


def test_all_batches_but_one_of_a_pool_have_the_size():
    sizes = sorted(map(len, batches(BatchPlan(batch_size=7, pool=20), [(3, 3)] * 30)))
    assert sizes == [2, 7, 7, 7, 7]  # a pool holds whole batches: 14 of the 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "batch_tokens, batch_size: expected one of the two, got None and None"),
        ({"batch_tokens": 1, "batch_size": 1}, "expected one of the two, got 1 and 1"),
        ({"batch_tokens": 0}, "batch_tokens: expected at least 1"),
        ({"batch_size": 5, "pool": 0}, "pool: expected at least 1"),
    ],
)
def test_wrong_numbers_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BatchPlan(**options)
