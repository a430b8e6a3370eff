import math

import pytest
import torch

from attention_book.course.exercises import check


def attend(x, W_q, W_k, W_v, *, allowed=torch.tril, root=math.sqrt):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    rows = []
    for i, row in enumerate(allowed(torch.ones(len(x), len(x)))):
        seen = row.bool()
        weights = torch.softmax(k[seen] @ q[i] / root(k.shape[-1]), dim=0)
        rows.append(weights @ v[seen])
    return torch.stack(rows)


def late(x, W_q, W_k, W_v):
    weights = torch.softmax(x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5, -1)
    return torch.tril(weights) @ (x @ W_v)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda *given: attend(*given, allowed=torch.ones_like), "no-mask"),
        (late, "masked-afterwards"),
        (lambda *given: attend(*given, allowed=lambda m: m.tril(-1)), "off-by-one"),
        (lambda *given: attend(*given, allowed=lambda m: m.tril(1)), "off-by-one"),
        (lambda *given: attend(*given, allowed=torch.triu), "mask-upside-down"),
        (lambda *given: attend(*given, root=float), "divided-by-d"),
        (lambda *given: attend(*given, root=lambda d: 1), "not-scaled"),
    ],
)
def test_one_head_that_looks_back(answer, mistake):
    assert check("causal-self-attention", attend)
    assert check("causal-self-attention", answer).mistake == mistake
