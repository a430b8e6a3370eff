"""The lookup task: that it is what it says, and that it can be learned."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import (
    Attention,
    BilinearScore,
    DotScore,
    HardAttention,
    LocalAttention,
    RunningMean,
    reinforce_surrogate,
)
from attention_book.course.datasets import LookupBatch, lookup_task
from attention_book.course.datasets.lookup import lookup_map
from attention_book.training import descend

# --- the lookup task -------------------------------------------------------------------------


@given(
    batch=st.integers(1, 3),
    num_keys=st.integers(1, 7),
    d_key=st.integers(1, 5),
    reach=st.none() | st.integers(0, 9),
    rotated=st.booleans(),
)
def test_the_answer_is_the_value_of_the_key_that_was_asked_for(
    batch: int, num_keys: int, d_key: int, reach: int | None, rotated: bool
) -> None:
    task = lookup_task(batch, num_keys, d_key, reach=reach, rotated=rotated, noise=0.0)
    rotation = lookup_map(d_key) if rotated else torch.eye(d_key)
    for b in range(batch):
        for i in range(num_keys):
            j = int(task.answer_index[b, i])
            assert reach is None or abs(i - j) <= reach
            assert torch.equal(task.answer[b, i], task.values[b, j])
            torch.testing.assert_close(task.queries[b, i], rotation @ task.keys[b, j])


def test_the_values_are_one_hot_labels_and_each_is_as_likely() -> None:
    set_seed(0)
    task = lookup_task(4000, 5, 2, num_labels=3)
    assert set(task.values.unique().tolist()) == {0.0, 1.0}
    assert (task.values.sum(dim=-1) == 1).all()
    assert task.values.mean(dim=(0, 1)).tolist() == pytest.approx([1 / 3] * 3, abs=0.02)


@pytest.mark.parametrize("reach", [None, 1])
def test_the_answers_are_spread_evenly_over_the_positions_in_reach(reach: int | None) -> None:
    set_seed(0)
    index = lookup_task(6000, 4, 1, reach=reach).answer_index
    for i in range(4):
        within = [j for j in range(4) if reach is None or abs(i - j) <= reach]
        shares = [(index[:, i] == j).float().mean().item() for j in within]
        assert shares == pytest.approx([1 / len(within)] * len(within), abs=0.03)


def test_all_keys_have_one_length() -> None:
    lengths = lookup_task(3, 5, 7).keys.norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full((3, 5), math.sqrt(7)))


def test_the_noise_has_the_size_that_was_asked_for() -> None:
    set_seed(0)
    task = lookup_task(500, 8, 8, noise=0.3, rotated=False)
    asked_for = task.keys.take_along_dim(task.answer_index.unsqueeze(-1), dim=1)
    assert (task.queries - asked_for).std().item() == pytest.approx(0.3, abs=0.01)


def test_a_generator_leaves_the_global_random_numbers_alone() -> None:
    set_seed(0)
    expected = torch.rand(3)
    set_seed(0)
    first, second = (
        lookup_task(2, 5, 3, generator=torch.Generator().manual_seed(7)) for _ in range(2)
    )
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.queries, second.queries)


def test_the_map_is_a_rotation_that_never_changes() -> None:
    first = lookup_map(7)
    set_seed(1)
    assert torch.equal(lookup_map(7), first)
    torch.testing.assert_close(first @ first.T, torch.eye(7))
    assert not torch.allclose(first, torch.eye(7), atol=0.5)


def test_error_and_accuracy_of_outputs_whose_quality_is_known() -> None:
    task = lookup_task(3, 5, 2, num_labels=4)
    wrong = task.answer.roll(1, dims=-1)
    assert (task.error(task.answer) == 0).all()
    assert (task.error(wrong) == 1).all()
    torch.testing.assert_close(task.error(0.3 * task.answer + 0.7 * wrong), torch.full((3, 5), 0.7))
    assert (task.accuracy(task.answer), task.accuracy(wrong)) == (1.0, 0.0)


def test_the_error_of_soft_attention_is_the_expected_error_of_a_hard_draw() -> None:
    task, score = lookup_task(1, 5, 3), DotScore()
    soft_error = task.error(Attention(score)(task.queries, task.keys, task.values))
    weights = Attention(score).weights(task.queries, task.keys)
    error_of_key = 1 - torch.einsum("bjl,bil->bij", task.values, task.answer)
    torch.testing.assert_close((weights * error_of_key).sum(dim=-1), soft_error)


# --- it can be learned ------------------------------------------------------------------------


def bilinear() -> BilinearScore:
    set_seed(0)
    return BilinearScore(d_q=8, d_k=8)


def train(attention: torch.nn.Module, *, reach: int | None = None) -> float:
    """Train on the error itself; return the accuracy on fresh tables."""

    def loss() -> Tensor:
        task = lookup_task(16, 8, 8, reach=reach)
        return task.error(attention(task.queries, task.keys, task.values)).mean()

    return accuracy_after(loss, attention, reach)


def accuracy_after(loss_fn, attention: torch.nn.Module, reach: int | None = None) -> float:
    for _ in descend(loss_fn, torch.optim.Adam(attention.parameters(), lr=0.05), steps=150):
        pass
    task = lookup_task(200, 8, 8, reach=reach)
    return task.accuracy(attention(task.queries, task.keys, task.values))


def untrained_accuracy(attention: torch.nn.Module, *, rotated: bool) -> float:
    task = lookup_task(200, 8, 8, rotated=rotated)
    return task.accuracy(attention(task.queries, task.keys, task.values))


def test_soft_attention_finds_the_answer_and_the_map() -> None:
    score = bilinear()
    assert untrained_accuracy(Attention(score), rotated=True) < 0.4
    assert train(Attention(score)) > 0.95
    learned, true = score.W.flatten(), lookup_map(8).flatten()
    assert torch.cosine_similarity(learned, true, dim=0) > 0.95


def test_straight_through_finds_the_answer() -> None:
    assert train(HardAttention(bilinear(), choice="sample", straight_through=True)) > 0.95


@pytest.mark.parametrize("with_baseline", [False, True])
def test_reinforce_finds_the_answer(with_baseline: bool) -> None:
    attention, baseline = HardAttention(bilinear()), RunningMean()

    def surrogate() -> Tensor:
        task = lookup_task(16, 8, 8)
        drawn = attention.sample(task.queries, task.keys, task.values)
        error = task.error(drawn.output)
        value = baseline.value if with_baseline else 0.0
        baseline.update(error)
        return reinforce_surrogate(drawn.log_prob, error, baseline=value)

    assert accuracy_after(surrogate, attention) > 0.9


def test_local_attention_finds_what_is_near_and_misses_what_is_not() -> None:
    near = train(LocalAttention(bilinear(), radius=2), reach=2)
    anywhere = train(LocalAttention(bilinear(), radius=2))
    assert near > 0.95
    assert anywhere < 0.75


def test_the_plain_dot_product_is_right_only_without_the_rotation() -> None:
    attention = Attention(DotScore())
    assert untrained_accuracy(attention, rotated=True) < 0.4
    assert untrained_accuracy(attention, rotated=False) > 0.9


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"num_keys": 0}, "num_keys: expected at least 1, got 0"),
        ({"d_key": -2}, "d_key: expected at least 1, got -2"),
        ({"num_labels": 0}, "num_labels: expected at least 1, got 0"),
        ({"noise": -0.1}, "noise: expected a standard deviation, 0 or more, got -0.1"),
        ({"reach": -1}, "reach: expected a distance, 0 or more, or None, got -1"),
    ],
)
def test_wrong_sizes_of_the_task_are_named(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lookup_task(**({"batch": 1, "num_keys": 2, "d_key": 3} | arguments))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("judge", [LookupBatch.error, LookupBatch.accuracy])
def test_an_output_of_another_shape_is_named(judge) -> None:
    task = lookup_task(2, 3, 4)
    with pytest.raises(ValueError, match=r"output: .* \(2, 3, 8\), got the shape \(2, 3, 1\)"):
        judge(task, torch.ones(2, 3, 1))
