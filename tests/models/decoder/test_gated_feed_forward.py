"""The gated feed-forward network against its equation, written out."""

import pytest
import torch

from attention_book.models import FeedForward, GatedFeedForward


@pytest.fixture
def x():
    return torch.randn(2, 3, 5, dtype=torch.float64)


def gelu_tanh(z):
    return 0.5 * z * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3)))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("gate", "function"), [("silu", lambda z: z / (1 + (-z).exp())), ("gelu_tanh", gelu_tanh)]
)
def test_is_its_equation(x, bias, gate, function):
    net = GatedFeedForward(d_model=5, d_ff=7, gate=gate, bias=bias).double()
    expected = net.W_down(function(net.W_gate(x)) * net.W_up(x))
    torch.testing.assert_close(net(x), expected, rtol=0, atol=1e-12)
    assert (net.W_gate.bias is not None) == bias


def test_a_closed_gate_lets_nothing_through(x):
    net = GatedFeedForward(d_model=5, d_ff=7).double()
    torch.nn.init.zeros_(net.W_gate.weight)
    assert torch.equal(net(x), torch.zeros_like(x))


def test_positions_do_not_mix(x):
    net = GatedFeedForward(d_model=5, d_ff=7).double()
    torch.testing.assert_close(net(x.flip(dims=(1,))), net(x).flip(dims=(1,)))


def test_two_thirds_of_the_hidden_size_cost_the_same():
    def count(net):
        return sum(each.numel() for name, each in net.named_parameters() if "bias" not in name)

    assert count(GatedFeedForward(d_model=6, d_ff=16)) == count(FeedForward(d_model=6, d_ff=24))


def test_gradients(x):
    net = GatedFeedForward(d_model=5, d_ff=7).double()
    assert torch.autograd.gradcheck(net, (x.requires_grad_(),))


def test_what_cannot_be_built_is_refused(x, unchecked):
    with pytest.raises(ValueError, match="gate: expected silu or gelu_tanh or gelu, got 'relu'"):
        GatedFeedForward(d_model=5, d_ff=7, gate="relu")
    with pytest.raises(ValueError, match="d_ff: expected at least 1"):
        GatedFeedForward(d_model=5, d_ff=0)
    with pytest.raises(ValueError, match="x: expected the feature size 6"):
        GatedFeedForward(d_model=6, d_ff=7).double()(x)
