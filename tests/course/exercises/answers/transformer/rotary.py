"""Answers to the exercises on rotary."""

import torch


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


def no_minus(x, offset):
    return torch.stack(
        (rotate(x, offset, -1)[:, 0::2], rotate(x, offset)[:, 1::2]), dim=-1
    ).flatten(1)


def attend(queries, keys, values, *, turn="qk"):
    q, k, v = (
        rotate(x, 0) if name in turn else x
        for name, x in zip("qkv", (queries, keys, values), strict=True)
    )
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v


def turned(queries, keys, values, change_q, change_k):
    q, k = change_q(rotate(queries, 0)), change_k(rotate(keys, 0))
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ values


def doubled_angles(x, offset):
    return rotate(rotate(x, offset), offset)


def attending(turn):
    return lambda queries, keys, values: attend(queries, keys, values, turn=turn)


def scaled(power, dim=1):
    def answer(queries, keys, values):
        q, k = rotate(queries, 0), rotate(keys, 0)
        return torch.softmax(q @ k.T * q.shape[1] ** power, dim) @ values

    return answer


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


RIGHT = {
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
}

WRONG = {
    "rotary": [
        (by_halves, "pairs-of-halves"),
        (mixed, "mixed-pairs"),
        (lambda x, offset: rotate(x, offset, -1), "backwards"),
        (no_minus, "minus-lost"),
        (lambda x, offset: rotate(x, 0), "position-zero"),
        (lambda x, offset: 2 * rotate(x, offset), "lengths-stay"),
        (lambda x, offset: rotate(x, offset + 1), "one-too-far"),
        (doubled_angles, "rejected"),
        (
            lambda x, offset: (
                rotate(x[:1], offset).expand_as(x)
                if len(x) == 1
                else torch.cat([rotate(row[None], offset) for row in x])
            ),
            "one-place-for-all",
        ),
        (lambda x, offset: rotate(x.flip(-1), offset).flip(-1), "rejected"),
        (lambda x, offset: rotate(x, offset).flip(0), "rejected"),
        (lambda x, offset: rotate(x, offset) if offset else x, "nothing-at-zero"),
        (lambda x, offset: x, "rejected"),
        (
            lambda x, offset: torch.stack(
                (rotate(x, offset)[:, 0::2], rotate(x, offset)[:, 1::2]), 1
            ).flatten(1),
            "rejected",
        ),
        (
            lambda x, offset: rotate(x, offset)[
                :, torch.arange(x.shape[1]).view(-1, 2).T.flatten()
            ],
            "rejected",
        ),
        (
            lambda x, offset: torch.cat(
                (rotate(x[:, : x.shape[1] // 2], offset), x[:, x.shape[1] // 2 :]), 1
            ),
            "rejected",
        ),
        (lambda x, offset: rotate(x, offset) + x, "rejected"),
        (lambda x, offset: rotate(x, 100 * offset), "rejected"),
    ],
    "rotary-attention": [
        (attending("qkv"), "values-rotated"),
        (attending("q"), "one-side"),
        (attending("k"), "one-side"),
        (attending(""), "no-positions"),
        (attending("v"), "rejected"),
        (scaled(0), "not-scaled"),
        (scaled(-1), "divided-by-d"),
        (scaled(-0.5, dim=0), "wrong-axis"),
        (scaled(0.5), "rejected"),
        (lambda q, k, v: turned(q, k, v, lambda x: -x, lambda x: x), "sign"),
        (lambda q, k, v: attend(k, q, v), "rejected"),
        (
            lambda q, k, v: (rotate(q, 0) @ rotate(k, 0, -1).T / q.shape[1] ** 0.5).softmax(1) @ v,
            "one-backwards",
        ),
        (
            lambda q, k, v: (
                (rotate(q, len(k) - len(q)) @ rotate(k, 0).T / q.shape[1] ** 0.5).softmax(1) @ v
            ),
            "queries-at-the-end",
        ),
        (
            lambda q, k, v: (rotate(q, 1) @ rotate(k, 0).T / q.shape[1] ** 0.5).softmax(1) @ v,
            "rejected",
        ),
        (lambda q, k, v: rotate(attend(q, k, v, turn=""), 0), "rejected"),
        (lambda q, k, v: rotate(attend(q, k, v), 0), "rejected"),
        (
            lambda q, k, v: (by_halves(q, 0) @ rotate(k, 0).T / q.shape[1] ** 0.5).softmax(1) @ v,
            "rejected",
        ),
        (lambda q, k, v: attend(q + rotate(q, 0), k + rotate(k, 0), v, turn=""), "rejected"),
        (lambda q, k, v: attend(q, k, v).tolist(), "type"),
    ],
}
