"""Answers to the exercises on learning."""

import torch
from torch import nn
from torch.nn import functional as F


def by_torch(inputs, w, u):
    """torch's recurrent network with one feature is the oracle."""
    network = nn.RNN(1, 1, bias=False)
    with torch.no_grad():
        network.weight_ih_l0.fill_(w)
        network.weight_hh_l0.fill_(u)
        return network(inputs[:, None])[0][:, 0]


def steps(step, first=0.0):
    def states(inputs, w, u):
        found = [torch.tensor(first)]
        for x in inputs:
            found.append(step(x, found[-1], w, u))
        return torch.stack(found[1:])

    return states


def from_the_start(inputs, w, u):
    states = [torch.tensor(0.0)]
    for x in inputs:
        states.append(torch.tanh(w * x + u * states[-1]))
    return torch.stack(states)


def filled(inputs, w, u):
    states, h = torch.zeros_like(inputs), 0.0
    for i in range(len(inputs)):
        h = torch.tanh(w * inputs[i] + u * h)
        states[i] = h
    return states


def one_too_short(inputs, w, u):
    return by_torch(inputs, w, u)[:-1]


def previous_input(inputs, w, u):
    before = torch.cat((torch.zeros(1), inputs[:-1]))
    return torch.tanh(w * inputs + u * before)


def over_inputs(inputs, w, u):
    h = torch.tensor(0.0)
    for i, x in enumerate(inputs):
        h = torch.tanh(w * x + u * h)
        inputs[i] = h
    return inputs


REMEMBERED = [0.0]


def from_the_last_call(inputs, w, u):
    states = []
    for x in inputs:
        REMEMBERED[0] = torch.tanh(w * x + u * REMEMBERED[0])
        states.append(REMEMBERED[0])
    return torch.stack(states)


def chosen(rows, targets):
    return rows[torch.arange(len(rows)), targets]


def log_sum(logits):
    top = logits.max(dim=-1, keepdim=True).values
    return (logits - top).exp().sum(-1).log() + top[:, 0]


RIGHT = {
    "recurrent-steps": [by_torch, filled, lambda inputs, w, u: from_the_start(inputs, w, u)[1:]],
    "cross-entropy": [
        lambda logits, targets: F.nll_loss(logits.log_softmax(-1), targets),
        lambda logits, targets: (logits.logsumexp(-1) - chosen(logits, targets)).mean(),
        lambda logits, targets: (log_sum(logits) - chosen(logits, targets)).mean().item(),
        lambda logits, targets: -chosen(logits.double().log_softmax(1), targets).mean(),
    ],
    "gradient-step": [
        lambda w, g, rate: torch.sub(w, g, alpha=rate),
        lambda w, g, rate: torch.lerp(w, w - g, rate),
        lambda w, g, rate: w.clone().sub_(rate * g),
        lambda w, g, rate: w.double() + -rate * g,
    ],
}

WRONG = {
    "recurrent-steps": [
        (lambda inputs, w, u: by_torch(inputs, w, 0.0), "no-memory"),
        (steps(lambda x, h, w, u: w * x + u * h), "no-tanh"),
        (lambda inputs, w, u: by_torch(inputs, u, w), "swapped"),
        (lambda inputs, w, u: by_torch(inputs, w, u)[len(inputs) - 1 :], "last-only"),
        (lambda inputs, w, u: by_torch(inputs, w, u)[-1], "last-only"),
        (from_the_start, "start-included"),
        (lambda inputs, w, u: from_the_start(inputs, w, u)[: len(inputs)], "start-included"),
        (steps(lambda x, h, w, u: torch.tanh(w * x) + u * h), "tanh-of-the-input-alone"),
        (
            lambda inputs, w, u: steps(lambda x, h, w, u: w * x + u * h)(inputs, w, u).tanh(),
            "tanh-at-the-end",
        ),
        (previous_input, "previous-input"),
        (steps(lambda x, h, w, u: torch.sigmoid(w * x + u * h)), "rejected"),
        (steps(lambda x, h, w, u: torch.relu(w * x + u * h)), "rejected"),
        (steps(lambda x, h, w, u: torch.tanh(w * x + u * h), first=1.0), "rejected"),
        (steps(lambda x, h, w, u: torch.tanh(w * x - u * h)), "rejected"),
        (steps(lambda x, h, w, u: torch.tanh((w + u) * (x + h))), "rejected"),
        (lambda inputs, w, u: by_torch(inputs.flip(0), w, u).flip(0), "rejected"),
        (lambda inputs, w, u: by_torch(inputs, w, u).tolist(), "type"),
        (lambda inputs, w, u: by_torch(inputs, w, u)[:, None], "shape"),
        (one_too_short, "shape"),
        (over_inputs, "input"),
        (from_the_last_call, "state"),
    ],
    "cross-entropy": [
        (lambda logits, targets: len(logits) * F.cross_entropy(logits, targets), "summed"),
        (lambda logits, targets: F.nll_loss(logits, targets), "no-softmax"),
        (lambda logits, targets: F.nll_loss(logits.softmax(-1), targets), "no-logarithm"),
        (
            lambda logits, targets: F.cross_entropy(logits.softmax(-1), targets),
            "softmax-twice",
        ),
        (lambda logits, targets: F.nll_loss(logits.log_softmax(0), targets), "wrong-axis"),
        (lambda logits, targets: -chosen(logits.softmax(-1).log(), targets).mean(), "underflow"),
        (
            lambda logits, targets: -chosen((logits.softmax(-1) + 1e-9).log(), targets).mean(),
            "underflow",
        ),
        (
            lambda logits, targets: (
                -chosen(logits.softmax(-1).clamp(min=1e-7).log(), targets).mean()
            ),
            "underflow",
        ),
        (
            lambda logits, targets: (
                -chosen((logits.exp() / logits.exp().sum(-1, keepdim=True)).log(), targets).mean()
            ),
            "underflow",
        ),
        (
            lambda logits, targets: (logits.exp().sum(-1).log() - chosen(logits, targets)).mean(),
            "underflow",
        ),
        (lambda logits, targets: chosen(logits.log_softmax(-1), targets).mean(), "sign"),
        (lambda logits, targets: -chosen(logits.softmax(-1), targets).mean().log(), "log-of-mean"),
        (lambda logits, targets: -chosen(logits.softmax(-1), targets).log2().mean(), "bits"),
        (
            lambda logits, targets: (
                F.cross_entropy(logits, targets) / torch.log(torch.tensor(10.0))
            ),
            "rejected",
        ),
        (lambda logits, targets: -logits.log_softmax(-1).max(-1).values.mean(), "rejected"),
        (lambda logits, targets: F.cross_entropy(logits, logits.argmax(-1)), "rejected"),
        (lambda logits, targets: -logits.log_softmax(-1)[:, targets].mean(), "every-pair"),
        (
            lambda logits, targets: (
                -(F.one_hot(targets, logits.shape[1]) * logits.log_softmax(-1)).mean()
            ),
            "mean-over-words",
        ),
        (lambda logits, targets: F.cross_entropy(logits, targets).exp(), "rejected"),
        (lambda logits, targets: 1 - chosen(logits.softmax(-1), targets).mean(), "rejected"),
        (lambda logits, targets: F.cross_entropy(logits, targets, ignore_index=0), "id-zero-lost"),
        (lambda logits, targets: F.cross_entropy(logits, targets, reduction="none"), "shape"),
        (lambda logits, targets: -chosen(logits.log_softmax(-1), targets - 1).mean(), "rejected"),
    ],
    "gradient-step": [
        (lambda w, g, rate: torch.add(w, g, alpha=rate), "uphill"),
        (lambda w, g, rate: torch.sub(w, g), "no-rate"),
        (lambda w, g, rate: g * -rate, "step-alone"),
        (lambda w, g, rate: rate * g, "step-alone"),
        (lambda w, g, rate: w.add_(g, alpha=-rate), "in-place"),
        (lambda w, g, rate: rate * (w - g), "rate-of-both"),
        (lambda w, g, rate: rate * w - g, "rejected"),
        (lambda w, g, rate: w - g / rate, "divided-by-rate"),
        (lambda w, g, rate: w - rate * g.sign(), "normalized"),
        (lambda w, g, rate: w - rate * F.normalize(g, dim=-1), "rejected"),
        (lambda w, g, rate: w - rate * g / g.norm(), "normalized"),
        (lambda w, g, rate: w - rate * g.mean(), "rejected"),
        (lambda w, g, rate: w - rate * g.abs(), "rejected"),
        (lambda w, g, rate: w * (1 - rate * g), "rejected"),
        (lambda w, g, rate: w - rate * g * w, "rejected"),
        (lambda w, g, rate: w - rate, "rejected"),
        (lambda w, g, rate: w - rate * g.clamp(-1, 1), "rejected"),
        (lambda g, w, rate: w - rate * g, "rejected"),
    ],
}
