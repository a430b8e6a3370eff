"""Answers to the exercise on the loss of padded batches."""

import math

import torch
from torch.nn import functional as F


def losses(logits, targets, mask):
    """Each real token's own loss, row by row."""
    return [
        [-row.log_softmax(-1)[t] for row, t, real in zip(*each, strict=True) if real]
        for each in zip(logits, targets, mask, strict=True)
    ]


def flat(rows):
    return torch.stack([loss for row in rows for loss in row])


def each(x, y):
    return F.cross_entropy(x.mT, y, reduction="none")


def chosen(logs, y):
    return logs.gather(2, y[..., None])[..., 0]


RIGHT = {
    "masked-loss": [
        lambda x, y, m: flat(losses(x, y, m)).mean(),
        lambda x, y, m: F.cross_entropy(x[m], y[m]),
        lambda x, y, m: (each(x, y) * m).sum() / m.sum(),
        lambda x, y, m: F.cross_entropy(
            x.flatten(0, 1), torch.where(m, y, -100).flatten(), ignore_index=-100
        ).item(),
        lambda x, y, m: each(x.double(), y)[m].mean(),
    ]
}

WRONG = {
    "masked-loss": [
        (lambda x, y, m: F.cross_entropy(x.mT, y), "padding-counted"),
        (lambda x, y, m: (F.cross_entropy(x.mT, y, reduction="none") * m).mean(), "divided-by-all"),
        (lambda x, y, m: flat(losses(x, y, m)).mean() / m.sum(), "divided-twice"),
        (lambda x, y, m: flat(losses(x, y, m)).sum(), "sum"),
        (lambda x, y, m: flat(losses(x, y, m)).sum() / x.shape[0], "per-batch"),
        (
            lambda x, y, m: sum(torch.stack(row).mean() for row in losses(x, y, m)) / len(x),
            "mean-of-means",
        ),
        (lambda x, y, m: flat(losses(x.softmax(-1), y, m)).mean(), "softmax-twice"),
        (
            lambda x, y, m: -x.log_softmax(1).gather(2, y[..., None])[..., 0][m].mean(),
            "wrong-axis",
        ),
        (lambda x, y, m: flat(losses(x, y, m)).mean() * math.log2(math.e), "bits"),
        (lambda x, y, m: F.cross_entropy(x.mT, y, ignore_index=0), "id-zero-as-padding"),
        (
            lambda x, y, m: F.cross_entropy(x.mT, y * m, ignore_index=0),
            "id-zero-as-padding",
        ),
        (lambda x, y, m: each(x, y)[y != 0].mean(), "id-zero-as-padding"),
        (lambda x, y, m: each(x * m[..., None], y).mean(), "logits-hidden"),
        (lambda x, y, m: (each(x * m[..., None], y)).sum() / m.sum(), "logits-hidden"),
        (lambda x, y, m: each(x, y)[~m].sum() / m.sum(), "mask-inverted"),
        (lambda x, y, m: -flat(losses(x, y, m)).mean(), "sign"),
        (lambda x, y, m: -chosen(x.softmax(-1).log(), y)[m].mean(), "underflow"),
        (lambda x, y, m: -chosen((x.softmax(-1) + 1e-9).log(), y)[m].mean(), "underflow"),
        (lambda x, y, m: -chosen(x, y)[m].mean(), "no-softmax"),
        (lambda x, y, m: -chosen(x.softmax(-1), y)[m].mean(), "rejected"),
        (lambda x, y, m: flat(losses(x, y, m)).mean().exp(), "perplexity"),
        (lambda x, y, m: F.cross_entropy(x[m], y[m], label_smoothing=0.1), "rejected"),
        (lambda x, y, m: each(x, y)[m].max(), "rejected"),
        (lambda x, y, m: each(x[:, :-1], y[:, 1:])[m[:, 1:]].mean(), "shifted-again"),
        (lambda x, y, m: (each(x, y) * m).sum(1).mean() / x.shape[1], "divided-by-all"),
        (lambda x, y, m: each(x, y)[m], "shape"),
    ]
}
