"""Recall: what is asked has been written, and what counts is what was written last."""

import pytest
import torch

from attention_book import set_seed
from attention_book.course.datasets import recall_task


def drawn(**options):
    set_seed(3)
    return recall_task(7, 5, num_keys=11, num_values=13, **options)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_every_key_is_written_so_often_and_asked_for_once(times):
    task = drawn(times=times)
    assert task.keys.shape == task.values.shape == (7, 5 * times)
    for keys, questions in zip(task.keys.tolist(), task.questions.tolist(), strict=True):
        assert sorted(keys) == sorted(questions * times)
        assert len(set(questions)) == 5
    assert task.values.max() < 13


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_answer_is_the_last_value_written_under_the_key(times):
    task = drawn(times=times)
    for row in range(7):
        memory = dict(zip(task.keys[row].tolist(), task.values[row].tolist(), strict=True))
        expected = [memory[key] for key in task.questions[row].tolist()]
        assert task.answer[row].tolist() == expected


def test_orders_and_keys_differ_from_sequence_to_sequence():
    task = recall_task(300, 4, times=2, num_keys=6, num_values=3)
    assert len({tuple(row) for row in task.keys.tolist()}) > 280
    first = task.keys[:, 0].bincount(minlength=6)
    assert first.min() > 25  # each of six keys about 50 times
    assert task.answer.flatten().bincount().min() > 300  # each of three values about 400 times


def test_a_generator_decides_and_the_global_numbers_stay():
    one = recall_task(2, 3, generator=torch.Generator().manual_seed(5))
    state = torch.random.get_rng_state()
    two = recall_task(2, 3, generator=torch.Generator().manual_seed(5))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(one.keys, two.keys)
    assert torch.equal(one.values, two.values)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"num_pairs": 0}, "num_pairs: expected at least 1, got 0"),
        ({"times": 0}, "times: expected at least 1, got 0"),
        ({"num_keys": 2}, "num_keys: expected at least num_pairs=3, got 2"),
    ],
)
def test_wrong_sizes_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        recall_task(**({"batch": 1, "num_pairs": 3} | sizes))
