"""Repeated words: what comes again, what can be known, and what is no use for knowing it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attention_book.course.datasets import RepeatedBatch, embedded_repeat, periodic_words
from attention_book.inspection import after_earlier


@given(shortest=st.integers(1, 5), more=st.integers(0, 4), length=st.integers(1, 23))
def test_a_text_says_the_same_different_words_over_and_over(shortest, more, length):
    batch = periodic_words(5, length, shortest=shortest, longest=shortest + more, num_words=11)
    assert batch.words.shape == batch.known.shape == (5, length)
    for words, known in zip(batch.words.tolist(), batch.known.tolist(), strict=True):
        fits = [
            p
            for p in range(shortest, shortest + more + 1)
            if len(set(words[:p])) == min(p, length)
            and all(words[i] == words[i % p] for i in range(length))
        ]
        assert fits
        unknown = sum(not each for each in known)
        assert unknown == length or unknown - 1 in fits


def test_all_periods_and_all_words_are_drawn_evenly():
    torch.manual_seed(0)
    batch = periodic_words(6000, 9, shortest=3, longest=5, num_words=7)
    period = (~batch.known).sum(dim=1) - 1
    share = torch.bincount(period, minlength=6)[3:] / 6000
    torch.testing.assert_close(share, torch.full((3,), 1 / 3), atol=0.03, rtol=0)
    first = torch.bincount(batch.words[:, 0], minlength=7) / 6000
    torch.testing.assert_close(first, torch.full((7,), 1 / 7), atol=0.03, rtol=0)


@given(segment=st.integers(1, 5), more=st.integers(0, 9), num_words=st.integers(6, 11))
def test_one_segment_comes_twice_and_its_words_nowhere_else(segment, more, num_words):
    length = 2 * segment + more
    batch = embedded_repeat(5, length, segment=segment, num_words=num_words)
    for words, known in zip(batch.words.tolist(), batch.known.tolist(), strict=True):
        last = words[-segment:]
        assert len(set(last)) == segment
        starts = [i for i in range(length - segment) if words[i : i + segment] == last]
        assert len(starts) == 1
        assert sum(word in last for word in words) == 2 * segment
        assert known == [i > length - segment for i in range(length)]


@pytest.mark.parametrize("draw", [periodic_words, embedded_repeat])
def test_what_is_known_follows_an_earlier_occurrence_of_the_word_before(draw):
    torch.manual_seed(1)
    batch = draw(20)
    looks = after_earlier(batch.inputs)
    for text, place in batch.known.nonzero().tolist():
        keys = looks[text, place - 1].nonzero()[:, 0]
        assert len(keys) > 0
        assert (batch.words[text, keys] == batch.words[text, place]).all()


def test_distances_of_an_embedded_repeat_differ():
    torch.manual_seed(1)
    words = embedded_repeat(300, 20, segment=4, num_words=9).words
    first = (words[:, :-4] == words[:, -4:-3]).int().argmax(dim=1)
    assert sorted(first.unique().tolist()) == list(range(13))


def test_a_perfect_guess_costs_nothing_and_none_the_log_of_the_words():
    batch = periodic_words(2, 9, shortest=2, longest=4, num_words=7)
    perfect = 100.0 * F.one_hot(batch.targets, 7).float()
    assert batch.accuracy(perfect) == 1
    assert batch.loss(perfect) < 1e-6
    assert batch.loss(torch.zeros(2, 8, 7)).item() == pytest.approx(math.log(7), abs=1e-6)
    logits = torch.randn(2, 8, 7)
    losses = batch.losses(logits)
    assert losses[1, 3].item() == pytest.approx(
        -logits[1, 3].log_softmax(-1)[batch.words[1, 4]].item(), abs=1e-5
    )


def test_only_known_words_count_as_right_or_wrong():
    words = torch.tensor([[0, 1, 0, 1, 2]])
    batch = RepeatedBatch(words, torch.tensor([[False, False, False, True, True]]))
    guesses = F.one_hot(torch.tensor([[0, 2, 1, 0]]), 3).float()  # the two known: right, wrong
    assert batch.accuracy(guesses) == 0.5


@pytest.mark.parametrize("draw", [periodic_words, embedded_repeat])
def test_the_same_generator_draws_the_same(draw):
    first, again, other = (
        draw(3, generator=torch.Generator().manual_seed(seed)).words for seed in (5, 5, 6)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: periodic_words(0), "batch: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=0), "shortest: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=9, longest=8), "from shortest=9 to num_words=32"),
        (lambda: periodic_words(1, longest=33), "from shortest=8 to num_words=32, got 33"),
        (lambda: embedded_repeat(1, segment=0), "segment: expected at least 1, got 0"),
        (lambda: embedded_repeat(1, segment=25), "segment: expected at most half of length=48"),
        (lambda: embedded_repeat(1, num_words=12), "segment: expected less than num_words=12"),
    ],
)
def test_wrong_sizes_are_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.usefixtures("unchecked")
def test_predictions_for_other_words_are_named():
    batch = periodic_words(2, 9)
    for call in (batch.loss, batch.losses, batch.accuracy):
        with pytest.raises(
            ValueError, match=r"logits: .*\(2, 8, 'num_words'\), got .*\(2, 9, 32\)"
        ):
            call(torch.zeros(2, 9, 32))
