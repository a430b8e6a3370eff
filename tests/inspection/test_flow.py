"""Information flow: against structures whose flow is known, by perturbation and by Jacobian."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attention_book.attention import DotProductAttention, causal_mask, window_mask
from attention_book.inspection.flow import information_flow, jacobian_norms, path_length
from attention_book.models import Seq2Seq, Seq2SeqConfig


def vectors(length=7, features=3, batch=()):
    torch.manual_seed(0)
    return torch.randn(*batch, length, features).double()


def mixing(pattern):
    """Output i is the sum of the inputs j where pattern[i, j], through a curve."""
    return lambda x: torch.tanh(pattern.to(x) @ x)


patterns = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(st.booleans(), min_size=shape[0] * shape[1],
                           max_size=shape[0] * shape[1])
    .map(lambda cells: torch.tensor(cells).reshape(shape))
)  # fmt: skip


@given(patterns, st.booleans())
@settings(max_examples=40)
def test_any_pattern_is_found_again(pattern, batched):
    x = vectors(pattern.shape[1], 2)
    if batched:
        x = x[None]
    assert torch.equal(information_flow(mixing(pattern), x), pattern)
    assert torch.equal(jacobian_norms(mixing(pattern), x) != 0, pattern)


@given(patterns)
@settings(max_examples=40)
def test_tokens_flow_as_vectors_do(pattern):
    embedding = vectors(11, 2)
    ids = torch.arange(pattern.shape[1])
    for tokens in (ids, ids[None]):
        flow = information_flow(
            lambda ids: mixing(pattern)(embedding[ids]), tokens, replacements=[9, 10]
        )
        assert torch.equal(flow, pattern)


@pytest.mark.parametrize("mask", [None, causal_mask(7), window_mask(7, 7, radius=2)])
def test_attention_lets_through_what_its_mask_shows(mask):
    attention = DotProductAttention()
    flow = information_flow(lambda x: attention(x, x, x, mask), vectors(batch=(1,)))
    assert torch.equal(flow, torch.ones(7, 7).bool() if mask is None else mask)


def test_recurrence_looks_back_and_both_ways_when_asked():
    x = vectors(batch=(1,))
    for bidirectional, expected in ((False, causal_mask(7)), (True, torch.ones(7, 7).bool())):
        network = nn.GRU(3, 5, batch_first=True, bidirectional=bidirectional).double()
        assert torch.equal(information_flow(lambda x, run=network: run(x)[0], x), expected)


def test_a_translator_is_asked_by_its_words():
    torch.manual_seed(0)
    config = Seq2SeqConfig(source_vocabulary=11, target_vocabulary=13, attention="bahdanau",
                           dropout=0.5)  # fmt: skip
    model = Seq2Seq(config).double().eval()
    source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8, 9, 10]])

    def by_source(ids):
        return model(ids, torch.ones_like(ids, dtype=torch.bool), target)

    def by_target(ids):
        return model(source, torch.ones_like(source, dtype=torch.bool), ids)

    assert information_flow(by_source, source).all()
    flow = information_flow(by_target, target, replacements=[11, 12], positions=[1, 3])
    assert torch.equal(flow, causal_mask(5)[:, [1, 3]])


def test_one_replacement_that_matters_is_enough():
    def is_nine(ids):
        return ids == 9

    for replacements in ([9, 10], [8, 9]):
        flow = information_flow(is_nine, torch.tensor([4, 5]), replacements=replacements)
        assert torch.equal(flow, torch.eye(2).bool())
    assert not information_flow(is_nine, torch.tensor([4, 5]), replacements=[8, 10]).any()


def test_falling_is_moving_too():
    flow = information_flow(torch.neg, torch.tensor([4, 5]), replacements=[9])
    assert torch.equal(flow, torch.eye(2).bool())


def test_the_jacobian_is_measured_not_only_found():
    weight = vectors(7, 7)
    x = vectors(7, 3)
    torch.testing.assert_close(jacobian_norms(lambda x: weight @ x, x), weight.abs() * 3**0.5)
    turned = vectors(3, 5)
    norms = jacobian_norms(lambda x: weight @ x @ turned, x[None])
    torch.testing.assert_close(norms, weight.abs() * turned.norm())
    torch.testing.assert_close(jacobian_norms(lambda x: (weight @ x)[:, 0], x), weight.abs())


def test_the_jacobian_sees_what_rounding_loses():
    def faint(x):
        return torch.stack([x[0] + 1e-30 * x[1], x[1]])

    x = torch.ones(2, 1)
    assert information_flow(faint, x).tolist() == [[True, False], [False, True]]
    assert jacobian_norms(faint, x)[0, 1] == pytest.approx(1e-30)


def test_a_change_below_the_tolerance_is_none():
    def faint(x):
        return torch.stack([x[0] + 1e-6 * x[1], x[1]])

    assert information_flow(faint, vectors(2))[0, 1]
    assert not information_flow(faint, vectors(2), tolerance=1e-3)[0, 1]


@given(length=st.integers(2, 9), radius=st.integers(1, 3))
@settings(max_examples=20)
def test_the_path_of_a_convolution(length, radius):
    convolution = nn.Conv1d(2, 2, kernel_size=2 * radius + 1, padding=radius).double()
    layers = path_length(lambda x: convolution(x.mT).mT, vectors(length, 2, batch=(1,)))
    assert layers == -(-(length - 1) // radius)


def test_the_path_of_attention_and_of_one_that_looks_back():
    attention, x = DotProductAttention(), vectors()
    assert path_length(lambda x: attention(x, x, x), x) == 1
    causal = causal_mask(7)
    assert path_length(lambda x: attention(x, x, x, causal), x, among=causal) == 1
    back = causal & window_mask(7, 7, radius=1)
    for most in (None, 6):
        layers = path_length(lambda x: attention(x, x, x, back), x, among=causal, max_layers=most)
        assert layers == 6
    with pytest.raises(ValueError, match="after 7 layers"):
        path_length(lambda x: attention(x, x, x, causal), x)
    with pytest.raises(ValueError, match="after 2 layers"):
        path_length(lambda x: attention(x, x, x, back), x, among=causal, max_layers=2)


def test_looking_leaves_no_trace():
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).double().train()
    x, state = vectors(), torch.get_rng_state()
    kept = x.clone()
    assert torch.equal(information_flow(module, x), torch.eye(7).bool())
    assert torch.equal(jacobian_norms(module, x) != 0, torch.eye(7).bool())
    assert module.training
    assert module[1].training
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, kept)
    assert all(parameter.grad is None for parameter in module.parameters())


def test_infinite_logits_may_stay_infinite():
    def masked(x):
        return torch.cat([x, torch.full_like(x, -torch.inf)], dim=-1)

    assert torch.equal(information_flow(masked, vectors()), torch.eye(7).bool())


def test_bad_input_gets_one_clear_error():
    noisy = nn.Dropout(0.5)
    for function, x, options, message in [
        (lambda x: x, vectors(batch=(2,)), {}, r"x: expected one input, .* got torch.float64 of"),
        (lambda x: x, torch.zeros(2, 3).long(), {}, r"got torch.int64 of the shape \(2, 3\)"),
        (lambda x: noisy(x), vectors(), {}, "is dropout on"),
        (lambda x: x / 0 * 0, vectors(), {}, "got NaN"),
        (lambda x: x, torch.tensor([4, 4]), {}, "replacements: expected a token other"),
        (lambda x: x, torch.tensor([4, 5]), {"replacements": [5]}, "replacements: expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            information_flow(function, x, **options)
    with pytest.raises(TypeError, match=r"x: expected vectors .* got torch.int64"):
        jacobian_norms(lambda x: x, torch.tensor([4, 5]))
