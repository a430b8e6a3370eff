"""Answers to the exercises on circuits and states."""

import torch
from torch.nn import functional as F


# logit-lens
def lens(states, gain, W, *, eps=1e-5, scale=1.0):
    normed = F.layer_norm(states, states.shape[-1:], eps=eps)
    return F.softmax(torch.einsum("lpf,f,fw->lpw", normed, gain, W) * scale, dim=-1)


def stage_by_stage(states, gain, W):
    found = []
    for x in states:
        centered = x - x.mean(-1, keepdim=True)
        std = (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        scores = (gain * centered / std) @ W
        found.append(scores.exp() / scores.exp().sum(-1, keepdim=True))
    return torch.stack(found)


def one_less(states, gain, W):
    centered = states - states.mean(-1, keepdim=True)
    std = (states.var(-1, keepdim=True) + 1e-5).sqrt()
    return ((centered / std * gain) @ W).softmax(-1)


# recovered-share
def recovered(clean, changed, patched, answer, rival):
    lost = (clean[answer] - clean[rival]) - (changed[answer] - changed[rival])
    left = (clean[answer] - clean[rival]) - (patched[answer] - patched[rival])
    return 1 - left / lost


def with_rival_first(clean, changed, patched, answer, rival):
    low, high, got = (float(x[rival] - x[answer]) for x in (changed, clean, patched))
    return (got - low) / (high - low)


# parity-states
def turned(bits, top):
    return torch.cumprod(1 - top * bits.float(), dim=0)


def one_by_one(bits, top):
    state, found = torch.tensor(1.0), []
    for bit in bits:
        strength = top * bit
        state = state * (1 - strength)
        found.append(state)
    return torch.stack(found)


# stack-memory
def kept(kinds, tokens, d):
    return kinds.count("d") * d**2 + kinds.count("s") * tokens * (d + d)


def layer_by_layer(kinds, tokens, d):
    total = 0
    for kind in kinds:
        if kind == "s":
            total += tokens * d
            total += tokens * d
        else:
            total += d * d
    return total


RIGHT = {
    "logit-lens": [lens, stage_by_stage],
    "recovered-share": [recovered, with_rival_first],
    "parity-states": [turned, one_by_one],
    "stack-memory": [kept, layer_by_layer],
}

WRONG = {
    "logit-lens": {
        "no-gain": [lambda x, g, W: lens(x, torch.ones_like(g), W)],
        "divided-by-n-minus-1": [one_less],
        "last-alone": [lambda x, g, W: stage_by_stage(x[-1:], g, W)[0]],
        "rejected": [
            lambda x, g, W: lens(x, g, W).flip(0),
            lambda x, g, W: lens(x, g, W, eps=0.1),
            lambda x, g, W: lens(x, g, W, scale=0.5),
            lambda x, g, W: lens(x, 1 + g, W),
            lambda x, g, W: lens(x.mean(dim=1, keepdim=True).expand_as(x), g, W),
        ],
    },
    "recovered-share": {
        "what-is-missing": [lambda c, x, p, a, r: recovered(x, c, p, a, r)],
        "answer-alone": [lambda c, x, p, a, r: 1 - (c - p)[a] / (c - x)[a]],
        "cut-off": [lambda c, x, p, a, r: min(max(with_rival_first(c, x, p, a, r), 0.0), 1.0)],
        "rejected": [
            lambda c, x, p, a, r: recovered(x, c, p, a, r) * 2,
            lambda c, x, p, a, r: recovered(c, x, p, a, r).abs(),
            lambda c, x, p, a, r: (p - x).norm() / (c - x).norm(),
            lambda c, x, p, a, r: 100 * recovered(c, x, p, a, r),
            lambda c, x, p, a, r: (p[a] - x[a]) / (c[a] - x[r]),
        ],
    },
    "parity-states": {
        "before-the-bit": [lambda b, t: turned(F.pad(b[:-1], (1, 0)), t)],
        "zeros-turn": [lambda b, t: turned(b == 0, t)],
        "top-ignored": [lambda b, t: one_by_one(b, 2)],
        "type": [lambda b, t: turned(b, t).tolist()],
        "rejected": [
            lambda b, t: turned(b, t).abs(),
            lambda b, t: turned(b, t).flip(0),
            lambda b, t: 1 - turned(b, t),
            lambda b, t: torch.cumprod(1 - t * b.float() / 2, dim=0),
            lambda b, t: torch.cumprod(1 + t * b.float(), dim=0),
        ],
    },
    "stack-memory": {
        "caches-alone": [lambda k, n, d: kept(k.replace("d", ""), n, d)],
        "all-caches": [lambda k, n, d: kept(k.replace("d", "s"), n, d)],
        "state-of-two": [lambda k, n, d: kept(k.replace("d", "dd"), n, d)],
        "kinds-not-layers": [lambda k, n, d: layer_by_layer(set(k), n, d)],
        "rejected": [
            lambda k, n, d: kept(k, n, d) * 2,
            lambda k, n, d: kept(k, n + 1, d),
            lambda k, n, d: kept(k, n, 2 * d),
            lambda k, n, d: max(d * d, 2 * n * d) * len(k),
            lambda k, n, d: len(k) * d * d,
        ],
    },
}
