"""One look: what it is made of, that it learns by position, and what it cannot know without."""

import pytest
import torch
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import NoPositions, SinusoidalPositions, sinusoids
from attention_book.course.datasets import look_back_task
from attention_book.course.models import OneLook
from attention_book.training import descend


def small(place=None, **options) -> OneLook:
    set_seed(1)
    return OneLook(num_words=5, d_model=6, place=place or SinusoidalPositions(d_model=6), **options)


def test_it_is_words_positions_one_attention_and_one_map() -> None:
    model, words = small(), torch.randint(5, (2, 7))
    x = model.embedding.weight[words] + sinusoids(7, 6)
    expected = model.attention.weights(x) @ (x @ model.attention.W_v.weight.T)
    expected = expected @ model.output.weight.T + model.output.bias
    torch.testing.assert_close(model(words), expected)
    torch.testing.assert_close(model.weights(words), model.attention.weights(x))


def test_centred_word_vectors_share_no_common_part() -> None:
    model = small(centred=True)
    with torch.no_grad():
        model.embedding.weight += 3.0
    every_word = model.embed(torch.arange(5)[None])
    torch.testing.assert_close(every_word.mean(dim=1), torch.zeros(1, 6), atol=1e-6, rtol=0)
    weight = model.embedding.weight
    torch.testing.assert_close(every_word[0], weight - weight.mean(dim=0))
    assert small().embed(torch.arange(5)[None]).mean().abs() > 0.01


def test_without_positions_it_is_equivariant_and_with_them_it_is_not() -> None:
    words, order = torch.tensor([[0, 3, 1, 4, 2]]), torch.tensor([4, 2, 0, 1, 3])
    without, given = small(NoPositions()), small()
    torch.testing.assert_close(without(words[:, order]), without(words)[:, order])
    assert (given(words[:, order]) - given(words)[:, order]).abs().max() > 0.01


def test_any_function_can_put_the_positions_in() -> None:
    table, words = torch.randn(7, 6), torch.randint(5, (2, 7))
    model = small(lambda x: x * table)
    x = model.embedding.weight[words] * table
    torch.testing.assert_close(model.weights(words), model.attention.weights(x))


def accuracy_after_training(place, steps: int = 200) -> float:
    set_seed(0)
    model = OneLook(num_words=10, d_model=16, place=place)

    def loss() -> Tensor:
        task = look_back_task(32, 9, 2, num_words=10)
        return task.loss(model(task.words))

    list(descend(loss, torch.optim.Adam(model.parameters(), lr=0.01), steps=steps))
    task = look_back_task(200, 9, 2, num_words=10)
    return task.accuracy(model(task.words))


def test_it_learns_to_look_back_with_positions_and_only_with_them() -> None:
    assert accuracy_after_training(SinusoidalPositions(d_model=16)) > 0.99
    assert accuracy_after_training(NoPositions()) < 0.4


def test_a_word_outside_the_vocabulary_is_named() -> None:
    with pytest.raises(ValueError, match="words: expected token numbers from 0 to 4, got 1 to 5"):
        small()(torch.tensor([[1, 5]]))
