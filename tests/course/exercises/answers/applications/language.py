"""Answers to the exercises on language models."""

import torch


def by_hand(probabilities, p, *, stop=lambda total, p: total >= p, descending=True):
    total, kept = 0.0, torch.zeros_like(probabilities)
    for index in probabilities.argsort(descending=descending, stable=True).tolist():
        if stop(total, p):
            break
        total += float(probabilities[index])
        kept[index] = probabilities[index]
    return kept / kept.sum()


def by_count(x, p, more=0):
    """Keep the first so many of the sorted words."""
    values, order = x.sort(descending=True)
    count = int((values.cumsum(0) < p).sum()) + 1 + more
    kept = torch.zeros_like(x)
    kept[order[:count]] = values[:count]
    return kept / kept.sum()


def scattered(x, rule):
    values, order = torch.sort(x, descending=True)
    kept = values * rule(values.cumsum(0), values)
    out = torch.zeros_like(x)
    out[order] = kept / kept.sum()
    return out


def sum_kept(x, p):
    return x[by_hand(x, p) > 0].sum()


def unsorted(x, p):
    kept = torch.where(x.cumsum(0) - x < p, x, torch.zeros(()))
    return kept / kept.sum()


def indexed_back(x, p):
    """Put the words back by the order itself, not by its inverse."""
    return by_hand(x, p).sort(descending=True)[0][x.argsort(descending=True)]


def softened(x, p, *, inputs):
    return inputs(x).masked_fill(by_hand(x, p) == 0, -torch.inf).softmax(dim=-1)


def rows_and_columns(lengths, n):
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j <= i) | (j < lengths[:, None, None])


def one_by_one(lengths, n):
    mask = torch.ones(len(lengths), n, n).tril().bool()
    for each, length in zip(mask, lengths.tolist(), strict=True):
        each[:length, :length] = True
    return mask


def before(lengths, n):
    return torch.arange(n) < lengths[:, None, None]


def causal(n):
    return torch.ones(n, n).tril().bool()


RIGHT = {
    "top-p": [
        by_hand,
        by_count,
        lambda x, p: scattered(x, lambda sums, values: sums - values < p),
        lambda x, p: softened(x, p, inputs=torch.log),
    ],
    "prefix-mask": [rows_and_columns, one_by_one],
}

WRONG = {
    "top-p": [
        (lambda x, p: scattered(x, lambda sums, values: sums <= p), "crossing-dropped"),
        (lambda x, p: scattered(x, lambda sums, values: sums < p), "crossing-dropped"),
        (lambda x, p: scattered(x, lambda sums, values: sums - values <= p), "one-too-many"),
        (lambda x, p: by_hand(x, p, stop=lambda total, p: total > p), "one-too-many"),
        (lambda x, p: by_count(x, p, more=1), "one-too-many"),
        (lambda x, p: by_hand(x, p) * sum_kept(x, p), "not-renormalized"),
        (lambda x, p: unsorted(x, p), "unsorted"),
        (lambda x, p: by_hand(x, p).sort(descending=True)[0], "left-sorted"),
        (indexed_back, "put-back-wrongly"),
        (lambda x, p: (x * (x >= p)) / (x * (x >= p)).sum(), "single-words"),
        (lambda x, p: (x * (x > 1 - p)) / (x * (x > 1 - p)).sum(), "single-words"),
        (lambda x, p: by_hand(x, p, descending=False), "least-first"),
        (lambda x, p: softened(x, p, inputs=lambda x: x), "softmax"),
        (lambda x, p: by_hand(x, p).softmax(dim=-1), "softmax"),
        (lambda x, p: by_hand(x, 1 - p), "rejected"),
        (lambda x, p: torch.where(by_hand(x, p) > 0, x, 1e-9) / sum_kept(x, p), "rejected"),
        (lambda x, p: (by_hand(x, p) > 0).float() / (by_hand(x, p) > 0).sum(), "even"),
        (lambda x, p: x, "nothing-dropped"),
        (lambda x, p: by_hand(x, p) > 0, "dtype"),
        (lambda x, p: by_hand(x, p)[by_hand(x, p) > 0], "rejected"),
        (lambda x, p: x.mul_(by_hand(x, p) > 0).div_(x.sum()), "input"),
        (lambda x, p: by_count(x[x > 0], p), "rejected"),
    ],
    "prefix-mask": [
        (lambda k, n: causal(n).repeat(len(k), 1, 1), "causal-only"),
        (
            lambda k, n: (torch.arange(n)[:, None] < k[:, None, None]) | rows_and_columns(k * 0, n),
            "prefix-sees-all",
        ),
        (lambda k, n: before(k, n) & rows_and_columns(k * 0, n), "and-instead-of-or"),
        (lambda k, n: before(k, n).repeat(1, n, 1), "prefix-only"),
        (lambda k, n: before(k, n) & before(k, n).mT, "prefix-only"),
        (lambda k, n: before(k + 1, n) | causal(n), "one-too-many"),
        (lambda k, n: before(k - 1, n) | causal(n), "one-too-few"),
        (lambda k, n: rows_and_columns(k[0].expand(len(k)), n), "one-length-for-all"),
        (lambda k, n: rows_and_columns(k.max().expand(len(k)), n), "one-length-for-all"),
        (lambda k, n: (torch.arange(n)[:, None] < k) | causal(n).repeat(len(k), 1, 1), "rejected"),
        (lambda k, n: ~rows_and_columns(k, n), "inverted"),
        (lambda k, n: before(k, n) | causal(n).T, "future-instead"),
        (lambda k, n: before(k, n) | causal(n).tril(-1), "not-itself"),
        (lambda k, n: rows_and_columns(k, n).float(), "dtype"),
        (lambda k, n: torch.ones(len(k), n, n).bool(), "rejected"),
        (lambda k, n: rows_and_columns(k, n).squeeze(0), "rejected"),
        (lambda k, n: (torch.arange(n) < k[:, None]) | causal(n)[: len(k)], "rejected"),
        (
            lambda k, n: (before(k, n) & before(k, n).mT) | (causal(n) & ~before(k, n)),
            "prefix-forgotten",
        ),
    ],
}
