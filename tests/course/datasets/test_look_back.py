"""The look-back task: what it asks, how it is judged, and what is no use for it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attention_book.course.datasets import LookBackBatch, look_back_task


@given(batch=st.integers(1, 3), length=st.integers(2, 11), data=st.data())
def test_the_answer_is_the_word_the_distance_back(
    batch: int, length: int, data: st.DataObject
) -> None:
    distance = data.draw(st.integers(1, length - 1))
    task = look_back_task(batch, length, distance, num_words=7)
    assert task.words.shape == (batch, length)
    assert task.answer.shape == (batch, length - distance)
    for i in range(distance, length):
        assert torch.equal(task.answer[:, i - distance], task.words[:, i - distance])


def test_every_word_is_as_likely_and_none_tells_of_another() -> None:
    words = look_back_task(
        4000, 5, 2, num_words=3, generator=torch.Generator().manual_seed(0)
    ).words
    share = F.one_hot(words, 3).float()
    torch.testing.assert_close(share.mean(dim=0), torch.full((5, 3), 1 / 3), atol=0.03, rtol=0)
    together = torch.einsum("biv,bjw->ijvw", share, share) / 4000
    for i in range(5):
        for j in range(i):
            assert (together[i, j] - 1 / 9).abs().max() < 0.03


def test_a_perfect_answer_costs_nothing_and_a_uniform_one_the_log_of_the_words() -> None:
    task = look_back_task(2, 7, 3, num_words=5)
    perfect = torch.zeros(2, 7, 5)
    perfect[:, 3:] = 100.0 * F.one_hot(task.words[:, :-3], 5)
    assert task.accuracy(perfect) == 1.0
    assert task.loss(perfect) < 1e-6
    assert task.loss(torch.zeros(2, 7, 5)).item() == pytest.approx(math.log(5), abs=1e-6)


def test_positions_that_ask_for_nothing_do_not_count() -> None:
    task = look_back_task(2, 7, 3, num_words=5)
    logits = torch.randn(2, 7, 5)
    changed = logits.clone()
    changed[:, :3] = torch.randn(2, 3, 5)
    assert torch.equal(task.loss(logits), task.loss(changed))
    assert task.accuracy(logits) == task.accuracy(changed)
    changed[:, 3] += 10 * torch.randn(2, 5)
    assert not torch.equal(task.loss(logits), task.loss(changed))


def test_accuracy_is_the_fraction_of_right_answers() -> None:
    task = LookBackBatch(torch.tensor([[1, 2, 0, 1, 2]]), distance=1)
    answers = torch.tensor([[0, 1, 2, 0, 2]])  # right, right, right, wrong
    assert task.accuracy(F.one_hot(answers, 3).float()) == 0.75


def test_the_same_generator_draws_the_same_words() -> None:
    draws = [look_back_task(2, 5, 1, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(draws[0].words, draws[1].words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"length": 0}, "length: expected at least 1, got 0"),
        ({"distance": 0}, "distance: expected at least 1, got 0"),
        ({"num_words": 0}, "num_words: expected at least 1, got 0"),
        ({"distance": 5}, "distance: expected less than length=5, got 5"),
    ],
)
def test_wrong_sizes_are_named(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        look_back_task(**({"batch": 1, "length": 5, "distance": 2} | arguments))


@pytest.mark.usefixtures("unchecked")
def test_predictions_for_other_words_are_named() -> None:
    task = look_back_task(2, 5, 2)
    with pytest.raises(ValueError, match=r"logits: .*\(2, 5, 'num_words'\), got .*\(2, 3, 20\)"):
        task.loss(torch.zeros(2, 3, 20))
    with pytest.raises(ValueError, match="logits: expected one prediction for each word"):
        task.accuracy(torch.zeros(1, 5, 20))
