"""Answers to the exercises of “What you need”."""

import torch
from torch import nn
from torch.nn import functional as F

# broadcast


# linear-layer


# embedding
def by_loop(tokens, table):
    if tokens.ndim == 0:
        return table[tokens.item()]
    return torch.stack([by_loop(each, table) for each in tokens])


# recurrent-steps
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


# cross-entropy
def chosen(rows, targets):
    return rows[torch.arange(len(rows)), targets]


def log_sum(logits):
    top = logits.max(dim=-1, keepdim=True).values
    return (logits - top).exp().sum(-1).log() + top[:, 0]


RIGHT = {
    "broadcast": [
        lambda a, b: torch.stack([each - b for each in a]),
        lambda a, b: torch.tensor([[x - y for y in b] for x in a]),
        lambda a, b: a.double().unsqueeze(1).expand(-1, len(b)) - b,
        lambda a, b: -torch.sub(b, a.view(-1, 1)),
    ],
    "linear-layer": [
        F.linear,
        lambda x, W, b: torch.einsum("...i,oi->...o", x, W) + b,
        lambda x, W, b: (W @ x.unsqueeze(-1)).squeeze(-1) + b,
        lambda x, W, b: (
            torch.cat((x, torch.ones(*x.shape[:-1], 1)), -1) @ torch.cat((W.T, b[None]))
        ),
    ],
    "embedding": [
        F.embedding,
        by_loop,
        lambda tokens, table: F.one_hot(tokens, len(table)).float() @ table,
        lambda tokens, table: table.index_select(0, tokens.flatten()).view(*tokens.shape, -1),
    ],
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
    "broadcast": {
        "transposed": [lambda a, b: a.expand(len(b), len(a)) - b.unsqueeze(1)],
        "sign": [lambda a, b: torch.stack([b - each for each in a])],
        "shape": [lambda a, b: torch.tensor([x - y for x in a for y in b])],
        "type": [lambda a, b: [[x - y for y in b] for x in a]],
        "dtype": [lambda a, b: (a[:, None] - b).long()],
        "rejected": [
            lambda a, b: a[: len(b)] - b[: len(a)],
            lambda a, b: (a[:, None] - b).square(),
            lambda a, b: a[:, None] * b,
            lambda a, b: a.repeat(len(b)).view(len(a), len(b)) - b,
            lambda a, b: a.view(2, 1) - b,
            lambda a, b: a[:, None] - b.mean(),
        ],
    },
    "linear-layer": {
        "not-transposed": [lambda x, W, b: torch.einsum("...i,io->...o", x, W) + b],
        "no-bias": [lambda x, W, b: F.linear(x, W)],
        "rejected": [
            lambda x, W, b: F.linear(x, W, 2 * b),
            lambda x, W, b: F.linear(x, W, b) / x.shape[-1] ** 0.5,
            lambda x, W, b: W @ x + b,
            lambda x, W, b: torch.einsum("bi,oi->bo", x, W) + b,
            lambda x, W, b: torch.addmm(b, x, W.T),
            lambda x, W, b: F.linear(x, W, b).squeeze(-1),
            lambda x, W, b: F.linear(x.flatten(0, -2) if x.ndim > 1 else x, W, b),
            lambda x, W, b: F.linear(x, W, b.mean()),
            lambda x, W, b: F.linear(x, W, b).softmax(-1),
            lambda x, W, b: F.linear(x.mean(0, keepdim=True), W, b),
        ],
    },
    "embedding": {
        "columns": [
            lambda tokens, table: table.index_select(1, tokens.flatten()).reshape(
                len(table), *tokens.shape
            )
        ],
        "added-up": [lambda tokens, table: F.embedding(tokens, table).sum(dim=-2)],
        "rejected": [
            lambda tokens, table: table[tokens].squeeze(),
            lambda tokens, table: table[tokens].flatten(-2),
            lambda tokens, table: table[tokens] * table.shape[1] ** 0.5,
            lambda tokens, table: table[tokens.unique()],
            lambda tokens, table: F.one_hot(tokens, len(table)),
            lambda tokens, table: F.one_hot(tokens).float() @ table,
            lambda tokens, table: torch.stack([table[t] for t in tokens]),
            lambda tokens, table: F.normalize(table[tokens], dim=-1),
            lambda tokens, table: F.embedding(tokens, table, max_norm=0.5),
        ],
    },
    "recurrent-steps": {
        "no-memory": [lambda inputs, w, u: by_torch(inputs, w, 0.0)],
        "no-tanh": [steps(lambda x, h, w, u: w * x + u * h)],
        "type": [lambda inputs, w, u: by_torch(inputs, w, u).tolist()],
        "shape": [
            lambda inputs, w, u: by_torch(inputs, w, u)[:, None],
            lambda inputs, w, u: by_torch(inputs, w, u)[:-1],
        ],
        "input": [over_inputs],
        "state": [from_the_last_call],
        "rejected": [
            steps(lambda x, h, w, u: torch.sigmoid(w * x + u * h)),
            steps(lambda x, h, w, u: torch.relu(w * x + u * h)),
            steps(lambda x, h, w, u: torch.tanh(w * x + u * h), first=1.0),
            steps(lambda x, h, w, u: torch.tanh(w * x - u * h)),
            steps(lambda x, h, w, u: torch.tanh((w + u) * (x + h))),
            lambda inputs, w, u: by_torch(inputs.flip(0), w, u).flip(0),
        ],
    },
    "cross-entropy": {
        "bits": [lambda logits, targets: -chosen(logits.softmax(-1), targets).log2().mean()],
        "summed": [lambda logits, targets: len(logits) * F.cross_entropy(logits, targets)],
        "shape": [lambda logits, targets: F.cross_entropy(logits, targets, reduction="none")],
        "rejected": [
            lambda logits, targets: (
                F.cross_entropy(logits, targets) / torch.log(torch.tensor(10.0))
            ),
            lambda logits, targets: -logits.log_softmax(-1).max(-1).values.mean(),
            lambda logits, targets: F.cross_entropy(logits, logits.argmax(-1)),
            lambda logits, targets: -chosen(logits.double().softmax(-1).log(), targets).mean(),
            lambda logits, targets: F.cross_entropy(logits, targets).exp(),
            lambda logits, targets: 1 - chosen(logits.softmax(-1), targets).mean(),
            lambda logits, targets: -chosen(logits.log_softmax(-1), targets - 1).mean(),
        ],
    },
    "gradient-step": {
        "uphill": [lambda w, g, rate: torch.add(w, g, alpha=rate)],
        "no-rate": [lambda w, g, rate: torch.sub(w, g)],
        "rejected": [
            lambda w, g, rate: rate * w - g,
            lambda w, g, rate: w - rate * F.normalize(g, dim=-1),
            lambda w, g, rate: w - rate * g.mean(),
            lambda w, g, rate: w - rate * g.abs(),
            lambda w, g, rate: w * (1 - rate * g),
            lambda w, g, rate: w - rate * g * w,
            lambda w, g, rate: w - rate,
            lambda w, g, rate: w - rate * g.clamp(-1, 1),
            lambda g, w, rate: w - rate * g,
        ],
    },
}
