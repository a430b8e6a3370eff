"""The parts of a layer: norms, residual connections, feed-forward networks; each its equation."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.models import AddNorm, FeedForward, RMSNorm

# --- RMSNorm ---------------------------------------------------------------------------------


@pytest.fixture
def x():
    return torch.randn(3, 5, 7, dtype=torch.float64)


def with_weight(**settings):
    norm = RMSNorm(d_model=7, **settings).double()
    torch.nn.init.normal_(norm.weight)
    return norm


@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_rms_norm_is_torchs(x, eps):
    ours = with_weight(eps=eps)
    expected = torch.nn.functional.rms_norm(x, (7,), ours.weight, eps)
    torch.testing.assert_close(ours(x), expected, rtol=0, atol=1e-12)


def test_around_one_is_the_same_with_another_weight(x):
    ours, shifted = with_weight(), with_weight(around_one=True)
    shifted.weight.data = ours.weight.data - 1
    torch.testing.assert_close(shifted(x), ours(x), rtol=0, atol=1e-12)
    assert torch.equal(RMSNorm(d_model=7, around_one=True)(x), RMSNorm(d_model=7)(x))


def test_zeros_stay_zeros_and_half_precision_does_not_overflow():
    norm = RMSNorm(d_model=7)
    assert torch.equal(norm(torch.zeros(1, 7)), torch.zeros(1, 7))
    large = torch.full((1, 7), 6e4, dtype=torch.float16)
    for around_one in (False, True):
        half = RMSNorm(d_model=7, around_one=around_one).half()
        assert half(large).dtype == torch.float16
        torch.testing.assert_close(half(large), torch.ones_like(large))


# --- residual connection and norm -----------------------------------------------------------


def make(order="post", **changes):
    add_norm = AddNorm(**{"d_model": 7, "order": order, **changes}).double()
    for parameter in add_norm.parameters():
        nn.init.normal_(parameter)
    return add_norm


every_order = pytest.mark.parametrize("order", ["post", "pre", "both"])


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


def test_both_normalizes_what_the_sublayer_sees_and_what_it_says():
    add_norm, x = make("both", kind="rms", eps=0.3), torch.randn(2, 3, 7).double()
    before, after = (
        lambda x, norm=norm: F.rms_norm(x, (7,), norm.weight, 0.3)
        for norm in (add_norm.norm, add_norm.norm_after)
    )
    torch.testing.assert_close(add_norm(x, torch.sin), x + after(before(x).sin()))


@every_order
def test_dropout_acts_on_the_sublayers_output_before_the_sum(order):
    x = torch.randn(2, 3, 7).double()
    noisy = make(order, dropout=1.0)
    silent = noisy.norm(x) if order == "post" else x
    assert torch.equal(noisy(x, torch.sin), silent)
    assert not torch.equal(noisy.eval()(x, torch.sin), silent)


@every_order
def test_training_toggles_dropout_and_nothing_else(order):
    noisy, x = make(order, dropout=0.5), torch.randn(2, 3, 7).double()
    plain = make(order)
    plain.load_state_dict(noisy.state_dict())
    assert not torch.equal(noisy(x, torch.sin), noisy(x, torch.sin))
    assert torch.equal(noisy.eval()(x, torch.sin), plain.train()(x, torch.sin))


@every_order
def test_the_input_is_left_alone(order):
    x = torch.randn(2, 3, 7).double()
    kept = x.clone()
    make(order)(x, torch.sin)
    make(order)(x, lambda x: x)
    assert torch.equal(x, kept)


# --- feed-forward network -------------------------------------------------------------------


def network(**changes):
    return FeedForward(**{"d_model": 5, "d_ff": 11, **changes}).double()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_two_linear_maps_with_the_nonlinearity_between(activation):
    feed_forward, x = network(kind=activation), torch.randn(2, 3, 5).double()
    W_1, b_1, W_2, b_2 = feed_forward.parameters()
    hidden = x @ W_1.mT + b_1
    hidden = hidden.clamp(min=0) if activation == "relu" else F.gelu(hidden)
    assert W_1.shape == (11, 5)
    torch.testing.assert_close(feed_forward(x), hidden @ W_2.mT + b_2)
    assert network(kind=activation, d_out=8)(x).shape == (2, 3, 8)


def gelu_tanh(z):
    return 0.5 * z * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3)))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("swiglu", lambda z: z / (1 + (-z).exp())),
        ("geglu", gelu_tanh),
        ("geglu-erf", lambda z: z / 2 * (1 + torch.erf(z / 2**0.5))),
    ],
)
def test_with_a_gate_it_is_its_equation(bias, kind, function):
    net, x = network(kind=kind, bias=bias), torch.randn(2, 3, 5).double()
    expected = net.W_2(function(net.W_gate(x)) * net.W_1(x))
    torch.testing.assert_close(net(x), expected, rtol=0, atol=1e-12)
    assert (net.W_gate.bias is not None) == bias
    assert torch.autograd.gradcheck(net, (x.requires_grad_(),))


def test_training_toggles_dropout_of_the_hidden_layer_and_nothing_else():
    feed_forward, x = network(dropout=0.5), torch.randn(2, 3, 5).double()
    plain = network()
    plain.load_state_dict(feed_forward.state_dict())
    assert not torch.equal(feed_forward(x), feed_forward(x))
    assert torch.equal(feed_forward.eval()(x), plain.train()(x))
    mean = torch.stack([feed_forward.train()(x) for _ in range(4000)]).mean(0)
    torch.testing.assert_close(mean, plain(x), rtol=0, atol=0.1)


def test_dropout_acts_on_the_hidden_layer():
    feed_forward = network(dropout=1.0)
    output = feed_forward(torch.randn(2, 3, 5).double())
    assert torch.equal(output, feed_forward.W_2.bias.expand(2, 3, 5))


# --- refusals ------------------------------------------------------------------------------------


def around(**changes):
    return lambda: make(**changes)(torch.randn(2, 3, 7).double(), torch.sin)


def with_sublayer(wrong):
    return lambda: make()(torch.randn(2, 3, 7).double(), wrong)


OF_A_SUBLAYER = r"sublayer: expected .* \(2, 3, 7\), got \("


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RMSNorm(d_model=6)(torch.ones(3, 7)), "x: expected the feature size 6"),
        (lambda: RMSNorm(d_model=6, eps=0.0), "eps: expected a positive number"),
        (lambda: RMSNorm(d_model=0), "d_model: expected at least 1"),
        (
            lambda: make()(torch.randn(2, 3, 4).double(), torch.sin),
            r"x: expected the feature size 7, got .*\(2, 3, 4\)",
        ),
        (with_sublayer(lambda x: x[:, :1]), OF_A_SUBLAYER),
        (with_sublayer(lambda x: x[..., :1]), OF_A_SUBLAYER),
        (with_sublayer(lambda x: x[None]), OF_A_SUBLAYER),
        (around(d_model=0), "d_model: expected at least 1, got 0"),
        (around(dropout=-0.5), "dropout: expected a probability"),
        (around(order="before"), "order: expected post, pre or both, got 'before'"),
        (
            lambda: network()(torch.randn(2, 3, 4).double()),
            r"x: expected the feature size 5, got .*\(2, 3, 4\)",
        ),
        (lambda: network(d_model=0), "d_model: expected at least 1, got 0"),
        (lambda: network(d_ff=-1), "d_ff: expected at least 1, got -1"),
        (lambda: network(d_out=0), "d_out: expected at least 1, got 0"),
        (lambda: network(dropout=1.5), "dropout: expected a probability"),
        (lambda: network(kind="tanh"), "kind: expected one of relu, gelu, .*, got 'tanh'"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
