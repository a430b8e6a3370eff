"""Answers to the exercise on the additive score."""

import torch


def pairs(hidden):
    """Return a score that visits each pair of a query and a key on its own."""

    def score(queries, keys, W_q, W_k, w_v):
        return torch.stack(
            [torch.stack([w_v @ hidden(W_q @ q, W_k @ k) for k in keys]) for q in queries]
        )

    return score


def right(q, k, W_q, W_k, w_v):
    return torch.einsum("qkh,h->qk", ((q @ W_q.T)[:, None] + (k @ W_k.T)[None]).tanh(), w_v)


def beside(q, k, W_q, W_k, w_v):
    both = torch.cat((q[:, None].expand(-1, len(k), -1), k[None].expand(len(q), -1, -1)), dim=-1)
    return torch.tanh(both @ torch.cat((W_q, W_k), dim=1).T) @ w_v


RIGHT = {"additive-score": [pairs(lambda q, k: (q + k).tanh()), right, beside]}

WRONG = {
    "additive-score": [
        (
            lambda q, k, W_q, W_k, w_v: (torch.tanh(q @ W_q.T + k @ W_k.T) * w_v).sum(-1),
            "not-broadcast",
        ),
        (pairs(lambda q, k: q + k), "no-tanh"),
        (pairs(lambda q, k: q.tanh() + k.tanh()), "tanh-apart"),
        (pairs(lambda q, k: (q * k).tanh()), "multiplied"),
        (
            lambda q, k, W_q, W_k, w_v: (
                ((q @ W_q.T).unsqueeze(1) + k @ W_k.T).tanh() @ torch.ones(7)
            ),
            "plain-sum",
        ),
        (
            lambda q, k, W_q, W_k, w_v: ((q @ W_q.T)[:, None] + k @ W_k.T).tanh().mean(-1),
            "plain-sum",
        ),
        (
            lambda q, k, W_q, W_k, w_v: ((k @ W_k.T).unsqueeze(1) + q @ W_q.T).tanh() @ w_v,
            "transposed",
        ),
        (lambda *given: right(*given).mT, "transposed"),
        (lambda *given: right(*given).softmax(-1), "softmax-taken"),
        (lambda *given: right(*given) / given[2].shape[0] ** 0.5, "scaled"),
        (lambda *given: right(*given) / given[0].shape[1] ** 0.5, "scaled"),
        (lambda *given: -right(*given), "sign"),
        (pairs(lambda q, k: (q - k).tanh()), "rejected"),
        (pairs(lambda q, k: (k - q).tanh()), "rejected"),
        (pairs(lambda q, k: (q + k).relu()), "rejected"),
        (pairs(lambda q, k: (q + k).sigmoid()), "rejected"),
        (lambda *given: pairs(lambda q, k: q + k)(*given).tanh(), "tanh-last"),
        (lambda *given: right(*given).squeeze(), "squeezed"),
        (lambda *given: right(*given)[..., None], "shape"),
        (
            lambda q, k, W_q, W_k, w_v: ((q @ W_q.T)[:, None] + k @ W_k.T).tanh() * w_v,
            "shape",
        ),
        (lambda q, k, W_q, W_k, w_v: (q @ W_q.T) @ (k @ W_k.T).T, "dot-product"),
        (lambda q, k, W_q, W_k, w_v: (q @ W_q)[:, None] + k @ W_k, "rejected"),
        (lambda k, q, W_q, W_k, w_v: right(q, k, W_q, W_k, w_v), "rejected"),
    ],
}
