"""Answers to the exercises on alibi."""

import math

import torch


def alibi(num_heads, n, *, distance=lambda i, j: -abs(i - j), first=1):
    return torch.tensor(
        [
            [[2 ** (-8 * h / num_heads) * distance(i, j) for j in range(n)] for i in range(n)]
            for h in range(first, first + num_heads)
        ]
    )


def distances(n):
    return -(torch.arange(n)[:, None] - torch.arange(n)).abs()


def with_slopes(slopes):
    return lambda h, n: torch.tensor(slopes(h))[:, None, None] * distances(n)


RIGHT = {
    "alibi-bias": [
        lambda h, n: alibi(h, n),
        with_slopes(lambda h: [2 ** (-8 * (i + 1) / h) for i in range(h)]),
        lambda h, n: torch.einsum(
            "h,qk->hqk", 2.0 ** (-8 / h * torch.arange(1, h + 1)), distances(n) * 1.0
        ),
    ]
}

WRONG = {
    "alibi-bias": [
        (lambda h, n: alibi(h, n, distance=lambda i, j: abs(i - j)), "wrong-sign"),
        (lambda h, n: alibi(h, n, distance=lambda i, j: j - i), "future-favored"),
        (lambda h, n: alibi(h, n, distance=lambda i, j: i - j), "past-favored"),
        (lambda h, n: alibi(h, n, distance=lambda i, j: -(abs(i - j) ** 2)), "squared"),
        (lambda h, n: alibi(h, n, first=0), "slopes-from-one"),
        (lambda h, n: alibi(h, n, first=2), "rejected"),
        (lambda h, n: alibi(h, n)[0].repeat(h, 1, 1), "one-slope"),
        (lambda h, n: alibi(h, n).flip(0), "steep-last"),
        (with_slopes(lambda h: [2.0 ** -(i + 1) for i in range(h)]), "eight-heads-only"),
        (with_slopes(lambda h: [2.0 ** (-(8 // h) * (i + 1)) for i in range(h)]), "whole-exponent"),
        (with_slopes(lambda h: [2.0 ** (-8 * (i + 1) // h) for i in range(h)]), "whole-exponent"),
        (with_slopes(lambda h: [2.0 ** (-8 / (i + 1)) for i in range(h)]), "rejected"),
        (with_slopes(lambda h: [1 - i / h for i in range(h)]), "rejected"),
        (with_slopes(lambda h: [2.0 ** (-h * (i + 1) / 8) for i in range(h)]), "rejected"),
        (with_slopes(lambda h: [math.exp(-8 * (i + 1) / h) for i in range(h)]), "rejected"),
        (
            lambda h, n: alibi(h, n).masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf),
            "future-hidden",
        ),
        (lambda h, n: alibi(h, n).tril(), "future-without-bias"),
        (lambda h, n: alibi(h, n).permute(1, 2, 0), "rejected"),
        (lambda h, n: alibi(h, n).tolist(), "type"),
        (lambda n, h: alibi(h, n), "rejected"),
    ]
}
