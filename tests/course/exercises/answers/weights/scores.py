"""Answers to the exercise on scaled dot products."""

import math

import torch
from torch.nn import functional as F


def attend(q, k, v, mask, *, scale=None, dim=-1, after=1.0):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = torch.einsum("...qd,...kd->...qk", q, k) * scale
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim).nan_to_num()
    return after * weights @ v


def loop(q, k, v, mask):
    if q.ndim == 3:
        return torch.stack([loop(*each) for each in zip(q, k, v, mask, strict=True)])
    rows = []
    for query, seen in zip(q, mask.expand(len(q), len(k)), strict=True):
        scores = torch.tensor([query @ key / len(query) ** 0.5 for key in k[seen]])
        rows.append(scores.softmax(0) @ v[seen])
    return torch.stack(rows)


def scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def bare(q, k, v, mask):
    likeness = scores(q, k).exp() * mask
    return likeness @ v / likeness.sum(-1, keepdim=True).clamp(min=1e-9)


RIGHT = {
    "scaled-dot-product": [
        loop,
        lambda q, k, v, m: attend(q, k, v, m),
        lambda q, k, v, m: attend(q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25, v, m, scale=1),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m).nan_to_num(),
        lambda q, k, v, m: (
            scores(q, k).masked_fill(~m, -torch.inf).softmax(-1).masked_fill(~m, 0) @ v
        ),
        lambda q, k, v, m: scores(q, k).masked_fill(~m, -torch.inf).softmax(-1) @ v,
        lambda q, k, v, m: scores(q, k).masked_fill(~m, -1e9).softmax(-1) @ v,
    ],
}

WRONG = {
    "scaled-dot-product": [
        (lambda q, k, v, m: attend(q, k, v, m, scale=1 / q.shape[-1]), "divided-by-d"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=1), "not-scaled"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=q.shape[-1] ** 0.5), "multiplied"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=1 / k.shape[-2] ** 0.5), "wrong-root"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=v.shape[-1] ** -0.5), "wrong-root"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=1 / q.shape[-2] ** 0.5), "wrong-root"),
        (
            lambda q, k, v, m: attend(q, k, v, m, scale=1, after=q.shape[-1] ** -0.5),
            "scaled-afterwards",
        ),
        (lambda q, k, v, m: attend(q, k, v, m, after=q.shape[-1] ** -0.5), "rejected"),
        (lambda q, k, v, m: attend(q, k, v, m, dim=-2), "wrong-axis"),
        (lambda q, k, v, m: attend(q, k, v, m, dim=1), "wrong-axis"),
        (lambda q, k, v, m: attend(q, k, v, ~m), "mask-inverted"),
        (lambda q, k, v, m: attend(q, k, v, m | True), "mask-ignored"),
        (lambda q, k, v, m: (scores(q, k).softmax(-1) * m) @ v, "masked-afterwards"),
        (lambda q, k, v, m: (scores(q, k) * m).softmax(-1) @ v, "scores-set-to-zero"),
        (lambda q, k, v, m: scores(q, k).masked_fill(~m, -100).softmax(-1) @ v, "finite-fill"),
        (lambda q, k, v, m: scores(q, k).masked_fill(~m, 0).softmax(-1) @ v, "scores-set-to-zero"),
        (lambda q, k, v, m: attend(-q, k, v, m), "sign"),
        (lambda q, k, v, m: attend(k, q, v, m), "swapped"),
        (lambda q, k, v, m: attend(q, k, k, m), "rejected"),
        (lambda q, k, v, m: attend(q, v, k, m), "rejected"),
        (lambda q, k, v, m: (m * scores(q, k)) @ v, "no-softmax"),
        (bare, "bare-exponentials"),
        (
            lambda q, k, v, m: attend(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, m),
            "rejected",
        ),
        (lambda q, k, v, m: attend(q, k, v, m, scale=0), "rejected"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=8**-0.5), "rejected"),
        (
            lambda q, k, v, m: scores(q, k).masked_fill(~m, -torch.inf).softmax(-1).nan_to_num(),
            "rejected",
        ),
    ],
}
