"""A split leaves nothing out, repeats nothing, and lets no test sentence be seen before."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import SentencePair, leaks, split_pairs


def corpus(sources):
    return [SentencePair((str(s),), (f"{s}/{n}",)) for n, s in enumerate(sources)]


# Sources that occur once, twice or three times, not side by side.
SOURCES = st.lists(st.integers(1, 3), min_size=40, max_size=60).map(
    lambda counts: [s for turn in range(3) for s, count in enumerate(counts) if count > turn]
)
FRACTIONS = st.sampled_from([(0.8, 0.2), (0.5, 0.3, 0.2), (1.0,)])


@given(SOURCES, FRACTIONS, st.integers(0, 9))
def test_every_pair_is_in_exactly_one_part_in_the_corpus_s_order(sources, fractions, seed):
    pairs = corpus(sources)
    parts = split_pairs(pairs, fractions=fractions, seed=seed)
    assert len(parts) == len(fractions)
    place = {pair: number for number, pair in enumerate(pairs)}
    assert sorted(place[pair] for part in parts for pair in part) == list(range(len(pairs)))
    assert all([place[p] for p in part] == sorted(place[p] for p in part) for part in parts)


@given(SOURCES, FRACTIONS, st.integers(0, 9))
def test_no_source_stands_in_two_parts(sources, fractions, seed):
    pairs = corpus(sources)
    parts = split_pairs(pairs, fractions=fractions, seed=seed)
    for number, part in enumerate(parts):
        for other in parts[number + 1 :]:
            assert leaks(part, other) == ()


@given(SOURCES, FRACTIONS, st.integers(0, 9))
def test_a_part_misses_its_share_by_one_source_at_most(sources, fractions, seed):
    pairs = corpus(sources)
    largest = max(map(sources.count, sources))
    for part, share in zip(
        split_pairs(pairs, fractions=fractions, seed=seed), fractions, strict=True
    ):
        assert abs(len(part) - share * len(pairs)) <= largest


def test_without_repeated_sources_the_shares_are_exact():
    parts = split_pairs(corpus(range(1000)), fractions=(0.7, 0.2, 0.1), seed=1)
    assert [len(part) for part in parts] == [700, 200, 100]


def test_the_seed_names_the_split_and_the_global_numbers_are_left_alone():
    pairs = corpus(range(100))
    state = torch.get_rng_state()
    first = split_pairs(pairs, fractions=(0.5, 0.5), seed=1)
    assert split_pairs(pairs, fractions=(0.5, 0.5), seed=1) == first
    assert split_pairs(pairs, fractions=(0.5, 0.5), seed=2) != first
    assert torch.equal(torch.get_rng_state(), state)


def test_a_leak_is_found_by_source_and_by_pair():
    a, b, c = ("a",), ("b",), ("c",)
    train = [SentencePair(a, b), SentencePair(b, c)]
    test = [SentencePair(a, b), SentencePair(a, c), SentencePair(c, b)]
    assert leaks(train, test) == tuple(test[:2])
    assert leaks(train, test, by="pair") == tuple(test[:1])


def test_a_leak_is_a_leak_whatever_its_alignment():
    links = frozenset({(0, 0)})
    aligned = SentencePair(("a",), ("b",), links)
    assert leaks([SentencePair(("a",), ("b",))], [aligned], by="pair") == (aligned,)


@pytest.mark.parametrize("fractions", [(0.5, 0.4), (0.8, 0.3), (1.2, -0.2), (1.0, 0.0), ()])
def test_shares_that_make_no_whole_are_an_error(fractions):
    with pytest.raises(ValueError, match="fractions: expected positive shares of sum 1"):
        split_pairs(corpus(range(10)), fractions=fractions, seed=0)


@pytest.mark.parametrize("sources", [[], [1], [1, 1, 1, 1]])
def test_too_few_sources_are_an_error(sources):
    with pytest.raises(ValueError, match="pairs: expected enough sources for 2 parts"):
        split_pairs(corpus(sources), fractions=(0.5, 0.5), seed=0)
