"""Answers to the exercises on heads and positions."""

import math

import torch


# causal-self-attention
def attend(x, W_q, W_k, W_v, *, allowed=torch.tril, root=math.sqrt):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    rows = []
    for i, row in enumerate(allowed(torch.ones(len(x), len(x)))):
        seen = row.bool()
        weights = torch.softmax(k[seen] @ q[i] / root(k.shape[-1]), dim=0)
        rows.append(weights @ v[seen])
    return torch.stack(rows)


def settings(**given):
    return lambda x, W_q, W_k, W_v: attend(x, W_q, W_k, W_v, **given)


def filled(fill, dim=-1, scale=None, swap=False, transpose=False):
    def answer(x, W_q, W_k, W_v):
        if transpose:
            W_q, W_k, W_v = W_q.T, W_k.T, W_v.T
        q, k, v = x @ W_q, x @ W_k, x @ W_v
        if swap:
            q, k = k, q
        scores = q @ k.T / (scale(x, W_v) if scale else W_k.shape[1] ** 0.5)
        hidden = torch.ones(len(x), len(x)).triu(1) > 0
        return scores.masked_fill(hidden, fill).softmax(dim) @ v

    return answer


# split-heads
def split(x, num_heads):
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=1)


# sinusoids
def table(n, d, *, angle=lambda i, j, d: i / 10000 ** (2 * (j // 2) / d), first=0, swap=False):
    waves = (math.cos, math.sin) if swap else (math.sin, math.cos)
    rows = [[waves[j % 2](angle(i, j, d)) for j in range(d)] for i in range(first, first + n)]
    return torch.tensor(rows)


def halves(n, d):
    whole = table(n, d)
    return torch.cat((whole[:, 0::2], whole[:, 1::2]), dim=1)


def angled(angle, **more):
    return lambda n, d: table(n, d, angle=angle, **more)


# place-words
def place(x, offset):
    return x + table(len(x) + offset, x.shape[1])[offset:]


def placed(change):
    return lambda x, offset: change(x, table(len(x) + offset + 2, x.shape[1]), offset)


# rotary
def rotate(x, offset, sign=1):
    d = x.shape[-1]
    i = torch.arange(offset, offset + len(x)).unsqueeze(1)
    turn = torch.polar(torch.ones(()), sign * i / 10000 ** (torch.arange(0, d, 2) / d))
    pairs = torch.view_as_complex(x.reshape(len(x), d // 2, 2))
    return torch.view_as_real(pairs * turn).flatten(1)


def by_halves(x, offset):
    order = torch.arange(x.shape[1]).view(2, -1).T.flatten()
    return rotate(x[:, order], offset)[:, order.argsort()]


def mixed(x, offset):
    d = x.shape[-1]
    i = torch.arange(offset, offset + len(x)).unsqueeze(1)
    angle = i / 10000 ** (torch.arange(d) // 2 * 2 / d)
    return x * angle.cos() + x.roll(d // 2, -1) * angle.sin() * torch.tensor(
        [-1.0] * (d // 2) + [1.0] * (d // 2)
    )


def by_matrix(x, offset):
    d, rows = x.shape[1], []
    for place, row in enumerate(x, start=offset):
        blocks = []
        for i in range(d // 2):
            a = torch.tensor(place * 10000 ** (-2 * i / d))
            blocks.append(
                torch.stack((torch.stack((a.cos(), -a.sin())), torch.stack((a.sin(), a.cos()))))
            )
        rows.append(torch.block_diag(*blocks) @ row)
    return torch.stack(rows)


# rotary-attention
def attend_turned(queries, keys, values, *, turn="qk"):
    q, k, v = (
        rotate(x, 0) if name in turn else x
        for name, x in zip("qkv", (queries, keys, values), strict=True)
    )
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v


def attending(turn):
    return lambda queries, keys, values: attend_turned(queries, keys, values, turn=turn)


def scaled(power, dim=1):
    def answer(queries, keys, values):
        q, k = rotate(queries, 0), rotate(keys, 0)
        return torch.softmax(q @ k.T * q.shape[1] ** power, dim) @ values

    return answer


# alibi-bias
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
    "causal-self-attention": [
        settings(),
        filled(-torch.inf),
        filled(-1e9),
        lambda x, W_q, W_k, W_v: torch.nn.functional.scaled_dot_product_attention(
            x @ W_q, x @ W_k, x @ W_v, is_causal=True
        ),
    ],
    "split-heads": [
        lambda x, num_heads: split(x, num_heads),
        lambda x, h: x.reshape(len(x), x.shape[1], h, -1).transpose(1, 2),
        lambda x, h: x.unflatten(-1, (h, -1)).permute(0, 2, 1, 3).contiguous(),
        lambda x, h: torch.stack(
            [x[..., i * x.shape[2] // h : (i + 1) * x.shape[2] // h] for i in range(h)], 1
        ),
    ],
    "merge-heads": [
        lambda heads: torch.cat(heads.unbind(1), dim=-1),
        lambda heads: heads.transpose(1, 2).flatten(2),
        lambda heads: heads.permute(0, 2, 1, 3).reshape(len(heads), heads.shape[2], -1),
    ],
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
    "rotary": [
        lambda x, offset: rotate(x, offset),
        by_matrix,
        lambda x, offset: rotate(x.double(), offset),
    ],
    "rotary-attention": [
        attending("qk"),
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            rotate(q, 0), rotate(k, 0), v
        ),
        lambda q, k, v: (rotate(q, 5) @ rotate(k, 5).T / q.shape[1] ** 0.5).softmax(-1) @ v,
    ],
    "alibi-bias": [
        lambda h, n: alibi(h, n),
        with_slopes(lambda h: [2 ** (-8 * (i + 1) / h) for i in range(h)]),
        lambda h, n: torch.einsum(
            "h,qk->hqk", 2.0 ** (-8 / h * torch.arange(1, h + 1)), distances(n) * 1.0
        ),
    ],
}

WRONG = {
    "causal-self-attention": {
        "no-mask": [settings(allowed=torch.ones_like)],
        "masked-afterwards": [
            lambda x, W_q, W_k, W_v: (
                torch.tril(torch.softmax(x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5, -1))
                @ (x @ W_v)
            )
        ],
        "rejected": [
            filled(-10.0),
            filled(-torch.inf, transpose=True),
            lambda x, W_q, W_k, W_v: filled(-torch.inf)(x, W_q, W_k, W_v) + x @ W_v,
            lambda x, W_q, W_k, W_v: filled(-torch.inf)(-x, W_q, W_k, W_v),
            lambda x, W_q, W_k, W_v: filled(-torch.inf)(x, W_q, W_k, W_k),
        ],
    },
    "split-heads": {
        "positions-split": [lambda x, h: torch.stack(x.chunk(h, dim=1), 1)],
        "view-instead-of-swap": [lambda x, h: x.view(x.shape[0], h, x.shape[1], -1)],
        "type": [lambda x, h: x.chunk(h, dim=-1)],
        "rejected": [
            lambda x, h: split(x, h).squeeze(),
            lambda x, h: split(x, 2),
            lambda x, h: split(x, h).detach().round(),
            lambda x, h: torch.cat(x.chunk(h, -1), 1),
            lambda x, h: split(x, h) / h**0.5,
        ],
    },
    "merge-heads": {
        "view-instead-of-swap": [lambda heads: heads.reshape(len(heads), heads.shape[2], -1)],
        "features-dealt-out": [lambda heads: torch.stack(heads.unbind(1), -1).flatten(-2)],
        "type": [lambda heads: torch.cat(heads.unbind(1), -1).tolist()],
        "rejected": [
            lambda heads: torch.cat(heads.unbind(1), -1).squeeze(),
            lambda heads: heads.flatten(2),
            lambda heads: torch.cat(heads.unbind(0), -1),
            lambda heads: torch.cat(heads.unbind(1), -1).mT,
            lambda heads: heads.amax(1),
            lambda heads: torch.cat(heads.unbind(1), -1) / heads.shape[1],
        ],
    },
    "sinusoids": {
        "wrong-exponent": [angled(lambda i, j, d: i * 10000 ** (2 * (j // 2) / d))],
        "halves": [halves],
        "shape": [lambda n, d: table(n + 1, d), lambda n, d: table(n, d)[None]],
        "rejected": [
            angled(lambda i, j, d: i / 10000 ** (2 * (j // 2) / max(d - 2, 1))),
            angled(lambda i, j, d: i / 10000 ** (2 * (j // 2 + 1) / d)),
            lambda n, d: table(n, d).T,
            lambda n, d: table(n, d) + 1,
            lambda d, n: table(n, d),
            lambda n, d: torch.tensor(
                [[math.sin(i) if j % 2 else math.cos(i) for j in range(d)] for i in range(n)]
            ),
        ],
    },
    "place-words": {
        "position-zero": [lambda x, offset: x + table(len(x), x.shape[1])],
        "one-place-for-all": [lambda x, offset: x + table(1 + offset, x.shape[1])[offset]],
        "input": [lambda x, offset: x.add_(table(len(x) + offset, x.shape[1])[offset:])],
        "rejected": [
            placed(lambda x, t, offset: x + t[: len(x)] * offset),
            placed(lambda x, t, offset: x + t[: len(x)] + offset),
            placed(lambda x, t, offset: x + t[offset : offset + len(x)].flip(0)),
            lambda x, offset: x + table(offset + 1, x.shape[1])[-len(x) :],
            lambda x, offset: x + halves(len(x) + offset, x.shape[1])[offset:],
            lambda x, offset: x + offset,
            lambda x, offset: x,
            lambda x, offset: (place(x, offset) - x) * x.norm() + x,
        ],
    },
    "rotary": {
        "pairs-of-halves": [by_halves],
        "mixed-pairs": [mixed],
        "lengths-stay": [lambda x, offset: 2 * rotate(x, offset)],
        "rejected": [
            lambda x, offset: rotate(rotate(x, offset), offset),
            lambda x, offset: rotate(x.flip(-1), offset).flip(-1),
            lambda x, offset: rotate(x, offset).flip(0),
            lambda x, offset: x,
            lambda x, offset: torch.stack(
                (rotate(x, offset)[:, 0::2], rotate(x, offset)[:, 1::2]), 1
            ).flatten(1),
            lambda x, offset: rotate(x, offset)[
                :, torch.arange(x.shape[1]).view(-1, 2).T.flatten()
            ],
            lambda x, offset: torch.cat(
                (rotate(x[:, : x.shape[1] // 2], offset), x[:, x.shape[1] // 2 :]), 1
            ),
            lambda x, offset: rotate(x, offset) + x,
            lambda x, offset: rotate(x, 100 * offset),
        ],
    },
    "rotary-attention": {
        "values-rotated": [attending("qkv")],
        "one-side": [attending("q")],
        "type": [lambda q, k, v: attend_turned(q, k, v).tolist()],
        "rejected": [
            attending("v"),
            scaled(0.5),
            lambda q, k, v: attend_turned(k, q, v),
            lambda q, k, v: (rotate(q, 1) @ rotate(k, 0).T / q.shape[1] ** 0.5).softmax(1) @ v,
            lambda q, k, v: rotate(attend_turned(q, k, v, turn=""), 0),
            lambda q, k, v: rotate(attend_turned(q, k, v), 0),
            lambda q, k, v: (by_halves(q, 0) @ rotate(k, 0).T / q.shape[1] ** 0.5).softmax(1) @ v,
            lambda q, k, v: attend_turned(q + rotate(q, 0), k + rotate(k, 0), v, turn=""),
        ],
    },
    "alibi-bias": {
        "wrong-sign": [lambda h, n: alibi(h, n, distance=lambda i, j: abs(i - j))],
        "future-favored": [lambda h, n: alibi(h, n, distance=lambda i, j: j - i)],
        "type": [lambda h, n: alibi(h, n).tolist()],
        "rejected": [
            lambda h, n: alibi(h, n, first=2),
            with_slopes(lambda h: [2.0 ** (-8 / (i + 1)) for i in range(h)]),
            with_slopes(lambda h: [1 - i / h for i in range(h)]),
            with_slopes(lambda h: [2.0 ** (-h * (i + 1) / 8) for i in range(h)]),
            with_slopes(lambda h: [math.exp(-8 * (i + 1) / h) for i in range(h)]),
            lambda h, n: alibi(h, n).permute(1, 2, 0),
            lambda n, h: alibi(h, n),
        ],
    },
}
