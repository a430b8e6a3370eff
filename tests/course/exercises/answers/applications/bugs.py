"""Answers to the exercises of “Find the bug”."""

import math

import torch
from torch.nn import functional as F


def attend(queries, keys, values, ignore):
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=ignore != 1)


def with_mask(mask):
    def answer(queries, keys, values, ignore):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask(ignore))

    return answer


def scores(queries, keys):
    return queries @ keys.T / math.sqrt(keys.shape[1])


def filled(value):
    return lambda q, k, v, ignore: scores(q, k).masked_fill(ignore == 1, value).softmax(dim=-1) @ v


def added(value):
    return lambda q, k, v, ignore: (scores(q, k) + value * ignore).softmax(dim=-1) @ v


def zeroed(*, again=False, dim=-1):
    """Take the weights of ignored keys away after the softmax."""

    def answer(q, k, v, ignore):
        weights = scores(q, k).softmax(dim=dim) * (1 - ignore)
        return (weights / weights.sum(-1, keepdim=True) if again else weights) @ v

    return answer


def by_exponentials(q, k, v, ignore):
    parts = scores(q, k).exp() * (1 - ignore)
    return parts / parts.sum(-1, keepdim=True) @ v


def unscaled(q, k, v, ignore):
    return (q @ k.T).masked_fill(ignore == 1, -torch.inf).softmax(-1) @ v


def over_queries(q, k, v, ignore):
    return scores(q, k).masked_fill(ignore == 1, -1e9).softmax(0) @ v


def values_hidden(q, k, v, ignore):
    """Hide the values and not the keys, which keep their share."""
    return torch.einsum("qk,qk,kd->qd", scores(q, k).softmax(-1), 1.0 - ignore, v)


def first_row_for_all(q, k, v, ignore):
    return attend(q, k, v, ignore[:1].expand_as(ignore))


def look(query, keys, values):
    return torch.softmax(query @ keys.T / keys.shape[1] ** 0.5, dim=1) @ values


def places(query, keys, values, *, to_places=torch.linspace(-1, 1, 24).view(4, 6)):  # noqa: B008
    return torch.softmax(query[:, :4] @ to_places[:, : len(keys)], 1) @ values[:6]


def fixed(query, keys, values):
    return look(query, keys.view(6, -1), values)


def distances(query, keys, values):
    return (-torch.cdist(query, keys)).softmax(dim=-1) @ values


def exponentials(query, keys, values):
    parts = (query @ keys.T / keys.shape[1] ** 0.5).exp()
    return parts / parts.sum(-1, keepdim=True) @ values


RIGHT = {
    "ignore-mask": [
        attend,
        filled(-1e9),
        lambda q, k, v, ignore: torch.stack(
            [look(q[i : i + 1], k[ignore[i] == 0], v[ignore[i] == 0])[0] for i in range(len(q))]
        ),
    ],
    "content-attention": [
        look,
        F.scaled_dot_product_attention,
        lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).log_softmax(-1).exp() @ v,
    ],
}

WRONG = {
    "ignore-mask": [
        (with_mask(lambda ignore: ignore > 0), "mask-inverted"),
        (with_mask(lambda ignore: torch.where(ignore > 0, 0.0, -torch.inf)), "mask-inverted"),
        (with_mask(lambda ignore: ignore.float()), "added-as-a-number"),
        (with_mask(lambda ignore: 1.0 - ignore), "added-as-a-number"),
        (with_mask(lambda ignore: None), "not-masked"),
        (with_mask(lambda ignore: (~ignore).bool()), "not-masked"),
        (with_mask(lambda ignore: ignore * -1.0), "hidden-is-nothing"),
        (with_mask(lambda ignore: ignore), "raises"),
        (filled(0.0), "filled-with-zero"),
        (filled(1e-9), "filled-with-zero"),
        (filled(-10.0), "not-low-enough"),
        (filled(-1.0), "not-low-enough"),
        (added(-10.0), "not-low-enough"),
        (added(-100.0), "not-low-enough"),
        (filled(1e9), "rejected"),
        (zeroed(), "not-renormalized"),
        (values_hidden, "not-renormalized"),
        (zeroed(again=True), "masked-too-late"),
        (by_exponentials, "rejected"),
        (unscaled, "not-scaled"),
        (over_queries, "rejected"),
        (first_row_for_all, "first-row-for-all"),
        (lambda q, k, v, ignore: attend(q, k, v, ignore).T, "rejected"),
        (lambda q, k, v, ignore: attend(q, k, v * (1 - ignore[0])[:, None], ignore), "rejected"),
    ],
    "content-attention": [
        (lambda q, k, v: v.sum(0, keepdim=True) / len(v), "uniform"),
        (lambda q, k, v: look(k.shape[1] ** 0.5 * q, k, v), "not-scaled"),
        (lambda q, k, v: look(q / k.shape[1] ** 0.5, k, v), "divided-by-d"),
        (lambda q, k, v: (q @ k.T / 2).softmax(1) @ v, "any-number-of-features"),
        (lambda q, k, v: (q @ k.T / len(k) ** 0.5).softmax(1) @ v, "divided-by-count"),
        (lambda q, k, v: look(q, k, k), "keys-averaged"),
        (lambda q, k, v: (q @ k.T / k.shape[1] ** 0.5).softmax(0) @ v, "wrong-axis"),
        (lambda q, k, v: q @ k.T / k.shape[1] ** 0.5 @ v, "no-softmax"),
        (lambda q, k, v: v[(q @ k.T).argmax(dim=1)], "largest-alone"),
        (places, "order-is-free"),
        (fixed, "any-number-of-keys"),
        (exponentials, "overflow"),
        (distances, "rejected"),
        (lambda q, k, v: look(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v), "lengths-lost"),
        (lambda q, k, v: look(-q, k, v), "wrong-sign"),
        (lambda q, k, v: look(q, k, v).squeeze(0), "rejected"),
        (lambda q, k, v: look(q, k, v.flip(0)), "order-is-free"),
        (lambda q, k, v: look(k, q, v), "raises"),
        (lambda q, k, v: look(q, v, k), "raises"),
        (lambda q, k, v: q + 0 * look(q, k, v).sum(), "rejected"),
    ],
}
