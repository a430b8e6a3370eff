"""Kneser–Ney against its formula; xz; copying against a search by hand."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs.language.yardsticks import KneserNey, copying, xz_bits_a_byte
from attention_book.text import BOS, EOS

TEXTS = [[4, 5, 6], [4, 5, 5], [6, 4], [5, 6, 4, 5]]
documents = st.lists(st.lists(st.integers(4, 7), max_size=6), min_size=1, max_size=6)


@given(texts=documents, order=st.integers(1, 4), history=st.lists(st.integers(2, 7), max_size=5))
def test_probabilities_sum_to_one(texts: list[list[int]], order: int, history: list[int]) -> None:
    model = KneserNey(texts, vocabulary=8, order=order)
    short = tuple(history[max(0, len(history) - order + 1) :] if order > 1 else ())
    total = sum(model.probability(token, short) for token in range(8))
    assert math.isclose(total, 1.0, rel_tol=1e-9)


def test_bigrams_are_the_formula() -> None:
    """By hand: 4 is followed by 5, 5, <eos>, 5; the rest counts in how many ways."""
    model = KneserNey(TEXTS, vocabulary=8, order=2, discount=0.5)
    pairs = {(a, b) for text in TEXTS for a, b in zip([BOS, *text], [*text, EOS], strict=True)}
    ways = {token: sum(b == token for _, b in pairs) for token in range(8)}
    kinds = sum(count > 0 for count in ways.values())

    def shorter(token: int) -> float:
        return (max(ways[token] - 0.5, 0) + 0.5 * kinds / 8) / len(pairs)

    assert math.isclose(model.probability(5, (4,)), (2.5 + 0.5 * 2 * shorter(5)) / 4)
    assert math.isclose(model.probability(7, (4,)), 0.5 * 2 * shorter(7) / 4)


def test_nats_are_a_mean_with_the_end_counted() -> None:
    model = KneserNey(TEXTS, vocabulary=8, order=2)
    found = model.nats([[4, 5]])
    steps = [((BOS,), 4), ((4,), 5), ((5,), EOS)]
    expected = -sum(math.log(model.probability(token, history)) for history, token in steps) / 3
    assert math.isclose(found, expected)


def test_what_was_counted_is_less_of_a_surprise() -> None:
    trained = KneserNey(TEXTS * 5, vocabulary=8, order=3)
    assert trained.nats(TEXTS) < KneserNey([[7, 7]], vocabulary=8, order=3).nats(TEXTS)


def test_xz_finds_what_stood_before() -> None:
    dice = Random(1)
    text = "".join(dice.choices("abcdefghijklmnop", k=6000))
    assert xz_bits_a_byte(text, text) < 0.5 < 4 <= xz_bits_a_byte("", text)
    with pytest.raises(ValueError, match="expected a text, got none"):
        xz_bits_a_byte("a", "")


def longest_by_hand(text: list[int], train: list[list[int]]) -> int:
    runs = {tuple(d[i:j]) for d in train for i in range(len(d)) for j in range(i, len(d) + 1)}
    spans = [(i, j) for i in range(len(text)) for j in range(i, len(text) + 1)]
    return max((j - i for i, j in spans if tuple(text[i:j]) in runs), default=0)


@given(text=st.lists(st.integers(4, 7), max_size=8), train=documents)
def test_the_longest_run_is_that_of_a_search_by_hand(
    text: list[int], train: list[list[int]]
) -> None:
    found = copying([text], train)
    assert found.longest_of_all == longest_by_hand(text, train)
    assert found.whole == (text in train)


def test_numbers_of_any_size_are_told_apart() -> None:
    high = [0xD7FF, 0xD800, 0xDFFF, 0xE000, 60_000]
    assert copying([high], [high[:-1]]).longest == 4
