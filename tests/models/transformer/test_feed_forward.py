"""The feed-forward network: each position for itself, and torch's own numbers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.models import FeedForward


def make(**changes):
    return FeedForward(**{"d_model": 5, "d_ff": 11, **changes}).double()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_two_linear_maps_with_the_nonlinearity_between(activation):
    feed_forward, x = make(activation=activation), torch.randn(2, 3, 5).double()
    W_1, b_1, W_2, b_2 = feed_forward.parameters()
    hidden = x @ W_1.mT + b_1
    hidden = hidden.clamp(min=0) if activation == "relu" else F.gelu(hidden)
    assert W_1.shape == (11, 5)
    torch.testing.assert_close(feed_forward(x), hidden @ W_2.mT + b_2)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_the_feed_forward_of_torchs_encoder_layer(activation):
    layer = nn.TransformerEncoderLayer(5, 1, 11, 0.0, activation, batch_first=True).double()
    feed_forward, x = make(activation=activation), torch.randn(2, 3, 5).double()
    feed_forward.W_1.load_state_dict(layer.linear1.state_dict())
    feed_forward.W_2.load_state_dict(layer.linear2.state_dict())
    assert torch.equal(feed_forward(x), layer._ff_block(x))


def test_equal_positions_have_equal_outputs():
    output = make(d_model=4, d_ff=4, d_out=8)(torch.ones(2, 3, 4).double())
    assert output.shape == (2, 3, 8)
    torch.testing.assert_close(output, output[:1, :1].expand(2, 3, 8), rtol=0, atol=1e-15)


def test_a_position_moves_its_own_output_alone():
    feed_forward, x = make(), torch.randn(2, 3, 5).double()
    moved = x.clone()
    moved[1, 2] += 1
    changed = (feed_forward(moved) != feed_forward(x)).any(dim=-1)
    assert changed.nonzero().tolist() == [[1, 2]]


def test_the_order_of_the_positions_does_not_matter():
    feed_forward, x, order = make(), torch.randn(2, 7, 5).double(), torch.randperm(7)
    torch.testing.assert_close(feed_forward(x[:, order]), feed_forward(x)[:, order])


def test_training_toggles_dropout_and_nothing_else():
    feed_forward, x = make(dropout=0.5), torch.randn(2, 3, 5).double()
    plain = make()
    plain.load_state_dict(feed_forward.state_dict())
    assert not torch.equal(feed_forward(x), feed_forward(x))
    assert torch.equal(feed_forward.eval()(x), plain.train()(x))
    mean = torch.stack([feed_forward.train()(x) for _ in range(4000)]).mean(0)
    torch.testing.assert_close(mean, plain(x), rtol=0, atol=0.1)


def test_dropout_acts_on_the_hidden_layer():
    feed_forward = make(dropout=1.0)
    output = feed_forward(torch.randn(2, 3, 5).double())
    assert torch.equal(output, feed_forward.W_2.bias.expand(2, 3, 5))


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    with pytest.raises(ValueError, match=r"x: expected the feature size 5, got .*\(2, 3, 4\)"):
        make()(torch.randn(2, 3, 4).double())
    for wrong, message in [
        ({"d_model": 0}, "d_model: expected at least 1, got 0"),
        ({"d_ff": -1}, "d_ff: expected at least 1, got -1"),
        ({"d_out": 0}, "d_out: expected at least 1, got 0"),
        ({"dropout": 1.5}, "dropout: expected a probability"),
        ({"activation": "tanh"}, "activation: expected relu or gelu, got 'tanh'"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**wrong)
