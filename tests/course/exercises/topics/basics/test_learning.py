"""Wrong recurrent steps, losses and steps downhill."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.course.exercises import check


def by_torch(inputs, w, u):
    """torch's recurrent network with one feature is the oracle."""
    network = nn.RNN(1, 1, bias=False)
    with torch.no_grad():
        network.weight_ih_l0.fill_(w)
        network.weight_hh_l0.fill_(u)
        return network(inputs[:, None])[0][:, 0]


def without_tanh(inputs, w, u):
    states = [0.0]
    for x in inputs:
        states.append(w * x + u * states[-1])
    return torch.stack(states[1:])


def from_the_start(inputs, w, u):
    states = [torch.tensor(0.0)]
    for x in inputs:
        states.append(torch.tanh(w * x + u * states[-1]))
    return torch.stack(states)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda inputs, w, u: by_torch(inputs, w, 0.0), "no-memory"),
        (without_tanh, "no-tanh"),
        (lambda inputs, w, u: by_torch(inputs, u, w), "swapped"),
        (lambda inputs, w, u: by_torch(inputs, w, u)[len(inputs) - 1 :], "last-only"),
        (from_the_start, "start-included"),
        (lambda inputs, w, u: from_the_start(inputs, w, u)[: len(inputs)], "start-included"),
    ],
)
def test_recurrent_steps(answer, mistake):
    assert check("recurrent-steps", by_torch)
    assert check("recurrent-steps", answer).mistake == mistake


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda logits, targets: len(logits) * F.cross_entropy(logits, targets), "summed"),
        (lambda logits, targets: F.nll_loss(logits, targets), "no-softmax"),
        (lambda logits, targets: F.nll_loss(logits.softmax(-1), targets), "no-logarithm"),
        (
            lambda logits, targets: F.cross_entropy(logits.softmax(-1), targets),
            "softmax-twice",
        ),
        (lambda logits, targets: F.nll_loss(logits.log_softmax(0), targets), "wrong-axis"),
    ],
)
def test_cross_entropy(answer, mistake):
    right = lambda logits, targets: F.nll_loss(logits.log_softmax(-1), targets)  # noqa: E731
    assert check("cross-entropy", right)
    assert check("cross-entropy", answer).mistake == mistake


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda w, g, rate: torch.add(w, g, alpha=rate), "uphill"),
        (lambda w, g, rate: torch.sub(w, g), "no-rate"),
        (lambda w, g, rate: g * -rate, "step-alone"),
        (lambda w, g, rate: w.add_(g, alpha=-rate), "in-place"),
    ],
)
def test_gradient_step(answer, mistake):
    assert check("gradient-step", lambda w, g, rate: torch.sub(w, g, alpha=rate))
    assert check("gradient-step", answer).mistake == mistake
