"""Answers to the exercises on head maps."""

import torch


def on(weights, step, *, first=1, total=None):
    n = weights.shape[-1]
    picked = [weights[:, i, (i + step) % n] for i in range(first, n + min(0, -max(step, 0)))]
    return sum(picked) / (total or len(picked))


def columns(weights, axis):
    return weights.diagonal(-1, 1, 2).sum(-1) / weights.sum(axis)[:, 0]


RIGHT = {
    "previous-weight": [
        lambda w: on(w, -1),
        lambda w: torch.stack([w[:, i, i - 1] for i in range(1, w.shape[1])]).mean(0),
        lambda w: w.double().diagonal(-1, dim1=1, dim2=2).mean(-1),
        lambda w: w[:, 1:, :-1].diagonal(dim1=1, dim2=2).sum(-1) / (w.shape[1] - 1),
    ]
}

WRONG = {
    "previous-weight": [
        (lambda w: on(w, 1, first=0), "next-word"),
        (lambda w: on(w, 0, first=0), "own-word"),
        (lambda w: on(w, -1, total=w.shape[1]), "first-counted"),
        (lambda w: on(w, -1, first=0), "first-counted"),
        (lambda w: torch.full((len(w),), on(w, -1).mean().item()), "heads-mixed"),
        (lambda w: on(w, -1).mean(), "heads-mixed"),
        (lambda w: on(w, -1, total=1), "sum"),
        (lambda w: w.diagonal(-1, 1, 2).amax(-1), "largest"),
        (lambda w: w.diagonal(-2, 1, 2).mean(-1), "two-before"),
        (lambda w: w.tril(-1).sum(-1).mean(-1), "all-before"),
        (lambda w: w.tril(-1).sum(-1)[:, 1:].mean(-1), "all-before"),
        (lambda w: w.diagonal(-1, 1, 2).median(-1).values, "rejected"),
        (lambda w: w.diagonal(-1, 1, 2), "shape"),
        (
            lambda w: (w.argmax(-1)[:, 1:] == torch.arange(w.shape[1] - 1)).float().mean(-1),
            "share-of-words",
        ),
        (lambda w: w.diagonal(-1, 0, 1).mean(-1), "rejected"),
        (lambda w: w.diagonal(-1, 1, 2).mean(0), "rejected"),
        (lambda w: w[:, 1, 0], "rejected"),
        (lambda w: w[:, -1, -2], "rejected"),
        (lambda w: on(w, -1).tolist(), "type"),
    ]
}
