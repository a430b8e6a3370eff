"""Self-attention with one head: its equation, its symmetries, its errors."""

import pytest
import torch

from attention_book.attention import ScaledDotScore, SelfAttention, causal_mask, masked_softmax

D_MODEL, D_K, D_V, LENGTH = 7, 5, 3, 11


@pytest.fixture(params=[False, True], ids=["plain", "bias"])
def attention(request):
    torch.manual_seed(1)
    return SelfAttention(d_model=D_MODEL, d_k=D_K, d_v=D_V, bias=request.param).double()


@pytest.fixture
def x():
    return torch.randn(2, LENGTH, D_MODEL, dtype=torch.float64)


@pytest.mark.parametrize("mask", [None, causal_mask(LENGTH)])
def test_it_is_its_equation(attention, x, mask):
    queries, keys, values = attention.W_q(x), attention.W_k(x), attention.W_v(x)
    weights = masked_softmax(ScaledDotScore()(queries, keys), mask)
    torch.testing.assert_close(attention.weights(x, mask), weights)
    torch.testing.assert_close(attention(x, mask), weights @ values)
    assert attention(x).shape == (2, LENGTH, D_V)


def test_one_sentence_needs_no_batch(attention, x):
    torch.testing.assert_close(attention(x[0]), attention(x)[0])


def test_a_position_that_sees_nothing_gets_zero_and_finite_gradients(attention, x):
    mask = causal_mask(LENGTH, offset=-1)
    x.requires_grad_()
    output = attention(x, mask)
    output.sum().backward()
    assert (output[:, 0] == 0).all()
    assert x.grad.isfinite().all()


def test_sizes_left_out_are_those_of_the_model():
    attention = SelfAttention(d_model=D_MODEL)
    assert {tuple(weight.shape) for weight in attention.parameters()} == {(D_MODEL, D_MODEL)}
    assert list(attention.state_dict()) == ["W_q.weight", "W_k.weight", "W_v.weight"]


def test_training_toggles_dropout_and_nothing_else(x):
    attention = SelfAttention(d_model=D_MODEL, dropout=0.5).double()
    noisy, weights = attention(x), attention.weights(x)
    plain = attention.eval()(x)
    assert not torch.allclose(noisy, plain)
    torch.testing.assert_close(attention.weights(x), weights)


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error(attention, x):
    with pytest.raises(ValueError, match="x: expected the feature size 7"):
        attention(x[..., :5])
    with pytest.raises(ValueError, match="x: expected the feature size 7"):
        attention.weights(x[..., :5])
    with pytest.raises(ValueError, match="d_k: expected at least 1, got 0"):
        SelfAttention(d_model=7, d_k=0)
    with pytest.raises(ValueError, match="dropout: expected a probability"):
        SelfAttention(d_model=7, dropout=2)
    with pytest.raises(TypeError, match="mask: expected a boolean tensor"):
        attention(x, torch.zeros(LENGTH, LENGTH))
