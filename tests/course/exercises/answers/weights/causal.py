"""Answers to the exercises on causal masks."""

import torch


def full(num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).tril()


def band(m, n, ahead=0):
    return torch.arange(n) <= torch.arange(m)[:, None] + ahead


def window(m, n):
    """Each query sees as many keys as the first."""
    return band(m, n, n - m) & ~band(m, n, -1)


RIGHT = {
    "causal-with-cache": [
        lambda num_queries, num_keys: full(num_keys)[-num_queries:],
        lambda m, n: band(m, n, n - m),
        lambda m, n: ~torch.ones(m, n).bool().triu(n - m + 1),
        lambda m, n: torch.tensor([[j <= i + n - m for j in range(n)] for i in range(m)]),
    ],
}

WRONG = {
    "causal-with-cache": [
        (lambda m, n: full(n)[:m], "from-position-zero"),
        (lambda m, n: torch.ones(m, n).tril().bool(), "from-position-zero"),
        (lambda m, n: ~full(n)[-m:], "future"),
        (lambda m, n: full(n).triu(1)[-m:] | ~full(n)[-m:], "future"),
        (lambda m, n: torch.ones(m, n).triu(n - m + 1).bool(), "future"),
        (lambda m, n: full(n).tril(-1)[-m:], "without-itself"),
        (lambda m, n: torch.ones(m, n).tril(n - m - 1) > 0, "without-itself"),
        (lambda m, n: torch.ones(m, n) > 0, "everything"),
        (lambda m, n: torch.ones(m, n).tril(n - m + 1) > 0, "one-ahead"),
        (lambda m, n: band(m, n, n - m + 1), "one-ahead"),
        (lambda m, n: torch.ones(m, n).tril(m - n) > 0, "rejected"),
        (lambda m, n: torch.ones(m, n).triu(n - m) > 0, "rejected"),
        (lambda m, n: torch.ones(m, n).tril(n - 1) > 0, "everything"),
        (lambda m, n: torch.ones(m, n).tril(m) > 0, "rejected"),
        (lambda m, n: torch.ones(m, n).tril(n // 2) > 0, "rejected"),
        (lambda m, n: full(n), "rejected"),
        (lambda m, n: full(n)[-1:], "rejected"),
        (lambda m, n: full(n)[-1:].expand(m, -1), "everything"),
        (lambda m, n: full(n)[-m:].mT, "rejected"),
        (lambda m, n: full(n)[-m:].float(), "dtype"),
        (lambda m, n: full(n)[-m:].int(), "dtype"),
        (lambda m, n: full(n)[-m:].tolist(), "type"),
        (lambda m, n: full(n)[-m:][None], "shape"),
        (lambda n, m: full(n)[-m:], "rejected"),
        (window, "rejected"),
        (lambda m, n: torch.zeros(m, n).masked_fill(~full(n)[-m:], -torch.inf), "dtype"),
    ],
}
