"""Answers to the exercises on warmup and smoothing."""

import math

import torch
from torch.nn import functional as F


def rate(step, warmup, d_model):
    rising = step <= warmup
    return (step / warmup if rising else math.sqrt(warmup / step)) / math.sqrt(warmup * d_model)


def loss(logits, targets, eps, *, total=1.0, spread=None, reduce=torch.mean, log=torch.log):
    words, classes = logits.shape
    q = torch.full((words, classes), eps / (spread or classes))
    for word, target in enumerate(targets):
        q[word, target] = total - eps + (eps / classes if spread is None else 0)
    return reduce(-(q * log(logits.softmax(-1))).sum(-1))


def smoothing(**settings):
    return lambda x, y, e: loss(x, y, e, **settings)


def by_parts(x, y, e):
    logs = x.log_softmax(-1)
    return ((1 - e) * -logs.gather(1, y[:, None])[:, 0] - e * logs.mean(-1)).mean()


RIGHT = {
    "warm-up": [
        rate,
        lambda s, w, d: d**-0.5 * min(s**-0.5, s * w**-1.5),
        lambda s, w, d: torch.tensor(min(1 / math.sqrt(s), s / w**1.5) / math.sqrt(d)),
        lambda step, warmup, d_model: 1 / math.sqrt(d_model * max(step, warmup**3 / step**2)),
    ],
    "smoothed-loss": [
        by_parts,
        lambda x, y, e: F.cross_entropy(x, y, label_smoothing=e),
        lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e * (x.logsumexp(-1) - x.mean(-1)).mean(),
        lambda x, y, e: F.cross_entropy(x, F.one_hot(y, x.shape[1]) * (1 - e) + e / x.shape[1]),
    ],
}

WRONG = {
    "warm-up": [
        (lambda s, w, d: rate(s - 1, w, d), "counted-from-zero"),
        (lambda s, w, d: max(s / w**1.5, 1 / s**0.5) / d**0.5, "larger-of-two"),
        (lambda s, w, d: rate(s, w, 1), "no-width"),
        (lambda s, w, d: (s / w if s <= w else s**-0.5) / math.sqrt(d), "jump-at-the-peak"),
        (lambda s, w, d: 1 / math.sqrt(s * d), "no-warm-up"),
        (lambda s, w, d: rate(s + 1, w, d), "one-step-ahead"),
        (lambda s, w, d: rate(s, w, d) * d**0.5 / d, "divided-by-width"),
        (lambda s, w, d: rate(s, w, d) * d, "rejected"),
        (lambda s, w, d: min(s**-0.5, s * w**-0.5) / d**0.5, "wrong-slope"),
        (lambda s, w, d: min(s**-0.5, s / w) / d**0.5, "wrong-slope"),
        (lambda s, w, d: min(s**-0.5, s**1.5 / w**2) / d**0.5, "rejected"),
        (lambda s, w, d: min(1 / s, s * w**-2) / d**0.5, "falls-with-the-step"),
        (lambda s, w, d: min(1.0, s / w) / d**0.5, "rejected"),
        (lambda s, w, d: min(1.0, s / w) / (w * d) ** 0.5, "never-falls"),
        (lambda s, w, d: min(s / w**1.5, 1 / w**0.5) / d**0.5, "never-falls"),
        (lambda s, w, d: s / w**1.5 / d**0.5, "rejected"),
        (lambda s, w, d: s**-0.5 + s * w**-1.5, "rejected"),
        (lambda w, s, d: rate(s, w, d), "rejected"),
        (lambda s, w, d: round(rate(s, w, d), 3), "rejected"),
        (lambda s, w, d: rate(s, w, d) if s != w else 0.0, "rejected"),
    ],
    "smoothed-loss": [
        (smoothing(spread=None, total=1 + 0.5), "rejected"),
        (lambda x, y, e: loss(x, y, e, spread=x.shape[1]), "own-share-forgotten"),
        (lambda x, y, e: loss(x, y, e, spread=x.shape[1] - 1), "shared-among-the-others"),
        (lambda x, y, e: loss(x, y, e, total=1 + e), "nothing-taken-away"),
        (lambda x, y, e: by_parts(x, y, e) * len(x), "sum"),
        (lambda x, y, e: by_parts(x, y, 0.0), "not-smoothed"),
        (lambda x, y, e: by_parts(x, y, e) / math.log(2), "bits"),
        (lambda x, y, e: loss(x, y, e), "underflow"),
        (lambda x, y, e: by_parts(x.softmax(-1), y, e), "softmax-twice"),
        (lambda x, y, e: -by_parts(x, y, e), "sign"),
        (lambda x, y, e: (1 - e) * F.cross_entropy(x, y), "share-lost"),
        (lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e, "rejected"),
        (lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e * math.log(x.shape[1]), "rejected"),
        (lambda x, y, e: by_parts(x, y, 1 - e), "the-other-way-round"),
        (lambda x, y, e: by_parts(x, y, 0.1), "fixed-smoothing"),
        (
            lambda x, y, e: (1 - e) * F.cross_entropy(x, y) - e * x.log_softmax(-1).sum(-1).mean(),
            "summed-over-classes",
        ),
        (lambda x, y, e: by_parts(x, y, e) / x.shape[1], "rejected"),
        (lambda x, y, e: F.cross_entropy(x, y, label_smoothing=e, reduction="none"), "shape"),
        (lambda x, y, e: F.cross_entropy(x, y, label_smoothing=e, ignore_index=0), "id-zero-lost"),
        (lambda x, y, e: F.cross_entropy(x * (1 - e), y), "rejected"),
        (lambda x, y, e: by_parts(x.mT, y.clamp(max=len(x) - 1), e), "rejected"),
    ],
}
