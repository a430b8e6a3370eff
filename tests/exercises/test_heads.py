import math

import pytest
import torch

from attention_book.exercises import check


def split(x, num_heads):
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, h: x.view(x.shape[0], h, x.shape[1], -1), "view-instead-of-swap"),
        (lambda x, h: x.reshape(len(x), x.shape[1], h, -1), "no-swap"),
        (lambda x, h: torch.stack([x[..., i::h] for i in range(h)], 1), "features-dealt-out"),
    ],
)
def test_heads_split_wrongly(answer, mistake):
    assert check("split-heads", split)
    assert check("split-heads", answer).mistake == mistake


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda heads: heads.reshape(len(heads), heads.shape[2], -1), "view-instead-of-swap"),
        (lambda heads: torch.stack(heads.unbind(1), -1).flatten(-2), "features-dealt-out"),
        (lambda heads: sum(heads.unbind(1)), "heads-added"),
    ],
)
def test_heads_merged_wrongly(answer, mistake):
    assert check("merge-heads", lambda heads: torch.cat(heads.unbind(1), dim=-1))
    assert check("merge-heads", answer).mistake == mistake


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
