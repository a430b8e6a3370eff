"""Hard attention: the choice, the draw, and what stands in for the missing gradient."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attention_book import set_seed
from attention_book.attention import (
    DotScore,
    HardAttention,
    RunningMean,
    masked_softmax,
    reinforce_surrogate,
)

BATCH, QUERIES, KEYS, D_K, D_V = 2, 3, 5, 7, 11
choices = pytest.mark.parametrize("choice", ["argmax", "sample"])


def draw_inputs(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    """Queries, keys, values, and a mask that hides two keys, and all of them from one query."""
    set_seed(0)
    queries = torch.randn(BATCH, QUERIES, D_K).to(dtype)
    keys = torch.randn(BATCH, KEYS, D_K).to(dtype)
    values = torch.randn(BATCH, KEYS, D_V).to(dtype)
    mask = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool)
    mask[0, :, 3:] = False
    mask[1, 2] = False
    return queries, keys, values, mask


class FixedScore(nn.Module):
    """The same trained scores for any query and key: attention as a plain lottery."""

    def __init__(self, scores: torch.Tensor) -> None:
        super().__init__()
        self.scores = nn.Parameter(scores)

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return self.scores.expand(*queries.shape[:-1], keys.shape[-2])


# --- the choice ------------------------------------------------------------------------------


def test_argmax_gathers_the_value_of_the_largest_score() -> None:
    queries, keys, values, _ = draw_inputs()
    best = (queries @ keys.mT).argmax(dim=-1)
    expected = values.gather(1, best.unsqueeze(-1).expand(-1, -1, D_V))
    assert torch.equal(HardAttention(DotScore())(queries, keys, values), expected)


def test_argmax_takes_the_first_among_equals() -> None:
    weights = HardAttention(DotScore()).weights(torch.ones(1, 2), torch.ones(3, 2))
    assert weights.tolist() == [[1, 0, 0]]


@choices
@pytest.mark.parametrize("straight_through", [False, True])
def test_weights_are_one_hot_or_zero_and_the_output_is_theirs(choice, straight_through, dtype):
    queries, keys, values, mask = draw_inputs(dtype)
    attention = HardAttention(DotScore(), choice=choice, straight_through=straight_through)
    set_seed(5)
    weights = attention.weights(queries, keys, mask)
    assert weights.dtype == dtype
    assert set(weights.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(weights.sum(dim=-1), mask.any(dim=-1).to(dtype))
    assert (weights[~mask] == 0).all()
    set_seed(5)
    assert torch.equal(attention(queries, keys, values, mask), weights @ values)


# --- the draw --------------------------------------------------------------------------------


def test_keys_are_drawn_as_often_as_their_soft_weights_say() -> None:
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    attention = HardAttention(FixedScore(probabilities.log()), choice="sample")
    set_seed(0)
    draws = torch.zeros(40_000, 1, dtype=torch.float64)
    frequencies = attention.weights(draws, torch.zeros(4, 1, dtype=torch.float64)).mean(dim=0)
    torch.testing.assert_close(frequencies, probabilities, atol=0.01, rtol=0)


def test_a_sample_knows_the_log_probability_of_what_was_drawn() -> None:
    queries, keys, values, mask = draw_inputs()
    drawn = HardAttention(DotScore()).sample(queries, keys, values, mask)
    soft = masked_softmax(queries @ keys.mT, mask)
    for b in range(BATCH):
        for i in range(QUERIES):
            if mask[b, i].any():
                j = drawn.weights[b, i].argmax()
                assert drawn.log_prob[b, i].exp().item() == pytest.approx(soft[b, i, j].item())
                assert torch.equal(drawn.output[b, i], values[b, j])
    assert drawn.log_prob[1, 2] == 0  # nothing to be seen, nothing to be drawn


def test_the_same_generator_draws_the_same_keys() -> None:
    inputs = draw_inputs()
    first, second = (
        HardAttention(DotScore()).sample(*inputs, generator=torch.Generator().manual_seed(4))
        for _ in range(2)
    )
    assert torch.equal(first.weights, second.weights)


# --- gradients -------------------------------------------------------------------------------


def test_a_choice_has_no_gradient() -> None:
    queries, keys, values, _ = draw_inputs()
    assert not HardAttention(DotScore())(queries.requires_grad_(), keys, values).requires_grad


@choices
def test_straight_through_has_the_gradient_of_the_soft_weights(choice: str) -> None:
    queries, keys, values, mask = draw_inputs()
    attention = HardAttention(DotScore(), choice=choice, straight_through=True)
    target = torch.randn(BATCH, QUERIES, D_V, dtype=torch.float64)

    hard_queries = queries.clone().requires_grad_()
    (attention(hard_queries, keys, values, mask) * target).sum().backward()
    soft_queries = queries.clone().requires_grad_()
    soft = masked_softmax(soft_queries @ keys.mT, mask) @ values
    (soft * target).sum().backward()
    torch.testing.assert_close(hard_queries.grad, soft_queries.grad)


def test_a_query_that_may_see_nothing_leaves_all_gradients_finite(dtype: torch.dtype) -> None:
    queries, keys, values, mask = (
        t.requires_grad_() if t.is_floating_point() else t for t in draw_inputs(dtype)
    )
    drawn = HardAttention(DotScore()).sample(queries, keys, values, mask)
    straight = HardAttention(DotScore(), straight_through=True)(queries, keys, values, mask)
    (drawn.log_prob.sum() + drawn.output.sum() + straight.sum()).backward()
    for tensor in (queries, keys, values):
        assert tensor.grad.isfinite().all()
    assert (queries.grad[1, 2] == 0).all()


def test_the_log_probability_has_the_gradient_of_finite_differences() -> None:
    queries, keys, values, mask = draw_inputs()

    def log_prob(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1)
        return HardAttention(DotScore()).sample(q, k, values, mask, generator=generator).log_prob

    assert torch.autograd.gradcheck(log_prob, (queries.requires_grad_(), keys.requires_grad_()))


# --- REINFORCE -------------------------------------------------------------------------------

LOSSES = torch.tensor([3.0, 1.0, 2.0, 5.0], dtype=torch.float64)
SCORES = torch.tensor([0.1, 0.7, -0.4, 0.3], dtype=torch.float64)


def exact_gradient() -> torch.Tensor:
    """The gradient of E[loss] = softmax(scores) . losses."""
    scores = SCORES.clone().requires_grad_()
    (scores.softmax(dim=-1) @ LOSSES).backward()
    return scores.grad


def estimates(baseline: float | torch.Tensor, count: int = 20_000) -> torch.Tensor:
    """One REINFORCE gradient for each of ``count`` draws, (count, 4)."""
    set_seed(0)
    # A row of scores for each draw keeps the gradients of the draws apart.
    score = FixedScore(SCORES.repeat(count, 1))
    zeros = torch.zeros(4, 1, dtype=torch.float64)
    drawn = HardAttention(score).sample(zeros[:1].expand(count, 1), zeros, LOSSES.unsqueeze(-1))
    loss = drawn.output.squeeze(-1)
    reinforce_surrogate(drawn.log_prob, loss, baseline=baseline).backward()
    return score.scores.grad * count


@pytest.mark.parametrize("baseline", [0.0, 2.0, 10.0])
def test_the_estimate_converges_to_the_gradient_of_the_expected_loss(baseline: float) -> None:
    gradients = estimates(baseline)
    error_of_mean = gradients.std(dim=0) / math.sqrt(len(gradients))
    assert ((gradients.mean(dim=0) - exact_gradient()).abs() < 4 * error_of_mean).all()
    assert (error_of_mean < 0.1).all()


def test_a_baseline_near_the_expected_loss_lowers_the_variance() -> None:
    expected_loss = float(SCORES.softmax(dim=-1) @ LOSSES)
    plain, good, bad = (estimates(b).var(dim=0).sum() for b in (0.0, expected_loss, 10.0))
    assert good < plain / 2
    assert bad > plain


def test_the_surrogate_ignores_the_gradients_of_loss_and_baseline() -> None:
    log_prob = torch.tensor([-1.0, -2.0], requires_grad=True)
    loss = torch.tensor([3.0, 5.0], requires_grad=True)
    baseline = torch.tensor(1.0, requires_grad=True)
    reinforce_surrogate(log_prob, loss, baseline=baseline).backward()
    assert log_prob.grad.tolist() == [1.0, 2.0]
    assert loss.grad is None
    assert baseline.grad is None


@given(
    momentum=st.floats(0, 0.99),
    losses=st.lists(st.floats(-100, 100), min_size=1, max_size=10),
)
def test_the_running_mean_is_the_recurrence_started_at_the_first_loss(
    momentum: float, losses: list[float]
) -> None:
    baseline, expected = RunningMean(momentum=momentum), losses[0]
    assert baseline.value == 0
    baseline.update(torch.tensor(losses[0], dtype=torch.float64))
    for loss in losses[1:]:
        baseline.update(torch.tensor([loss - 1, loss + 1], dtype=torch.float64))
        expected = momentum * expected + (1 - momentum) * loss
    assert baseline.value == pytest.approx(expected, abs=1e-9)


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
def test_wrong_input_is_named() -> None:
    queries, keys, values, _ = draw_inputs()
    attention = HardAttention(DotScore())
    with pytest.raises(ValueError, match=r"choice: expected one of .*, got 'softmax'"):
        HardAttention(DotScore(), choice="softmax")
    for momentum in (1.0, -0.1):
        with pytest.raises(ValueError, match=f"momentum: expected .*, got {momentum}"):
            RunningMean(momentum=momentum)
    with pytest.raises(ValueError, match=r"loss: .* shape \(3,\), got the shape \(3, 1\)"):
        reinforce_surrogate(torch.ones(3), torch.ones(3, 1))
    for shape in [(2,), (3, 1), (1, 3)]:
        with pytest.raises(ValueError, match=r"baseline: .* shape \(3,\), got the shape"):
            reinforce_surrogate(torch.ones(3), torch.ones(3), baseline=torch.ones(shape))
    with pytest.raises(TypeError, match=r"score: expected a scoring function"):
        HardAttention(DotScore)
    with pytest.raises(ValueError, match="values: expected one value for each key"):
        attention.sample(queries, keys, values[:, :-1])
    with pytest.raises(ValueError, match="queries and keys: expected equal feature sizes"):
        attention.sample(queries[..., :-1], keys, values)
    with pytest.raises(TypeError, match="mask: expected a boolean tensor"):
        attention.sample(queries, keys, values, torch.ones(QUERIES, KEYS))
