"""Answers to the exercises on pooling."""

import torch


def shares(scores, dim):
    likeness = torch.exp(scores - scores.amax(dim, keepdim=True))
    return likeness / likeness.sum(dim=dim, keepdim=True)


def summed(weights, values):
    return torch.einsum("...qk,...kd->...qd", weights, values)


def highest(scores, values):
    chosen = scores.argmax(-1)
    return torch.gather(values, -2, chosen[..., None].expand(*chosen.shape, values.shape[-1]))


def gaussian(squares, values, dim=1):
    return (-squares).softmax(dim) @ values


def kernel(q, k, h):
    return torch.exp(-0.5 * ((q[:, None] - k) / h) ** 2)


def nearest(q, k, v, h):
    return v[(q[:, None] - k).abs().argmin(1)]


def added(q, k, v, h, eps=1e-8):
    a = kernel(q, k, h)
    return a @ v / (a.sum(1) + eps)


RIGHT = {
    "attention-pooling": [
        lambda scores, values: shares(scores, -1) @ values,
        lambda scores, values: summed(torch.softmax(scores, -1), values),
        lambda scores, values: scores.double().softmax(-1) @ values.double(),
        lambda scores, values: (scores.softmax(-1)[..., None] * values[..., None, :, :]).sum(
            dim=-2
        ),
        lambda scores, values: scores.log_softmax(-1).exp() @ values,
    ],
    "nadaraya-watson": [
        lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, v),
        lambda q, k, v, h: (-0.5 * ((k[:, None] - q) / h) ** 2).softmax(0).T @ v,
        lambda q, k, v, h: torch.stack([(-((x - k) ** 2) / (2 * h * h)).softmax(0) @ v for x in q]),
        lambda q, k, v, h: ((-(((q[:, None] - k) / h) ** 2) / 2).log_softmax(1).exp() * v).sum(1),
    ],
}

WRONG = {
    "attention-pooling": [
        (lambda scores, values: shares(scores, -2) @ values, "wrong-axis"),
        (lambda scores, values: torch.softmax(scores, 0) @ values, "wrong-axis"),
        (lambda scores, values: torch.softmax(scores, 1) @ values, "wrong-axis"),
        (lambda scores, values: summed(scores.exp(), values), "not-normalized"),
        (lambda scores, values: summed(scores, values), "scores-as-weights"),
        (lambda scores, values: (scores @ values) / scores.sum(-1)[..., None], "shares-of-scores"),
        (
            lambda scores, values: values.mean(-2, keepdim=True).expand(
                *scores.shape[:-1], values.shape[-1]
            ),
            "plain-average",
        ),
        (lambda s, values: s.exp() / s.exp().sum(-1, keepdim=True) @ values, "overflow"),
        (lambda s, v: (s.exp() @ v) / s.exp().sum(-1, keepdim=True), "overflow"),
        (
            lambda s, values: (
                (s - s.max()).exp() / (s - s.max()).exp().sum(-1, keepdim=True) @ values
            ),
            "overflow",
        ),
        (
            lambda s, values: (
                (s - s.max()).exp() / ((s - s.max()).exp().sum(-1, keepdim=True) + 1e-8) @ values
            ),
            "overflow",
        ),
        (lambda scores, values: shares(scores, -1) @ values + 1, "rejected"),
        (lambda scores, values: (-scores).softmax(-1) @ values, "sign"),
        (lambda scores, values: scores.sigmoid() @ values, "rejected"),
        (lambda scores, values: (scores / scores.shape[-1] ** 0.5).softmax(-1) @ values, "scaled"),
        (
            lambda scores, values: (scores / values.shape[-1] ** 0.5).softmax(-1) @ values,
            "scaled",
        ),
        (highest, "highest-only"),
        (lambda scores, values: scores.softmax(-1).softmax(-1) @ values, "softmax-twice"),
        (lambda scores, values: (scores @ values).softmax(-1), "rejected"),
        (lambda scores, values: scores.softmax(-1), "rejected"),
        (
            lambda scores, values: scores.abs() / scores.abs().sum(-1, keepdim=True) @ values,
            "rejected",
        ),
        (lambda scores, values: scores.relu().softmax(-1) @ values, "rejected"),
        (lambda scores, values: (scores.softmax(-1) @ values).squeeze(-1), "shape"),
    ],
    "nadaraya-watson": [
        (lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h, v), "bandwidth-not-squared"),
        (lambda q, k, v, h: gaussian((q[:, None] * h - k * h) ** 2 / 2, v), "bandwidth-multiplied"),
        (lambda q, k, v, h: gaussian((q[:, None] / h - k / h) ** 2, v), "no-half"),
        (lambda q, k, v, h: gaussian((q[:, None] - k).abs() / h / 2, v), "not-squared"),
        (lambda q, k, v, h: gaussian((q[:, None] - k).square() / h**2 / 2, v, 0), "wrong-axis"),
        (lambda q, k, v, h: kernel(q, k, h) @ v, "not-normalized"),
        (lambda q, k, v, h: ((a := kernel(q, k, h)) / a.sum(1, keepdim=True)) @ v, "underflow"),
        (lambda q, k, v, h: kernel(q, k, h) @ v / kernel(q, k, h).sum(1), "underflow"),
        (added, "underflow"),
        (lambda q, k, v, h: added(q, k, v, h, 1e-30), "underflow"),
        (
            lambda q, k, v, h: (kernel(q, k, h) @ v / kernel(q, k, h).sum(1)).nan_to_num(),
            "underflow",
        ),
        (lambda q, k, v, h: gaussian(-((q[:, None] - k) ** 2) / 2 / h**2, v), "sign"),
        (lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2, v), "no-bandwidth"),
        (nearest, "nearest-only"),
        (lambda q, k, v, h: v.mean().expand(len(q)), "plain-average"),
        (lambda q, k, v, h: kernel(q, k, h).softmax(1) @ v, "softmax-of-kernel"),
        (lambda q, k, v, h: gaussian((k[:, None] - q) ** 2 / 2 / h**2, v), "rejected"),
        (lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, k), "rejected"),
        (lambda q, k, v, h: (q[:, None] * k / h).softmax(1) @ v, "rejected"),
        (lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, v)[:, None], "shape"),
        (
            lambda q, k, v, h: (a := kernel(q, k, h) / (h * 2.5066)) @ v / len(k) + 0 * a.sum(),
            "rejected",
        ),
    ],
}
