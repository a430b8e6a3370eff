"""Answers to the exercises on averages."""

import torch


# attention-pooling
def shares(scores, dim):
    likeness = torch.exp(scores - scores.amax(dim, keepdim=True))
    return likeness / likeness.sum(dim=dim, keepdim=True)


def summed(weights, values):
    return torch.einsum("...qk,...kd->...qd", weights, values)


def highest(scores, values):
    chosen = scores.argmax(-1)
    return torch.gather(values, -2, chosen[..., None].expand(*chosen.shape, values.shape[-1]))


# nadaraya-watson
def gaussian(squares, values, dim=1):
    return (-squares).softmax(dim) @ values


def kernel(q, k, h):
    return torch.exp(-0.5 * ((q[:, None] - k) / h) ** 2)


# leave-one-out
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
    "leave-one-out": [
        lambda k, v, h: ((predictions(k, v, h) - v) ** 2).mean(),
        filled(-torch.inf),
        lambda k, v, h: filled(-torch.inf)(k.double(), v.double(), h).item(),
        lambda k, v, h: torch.nn.functional.mse_loss(predictions(k, v, h), v),
    ],
}

WRONG = {
    "attention-pooling": {
        "highest-only": [highest],
        "wrong-axis": [lambda scores, values: shares(scores, -2) @ values],
        "shape": [lambda scores, values: (scores.softmax(-1) @ values).squeeze(-1)],
        "rejected": [
            lambda scores, values: shares(scores, -1) @ values + 1,
            lambda scores, values: scores.sigmoid() @ values,
            lambda scores, values: (scores @ values).softmax(-1),
            lambda scores, values: scores.softmax(-1),
            lambda scores, values: scores.abs() / scores.abs().sum(-1, keepdim=True) @ values,
            lambda scores, values: scores.relu().softmax(-1) @ values,
        ],
    },
    "nadaraya-watson": {
        "bandwidth-not-squared": [lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h, v)],
        "bandwidth-multiplied": [lambda q, k, v, h: gaussian((q[:, None] * h - k * h) ** 2 / 2, v)],
        "shape": [lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, v)[:, None]],
        "rejected": [
            lambda q, k, v, h: gaussian((k[:, None] - q) ** 2 / 2 / h**2, v),
            lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, k),
            lambda q, k, v, h: (q[:, None] * k / h).softmax(1) @ v,
            lambda q, k, v, h: (a := kernel(q, k, h) / (h * 2.5066)) @ v / len(k) + 0 * a.sum(),
        ],
    },
    "leave-one-out": {
        "keeps-itself": [lambda k, v, h: ((predictions(k, v, h, hide=False) - v) ** 2).mean()],
        "removed-afterwards": [removed_afterwards],
        "shape": [lambda k, v, h: (predictions(k, v, h) - v) ** 2],
        "rejected": [
            lambda k, v, h: (predictions(k, v, h) - v).mean(),
            lambda k, v, h: (predictions(k, v, h) - v).mean() ** 2,
            lambda k, v, h: ((predictions(k, v, h) - v) ** 2).median(),
            lambda k, v, h: ((predictions(k, v, 1 / h) - v) ** 2).mean(),
            lambda k, v, h: ((predictions(k, v, h)[:-1] - v[:-1]) ** 2).mean(),
        ],
    },
}
