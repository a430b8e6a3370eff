"""Residual and norm: both orders against their equations, and what neither may do."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.models import AddNorm


def make(order="post", **changes):
    add_norm = AddNorm(**{"d_model": 7, "order": order, **changes}).double()
    nn.init.normal_(add_norm.norm.weight)
    nn.init.normal_(add_norm.norm.bias)
    return add_norm


both_orders = pytest.mark.parametrize("order", ["post", "pre"])


def test_post_normalizes_the_sum():
    add_norm, x = make("post"), torch.randn(2, 3, 7).double()
    gain, shift = add_norm.norm.parameters()
    total = x + x.sin()
    centered = total - total.mean(-1, keepdim=True)
    expected = centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + shift
    torch.testing.assert_close(add_norm(x, torch.sin), expected)


def test_pre_normalizes_what_the_sublayer_sees():
    add_norm, x = make("pre"), torch.randn(2, 3, 7).double()
    expected = x + F.layer_norm(x, (7,), *add_norm.norm.parameters()).sin()
    torch.testing.assert_close(add_norm(x, torch.sin), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_what_torchs_encoder_layer_does_around_its_feed_forward(norm_first):
    layer = nn.TransformerEncoderLayer(7, 1, 11, 0.0, batch_first=True, norm_first=norm_first)
    layer = layer.double()
    add_norm, x = make("pre" if norm_first else "post"), torch.randn(2, 3, 7).double()
    add_norm.norm.load_state_dict(layer.norm2.state_dict())
    if norm_first:
        expected = x + layer._ff_block(layer.norm2(x))
    else:
        expected = layer.norm2(x + layer._ff_block(x))
    assert torch.equal(add_norm(x, layer._ff_block), expected)


@both_orders
def test_a_position_moves_its_own_output_alone(order):
    add_norm, x = make(order), torch.randn(2, 3, 7).double()
    moved = x.clone()
    moved[1, 2] += torch.arange(7)
    changed = (add_norm(moved, torch.sin) != add_norm(x, torch.sin)).any(dim=-1)
    assert changed.nonzero().tolist() == [[1, 2]]


def test_pre_with_a_silent_sublayer_is_the_identity():
    x = torch.randn(2, 3, 7).double()
    assert torch.equal(make("pre")(x, torch.zeros_like), x)


@both_orders
def test_the_gradient_passes_a_sublayer_that_is_silent(order):
    x = torch.randn(2, 3, 7).double().requires_grad_()
    output = make(order)(x, lambda x: 0 * x)
    output.mul(torch.randn(2, 3, 7)).sum().backward()
    assert torch.all(x.grad != 0)


@both_orders
def test_dropout_acts_on_the_sublayers_output_before_the_sum(order):
    x = torch.randn(2, 3, 7).double()
    noisy = make(order, dropout=1.0)
    silent = x if order == "pre" else noisy.norm(x)
    assert torch.equal(noisy(x, torch.sin), silent)
    assert not torch.equal(noisy.eval()(x, torch.sin), silent)


@both_orders
def test_training_toggles_dropout_and_nothing_else(order):
    noisy, x = make(order, dropout=0.5), torch.randn(2, 3, 7).double()
    plain = make(order)
    plain.load_state_dict(noisy.state_dict())
    assert not torch.equal(noisy(x, torch.sin), noisy(x, torch.sin))
    assert torch.equal(noisy.eval()(x, torch.sin), plain.train()(x, torch.sin))


@both_orders
def test_the_input_is_left_alone(order):
    x = torch.randn(2, 3, 7).double()
    kept = x.clone()
    make(order)(x, torch.sin)
    make(order)(x, lambda x: x)
    assert torch.equal(x, kept)


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    with pytest.raises(ValueError, match=r"x: expected the feature size 7, got .*\(2, 3, 4\)"):
        make()(torch.randn(2, 3, 4).double(), torch.sin)
    for wrong in (lambda x: x[:, :1], lambda x: x[..., :1], lambda x: x[None]):
        with pytest.raises(ValueError, match=r"sublayer: expected .* \(2, 3, 7\), got \("):
            make()(torch.randn(2, 3, 7).double(), wrong)
    for wrong, message in [
        ({"d_model": 0}, "d_model: expected at least 1, got 0"),
        ({"dropout": -0.5}, "dropout: expected a probability"),
        ({"order": "before"}, "order: expected post or pre, got 'before'"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**wrong)
