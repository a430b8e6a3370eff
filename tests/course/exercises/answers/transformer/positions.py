"""Answers to the exercises on positions."""

import math

import torch


def table(n, d, *, angle=lambda i, j, d: i / 10000 ** (2 * (j // 2) / d), first=0, swap=False):
    waves = (math.cos, math.sin) if swap else (math.sin, math.cos)
    rows = [[waves[j % 2](angle(i, j, d)) for j in range(d)] for i in range(first, first + n)]
    return torch.tensor(rows)


def halves(n, d):
    whole = table(n, d)
    return torch.cat((whole[:, 0::2], whole[:, 1::2]), dim=1)


def place(x, offset):
    return x + table(len(x) + offset, x.shape[1])[offset:]


def angled(angle, **more):
    return lambda n, d: table(n, d, angle=angle, **more)


def placed(change):
    return lambda x, offset: change(x, table(len(x) + offset + 2, x.shape[1]), offset)


RIGHT = {
    "sinusoids": [
        lambda n, d: table(n, d),
        lambda n, d: torch.stack(
            ((a := torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).sin(), a.cos()),
            -1,
        ).flatten(1),
        lambda n, d: table(n, d).double(),
        angled(lambda i, j, d: i * math.exp(-math.log(10000) * (j - j % 2) / d)),
    ],
    "place-words": [
        lambda x, offset: place(x, offset),
        lambda x, offset: torch.stack(
            [row + table(offset + i + 1, len(row))[-1] for i, row in enumerate(x)]
        ),
        lambda x, offset: x.double() + table(len(x) + offset, x.shape[1]).double()[offset:],
    ],
}

WRONG = {
    "sinusoids": [
        (halves, "halves"),
        (lambda n, d: table(n, d, swap=True), "cosine-first"),
        (lambda n, d: table(n, d, angle=lambda i, j, d: i / 10000 ** (j / d)), "wrong-exponent"),
        (
            lambda n, d: table(n, d, angle=lambda i, j, d: i / 10000 ** (j // 2 / d)),
            "wrong-exponent",
        ),
        (lambda n, d: table(n, d, first=1), "from-one"),
        (
            lambda n, d: table(
                n, d, angle=lambda i, j, d: i / 10000 ** (2 * (d // 2 - 1 - j // 2) / d)
            ),
            "slow-first",
        ),
        (angled(lambda i, j, d: i * 10000 ** (2 * (j // 2) / d)), "wrong-exponent"),
        (angled(lambda i, j, d: i / 1000 ** (2 * (j // 2) / d)), "wrong-base"),
        (angled(lambda i, j, d: i / 100000 ** (2 * (j // 2) / d)), "wrong-base"),
        (angled(lambda i, j, d: i / math.e ** (2 * (j // 2) / d)), "wrong-base"),
        (angled(lambda i, j, d: i / 10000 ** (4 * (j // 2) / d)), "wrong-exponent"),
        (angled(lambda i, j, d: i / 10000 ** (2 * (j // 2) / max(d - 2, 1))), "rejected"),
        (angled(lambda i, j, d: 2 * math.pi * i / 10000 ** (2 * (j // 2) / d)), "turns"),
        (angled(lambda i, j, d: i / 10000 ** (2 * (j // 2 + 1) / d)), "rejected"),
        (lambda n, d: table(n, d).T, "rejected"),
        (lambda n, d: table(n, d)[:, 0::2].repeat_interleave(2, 1), "sines-only"),
        (lambda n, d: table(n, d) + 1, "rejected"),
        (lambda n, d: table(n + 1, d), "shape"),
        (lambda n, d: table(n, d)[None], "shape"),
        (lambda d, n: table(n, d), "rejected"),
        (
            lambda n, d: torch.tensor(
                [[math.sin(i) if j % 2 else math.cos(i) for j in range(d)] for i in range(n)]
            ),
            "rejected",
        ),
    ],
    "place-words": [
        (lambda x, offset: x + table(len(x), x.shape[1]), "position-zero"),
        (lambda x, offset: x + table(1 + offset, x.shape[1])[offset], "one-place-for-all"),
        (lambda x, offset: place(x, offset + 1), "one-too-far"),
        (lambda x, offset: place(x, offset) - x, "word-lost"),
        (lambda x, offset: x.add_(table(len(x) + offset, x.shape[1])[offset:]), "input"),
        (lambda x, offset: place(x, max(offset - 1, 0)), "one-too-early"),
        (lambda x, offset: 2 * x - place(x, offset), "subtracted"),
        (lambda x, offset: place(x * x.shape[1] ** 0.5, offset), "scaled"),
        (placed(lambda x, t, offset: x * t[offset : offset + len(x)]), "multiplied"),
        (
            placed(lambda x, t, offset: torch.cat((x, t[offset : offset + len(x)]), -1)),
            "put-beside",
        ),
        (placed(lambda x, t, offset: x + t[: len(x)] * offset), "rejected"),
        (placed(lambda x, t, offset: x + t[: len(x)] + offset), "rejected"),
        (placed(lambda x, t, offset: x + t[offset : offset + len(x)].flip(0)), "rejected"),
        (lambda x, offset: x + table(offset + 1, x.shape[1])[-len(x) :], "rejected"),
        (lambda x, offset: place(x, offset) if offset else x, "nothing-at-zero"),
        (lambda x, offset: x + halves(len(x) + offset, x.shape[1])[offset:], "rejected"),
        (lambda x, offset: x + offset, "rejected"),
        (lambda x, offset: x, "rejected"),
        (lambda x, offset: (place(x, offset) - x) * x.norm() + x, "rejected"),
    ],
}
