"""The laws of masked softmax, in every floating point type."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import causal_mask, mask_from_lengths, masked_softmax


def by_hand(scores, visible):
    """Weigh one row with plain Python floats."""
    largest = max((a for a, seen in zip(scores, visible, strict=True) if seen), default=0.0)
    parts = [
        math.exp(a - largest) if seen else 0.0 for a, seen in zip(scores, visible, strict=True)
    ]
    return [part / sum(parts) for part in parts] if any(visible) else parts


def random_mask(*shape):
    """Hide about half of the keys, and from the first query all of them."""
    mask = torch.rand(shape) < 0.5
    mask[..., 1:, 0] = True
    mask[..., 0, :] = False
    return mask


@given(st.lists(st.tuples(st.floats(-800, 800), st.booleans()), min_size=1, max_size=8))
def test_equals_the_formula(row):
    scores, visible = zip(*row, strict=True)
    weights = masked_softmax(torch.tensor([scores], dtype=torch.float64), torch.tensor([visible]))
    assert weights[0].tolist() == pytest.approx(by_hand(scores, visible), abs=1e-12)


def test_without_a_mask_it_is_softmax(dtype):
    scores = torch.randn(2, 3, 5).to(dtype)
    assert torch.equal(masked_softmax(scores), scores.softmax(-1))


def test_rows_sum_to_one_or_are_exactly_zero(dtype):
    scores, mask = torch.randn(2, 3, 5).to(dtype) * 9, random_mask(2, 3, 5)
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    assert torch.all(weights[:, 0] == 0)
    assert torch.all(weights[~mask] == 0)
    torch.testing.assert_close(
        weights[:, 1:].double().sum(-1),
        torch.ones(2, 2).double(),
        atol=4 * torch.finfo(dtype).eps,
        rtol=0,
    )


@pytest.mark.parametrize("poison", [0.0, 1e4, -1e4, math.nan, math.inf, -math.inf])
def test_hidden_scores_move_nothing(dtype, poison):
    scores, mask = torch.randn(2, 3, 5).to(dtype), random_mask(2, 3, 5)
    poisoned = scores.masked_fill(~mask, poison)
    assert torch.equal(masked_softmax(poisoned, mask), masked_softmax(scores, mask))


@pytest.mark.parametrize("poison", [0.0, 1e4, math.nan, math.inf, -math.inf])
def test_gradients_are_finite_and_zero_where_hidden(dtype, poison):
    mask = random_mask(2, 3, 5)
    scores = torch.randn(2, 3, 5).to(dtype).masked_fill(~mask, poison).requires_grad_()
    (masked_softmax(scores, mask) * torch.randn(2, 3, 5).to(dtype)).sum().backward()
    assert torch.all(scores.grad[~mask] == 0)
    assert torch.all(scores.grad.isfinite())
    assert torch.any(scores.grad != 0)


def test_a_score_of_minus_infinity_hides_as_the_mask_does(dtype):
    scores, mask = torch.randn(2, 3, 5).to(dtype), random_mask(2, 3, 5)
    hidden = scores.masked_fill(~mask, -math.inf).requires_grad_()
    weights = masked_softmax(hidden)
    assert torch.equal(weights, masked_softmax(scores, mask))
    weights.sum().backward()
    assert torch.all(hidden.grad.isfinite())


def test_very_negative_scores_do_not_send_the_weight_to_the_padding():
    scores = torch.tensor([[-3e6, -2e6, 0.0]])
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert torch.equal(weights, torch.tensor([[0.0, 1.0, 0.0]]))


@pytest.mark.parametrize("batch", [(), (2,), (2, 1, 3)])
def test_masks_broadcast(batch):
    scores = torch.randn(*batch, 5, 7)
    leading = {batch, (1,) * len(batch), (1,) * len(batch[1:]), ()}
    for size, axes in product(leading, [(5, 7), (1, 7), (5, 1), (1, 1)]):
        mask = torch.rand(*size, *axes) < 0.5
        whole = mask.expand(scores.shape).contiguous()
        assert torch.equal(masked_softmax(scores, mask), masked_softmax(scores, whole))


def test_the_inputs_are_left_alone(dtype):
    scores, mask = torch.randn(2, 3, 5).to(dtype), random_mask(2, 3, 5)
    kept = scores.clone(), mask.clone()
    masked_softmax(scores, mask)
    masked_softmax(scores)
    assert torch.equal(scores, kept[0])
    assert torch.equal(mask, kept[1])


def test_gradcheck():
    mask = random_mask(2, 3, 5)
    scores = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: masked_softmax(a, mask), scores)
    assert torch.autograd.gradgradcheck(lambda a: masked_softmax(a, mask), scores)


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_visible_score_that_is_no_number_is_named(poison):
    scores = torch.zeros(2, 3, 3)
    scores[:, 1, 2] = scores[1, 2, 1] = poison
    with pytest.raises(ValueError, match=rf"scores\[1, 2, 1\] = {poison}"):
        masked_softmax(scores, causal_mask(3))
    with pytest.raises(ValueError, match=rf"scores\[0, 1, 2\] = {poison}"):
        masked_softmax(scores)


def test_a_compiled_graph_does_not_look_at_the_scores(monkeypatch):
    scores, mask = torch.randn(2, 3, 5), random_mask(2, 3, 5)
    eager = masked_softmax(scores, mask)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.testing.assert_close(masked_softmax(scores, mask), eager)
    assert masked_softmax(torch.full((1, 2), math.nan)).isnan().all()


def test_no_nan_on_the_way_back_either():
    scores = torch.randn(2, 3, 5, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):  # raises at the first NaN, even one masked later
        masked_softmax(scores, random_mask(2, 3, 5)).sum().backward()


def test_no_queries_and_no_examples_are_fine():
    assert masked_softmax(torch.zeros(2, 0, 5)).shape == (2, 0, 5)
    assert (
        masked_softmax(torch.zeros(0, 3, 5), mask_from_lengths(torch.zeros(0).int(), 5)).numel()
        == 0
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("scores", "mask", "error", "message"),
    [
        (torch.zeros(2, 0), None, ValueError, r"at least one key, got the shape \(2, 0\)"),
        (torch.zeros(5), None, ValueError, r"scores: expected the axes .* got the shape \(5,\)"),
        (
            torch.zeros(2, 5).long(),
            None,
            TypeError,
            "scores: expected floating point tensors, got torch.int64",
        ),
        (torch.zeros(2, 5), torch.ones(2, 5), TypeError, "a float is a bias, never a mask"),
        (torch.zeros(2, 5), torch.ones(2, 4).bool(), ValueError, r"\(2, 5\), got \(2, 4\)"),
        (torch.zeros(2, 5), torch.ones(1, 2, 5).bool(), ValueError, r"\(2, 5\), got \(1, 2, 5\)"),
        (torch.zeros(3, 2, 5), torch.ones(2, 2, 5).bool(), ValueError, r"\(3, 2, 5\), got"),
        (torch.zeros(2, 5), torch.ones(2, 5, device="meta").bool(), ValueError, "device cpu"),
        ([[1.0, 2.0]], None, TypeError, "scores: expected floating point tensors, got list"),
    ],
)
def test_bad_input_gets_one_clear_error(scores, mask, error, message):
    with pytest.raises(error, match=message):
        masked_softmax(scores, mask)
