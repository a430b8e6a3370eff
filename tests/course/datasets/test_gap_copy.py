"""Copying across gaps: what can be known, and that nothing else can."""

import pytest
import torch

from attention_book.course.datasets import copy_once, copy_with_gaps


def test_what_is_known_follows_its_predecessor_again():
    texts = copy_with_gaps(50, 64)
    for words, known in zip(texts.words.tolist(), texts.known.tolist(), strict=True):
        for place in range(64):
            if known[place]:
                earlier = words[: place - 1].index(words[place - 1])
                assert words[earlier + 1] == words[place] < 32


def test_the_first_of_a_list_and_fillers_are_not_known():
    texts = copy_with_gaps(50, 64)
    assert not texts.known[texts.words >= 32].any()
    assert not texts.known[:, :9].any()
    assert texts.known.any(dim=1).all()


def test_words_come_twice_with_fillers_between():
    texts = copy_once(20, 100, num_words=12)
    assert torch.equal(texts.words[:, :12], texts.words[:, -12:])
    assert (texts.words[:, 12:-12] >= 32).all()
    assert texts.known.sum() == 20 * 11


def test_refused():
    with pytest.raises(ValueError, match=r"num_words: expected at most 4, .* got 5"):
        copy_once(1, 9, num_words=5)
    with pytest.raises(ValueError, match="batch"):
        copy_with_gaps(0)
