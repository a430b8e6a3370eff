"""Answers to the exercise on the leave-one-out error."""

import torch


def predictions(keys, values, h, *, hide=True):
    """Leave each point out in a loop."""
    found = []
    for i in range(len(keys)):
        kept = [j for j in range(len(keys)) if j != i or not hide]
        weights = (-((keys[i] - keys[kept]) ** 2) / (2 * h * h)).softmax(0)
        found.append(weights @ values[kept])
    return torch.stack(found)


def log_kernel(keys, h):
    return -((keys[:, None] - keys) ** 2) / (2 * h * h)


def removed_afterwards(keys, values, h):
    weights = log_kernel(keys, h).softmax(1)
    weights = weights.clone().fill_diagonal_(0)
    return ((weights @ values - values) ** 2).mean()


def filled(value, log=log_kernel):
    def error(keys, values, h):
        scores = log(keys, h).clone().fill_diagonal_(value)
        return ((scores.softmax(1) @ values - values) ** 2).mean()

    return error


def quotient(keys, values, h, add=0.0):
    kernel = log_kernel(keys, h).exp().clone().fill_diagonal_(0)
    return ((kernel @ values / (kernel.sum(1) + add) - values) ** 2).mean()


def renormalized(keys, values, h):
    weights = log_kernel(keys, h).softmax(1) * (1 - torch.eye(len(keys)))
    return ((weights / weights.sum(1, keepdim=True) @ values - values) ** 2).mean()


def by_key(keys, values, h):
    """Hide whatever lies where the point lies."""
    scores = log_kernel(keys, h)
    found = scores.masked_fill(keys[:, None] == keys, -torch.inf).softmax(1) @ values
    return ((found - values) ** 2).mean()


def average(keys, values, h):
    n = len(keys)
    return (((values.sum() - values) / (n - 1) - values) ** 2).mean()


RIGHT = {
    "leave-one-out": [
        lambda k, v, h: ((predictions(k, v, h) - v) ** 2).mean(),
        filled(-torch.inf),
        lambda k, v, h: filled(-torch.inf)(k.double(), v.double(), h).item(),
        lambda k, v, h: torch.nn.functional.mse_loss(predictions(k, v, h), v),
    ]
}

WRONG = {
    "leave-one-out": [
        (lambda k, v, h: ((predictions(k, v, h, hide=False) - v) ** 2).mean(), "keeps-itself"),
        (filled(0.0), "keeps-itself"),
        (removed_afterwards, "removed-afterwards"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).sum(), "sum"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).sum() / (len(k) - 1), "one-less"),
        (lambda k, v, h: (predictions(k, v, h) - v).abs().mean(), "absolute"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).mean() ** 0.5, "root"),
        (lambda k, v, h: (predictions(k, v, h) - v).mean(), "rejected"),
        (lambda k, v, h: (predictions(k, v, h) - v).mean() ** 2, "rejected"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).median(), "rejected"),
        (quotient, "underflow"),
        (lambda k, v, h: quotient(k, v, h, add=1e-8), "underflow"),
        (renormalized, "underflow"),
        (filled(-100.0), "finite-fill"),
        (filled(-10.0), "finite-fill"),
        (by_key, "hidden-by-key"),
        (lambda k, v, h: ((predictions(k, v, h**0.5) - v) ** 2).mean(), "bandwidth-not-squared"),
        (lambda k, v, h: ((predictions(k, v, h / 2**0.5) - v) ** 2).mean(), "no-half"),
        (lambda k, v, h: ((predictions(k, v, 1 / h) - v) ** 2).mean(), "rejected"),
        (average, "plain-average"),
        (lambda k, v, h: ((predictions(k, v, h)[:-1] - v[:-1]) ** 2).mean(), "rejected"),
        (lambda k, v, h: (predictions(k, v, h) - v) ** 2, "shape"),
    ],
}
