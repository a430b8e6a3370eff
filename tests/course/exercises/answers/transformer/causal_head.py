"""Answers to the exercises on causal head."""

import math

import torch


def attend(x, W_q, W_k, W_v, *, allowed=torch.tril, root=math.sqrt):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    rows = []
    for i, row in enumerate(allowed(torch.ones(len(x), len(x)))):
        seen = row.bool()
        weights = torch.softmax(k[seen] @ q[i] / root(k.shape[-1]), dim=0)
        rows.append(weights @ v[seen])
    return torch.stack(rows)


def late(x, W_q, W_k, W_v):
    weights = torch.softmax(x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5, -1)
    return torch.tril(weights) @ (x @ W_v)


def settings(**given):
    return lambda x, W_q, W_k, W_v: attend(x, W_q, W_k, W_v, **given)


def filled(fill, dim=-1, scale=None, swap=False, transpose=False):
    def answer(x, W_q, W_k, W_v):
        if transpose:
            W_q, W_k, W_v = W_q.T, W_k.T, W_v.T
        q, k, v = x @ W_q, x @ W_k, x @ W_v
        if swap:
            q, k = k, q
        scores = q @ k.T / (scale(x, W_v) if scale else W_k.shape[1] ** 0.5)
        hidden = torch.ones(len(x), len(x)).triu(1) > 0
        return scores.masked_fill(hidden, fill).softmax(dim) @ v

    return answer


def bare(x, W_q, W_k, W_v):
    likeness = (x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5).exp().tril()
    return likeness / likeness.sum(-1, keepdim=True) @ (x @ W_v)


def by_multiplying(x, W_q, W_k, W_v):
    scores = x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5
    return scores.tril().softmax(-1) @ (x @ W_v)


RIGHT = {
    "causal-self-attention": [
        settings(),
        filled(-torch.inf),
        filled(-1e9),
        lambda x, W_q, W_k, W_v: torch.nn.functional.scaled_dot_product_attention(
            x @ W_q, x @ W_k, x @ W_v, is_causal=True
        ),
    ]
}

WRONG = {
    "causal-self-attention": [
        (settings(allowed=torch.ones_like), "no-mask"),
        (late, "masked-afterwards"),
        (settings(allowed=lambda m: m.tril(-1)), "off-by-one"),
        (settings(allowed=lambda m: m.tril(1)), "off-by-one"),
        (settings(allowed=torch.triu), "mask-upside-down"),
        (settings(root=float), "divided-by-d"),
        (settings(root=lambda d: 1), "not-scaled"),
        (filled(-torch.inf, scale=lambda x, W_v: x.shape[1] ** 0.5), "root-of-d-model"),
        (filled(-torch.inf, scale=lambda x, W_v: W_v.shape[1] ** 0.5), "wrong-root"),
        (filled(-torch.inf, scale=lambda x, W_v: len(x) ** 0.5), "wrong-root"),
        (filled(-torch.inf, dim=0), "wrong-axis"),
        (filled(-torch.inf, swap=True), "queries-and-keys-swapped"),
        (filled(0.0), "scores-set-to-zero"),
        (by_multiplying, "scores-set-to-zero"),
        (filled(-10.0), "rejected"),
        (filled(-torch.inf, transpose=True), "rejected"),
        (bare, "bare-exponentials"),
        (lambda x, W_q, W_k, W_v: filled(-torch.inf)(x, W_q, W_k, W_v) + x @ W_v, "rejected"),
        (lambda x, W_q, W_k, W_v: filled(-torch.inf)(-x, W_q, W_k, W_v), "rejected"),
        (lambda x, W_q, W_k, W_v: filled(-torch.inf)(x, -W_q, W_k, W_v), "sign"),
        (lambda x, W_q, W_k, W_v: filled(-torch.inf)(x, W_q, W_k, W_k), "rejected"),
    ]
}
