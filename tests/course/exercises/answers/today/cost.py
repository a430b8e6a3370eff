"""Answers to the exercises on what a word costs."""

import torch
from torch.nn import functional as F


def read(weights, kv_heads, d_k, tokens, batch, *, times=1, texts=True, kinds=2, size=2):
    cache = kinds * kv_heads * d_k * tokens * (batch if texts else 1)
    return size * times * weights + size * cache


def one_by_one(weights, kv_heads, d_k, tokens, batch):
    numbers = weights
    for _ in range(batch):
        for _ in ("keys", "values"):
            numbers += kv_heads * tokens * d_k
    return numbers + numbers


def rest(p, q):
    left = torch.where(p > q, p - q, torch.zeros_like(p))
    return left / left.sum() if left.sum() else p


def refused(p, q):
    """What was not accepted of p, as a share of all that was not accepted."""
    left = p - torch.minimum(p, q)
    return p.clone() if torch.equal(p, q) else left / (1 - torch.minimum(p, q).sum())


def share(left, p):
    return left / left.sum() if left.sum() > 0 else p


def in_place(p, q):
    p -= q
    p.clamp_(min=0)
    return p / p.sum() if p.sum() > 0 else q


RIGHT = {
    "step-bytes": [
        read,
        one_by_one,
        lambda w, h, d, t, b: torch.tensor([w, *[2 * h * d * t] * b]).sum() * 2,
    ],
    "draw-the-rest": [
        rest,
        refused,
        lambda p, q: F.normalize(F.relu(p - q), p=1, dim=-1) + p * torch.equal(p, q),
    ],
}

WRONG = {
    "step-bytes": [
        (lambda w, h, d, t, b: b * read(w, h, d, t, 1), "weights-each"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, texts=False), "cache-once"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, kinds=1), "keys-alone"),
        (lambda w, h, d, t, b: read(w, h, d, 1 if t else 0, b), "new-token-alone"),
        (lambda w, h, d, t, b: read(w, h, d, 1, b), "new-token-alone"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, size=1), "numbers"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, size=4), "four-bytes"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, size=16), "rejected"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, times=0), "weights-missing"),
        (lambda w, h, d, t, b: 2 * w, "cache-missing"),
        (lambda w, h, d, t, b: read(w, 1, d, t, b), "one-head"),
        (lambda w, h, d, t, b: read(w, h, 1, t, b), "rejected"),
        (lambda w, h, d, t, b: read(w, h, d, t + 1, b), "new-token-too"),
        (lambda w, h, d, t, b: 2 * w + 2 * h * d * t * b * 1, "keys-alone"),
        (lambda w, h, d, t, b: w + 4 * h * d * t * b, "weights-in-numbers"),
        (lambda w, h, d, t, b: 2 * w * 2 * h * d * t * b, "rejected"),
        (lambda w, h, d, t, b: read(w, h, d, t * t, b), "rejected"),
        (lambda w, h, d, t, b: read(w, h, d, t, b) / (b * (t or 1)), "rejected"),
        (lambda w, h, d, t, b: 2 * max(w, 2 * h * d * t * b), "rejected"),
        (lambda w, h, d, t, b: torch.tensor(read(w, h, d, t, b), dtype=torch.int32), "rejected"),
    ],
    "draw-the-rest": [
        (lambda p, q: p / p.sum(), "from-target"),
        (lambda p, q: torch.relu(p - q), "not-normalized"),
        (
            lambda p, q: torch.nan_to_num((p - q).abs() / (p - q).abs().sum()) + p * (p == q).all(),
            "absolute",
        ),
        (lambda p, q: rest(q, p), "other-way"),
        (lambda p, q: torch.relu(p - q) / torch.relu(p - q).sum(), "nan-where-equal"),
        (lambda p, q: (torch.relu(p - q) / torch.relu(p - q).sum()).nan_to_num(), "zeros"),
        (lambda p, q: F.normalize(torch.relu(p - q), p=1, dim=0), "zeros"),
        (lambda p, q: share(torch.relu(p - q) + 1e-9, p), "rejected"),
        (lambda p, q: share(torch.relu(p - q), torch.full_like(p, 1 / len(p))), "rejected"),
        (lambda p, q: p if torch.allclose(p, q) else rest(p, q), "rejected"),
        (lambda p, q: p if torch.allclose(p, q, atol=1e-3) else rest(p, q), "rejected"),
        (lambda p, q: torch.relu(p - q) / (torch.relu(p - q).sum() + 1e-6), "rejected"),
        (lambda p, q: (p - q).softmax(dim=-1), "softmax"),
        (lambda p, q: torch.relu(p - q).softmax(dim=-1), "softmax"),
        (lambda p, q: share(torch.minimum(p, q), p), "accepted-part"),
        (lambda p, q: share(p * (p > q), p), "whole-words"),
        (lambda p, q: share(p * (p >= q), p), "rejected"),
        (lambda p, q: share(torch.relu(p / q - 1).nan_to_num(posinf=0), p), "rejected"),
        (lambda p, q: (p - q) / (p - q).sum(), "not-clamped"),
        (lambda p, q: p - q, "rejected"),
        (lambda p, q: F.one_hot((p - q).argmax(), len(p)).float(), "rejected"),
        (in_place, "input"),
        (lambda p, q: q, "rejected"),
    ],
}
