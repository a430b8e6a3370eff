import math

import pytest
import torch

from attention_book.course.exercises import check


def attend(q, k, v, mask, *, scale=None, dim=-1, after=1.0):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = torch.einsum("...qd,...kd->...qk", q, k) * scale
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim).nan_to_num()
    return after * weights @ v


def loop(q, k, v, mask):
    if q.ndim == 3:
        return torch.stack([loop(*each) for each in zip(q, k, v, mask, strict=True)])
    rows = []
    for query, seen in zip(q, mask.expand(len(q), len(k)), strict=True):
        scores = torch.stack([query @ key / len(query) ** 0.5 for key in k[seen]])
        rows.append(scores.softmax(0) @ v[seen])
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda q, k, v, m: attend(q, k, v, m, scale=1 / q.shape[-1]), "divided-by-d"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=1), "not-scaled"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=q.shape[-1] ** 0.5), "multiplied"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=1 / k.shape[-2] ** 0.5), "wrong-root"),
        (lambda q, k, v, m: attend(q, k, v, m, scale=v.shape[-1] ** -0.5), "wrong-root"),
        (
            lambda q, k, v, m: attend(q, k, v, m, scale=1, after=q.shape[-1] ** -0.5),
            "scaled-afterwards",
        ),
        (lambda q, k, v, m: attend(q, k, v, m, dim=-2), "wrong-axis"),
        (lambda q, k, v, m: attend(q, k, v, ~m), "mask-inverted"),
        (lambda q, k, v, m: attend(q, k, v, m | True), "mask-ignored"),
    ],
)
def test_scaled_dot_product(answer, mistake):
    assert check("scaled-dot-product", loop)
    assert check("scaled-dot-product", answer).mistake == mistake
