"""Wrong additive scores, and what they are called."""

import pytest
import torch

from attention_book.course.exercises import check


def pairs(hidden):
    """Return a score that visits each pair of a query and a key on its own."""

    def score(queries, keys, W_q, W_k, w_v):
        return torch.stack(
            [torch.stack([w_v @ hidden(W_q @ q, W_k @ k) for k in keys]) for q in queries]
        )

    return score


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
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
            lambda q, k, W_q, W_k, w_v: ((k @ W_k.T).unsqueeze(1) + q @ W_q.T).tanh() @ w_v,
            "transposed",
        ),
    ],
)
def test_additive_score(answer, mistake):
    assert check("additive-score", pairs(lambda q, k: (q + k).tanh()))
    assert check("additive-score", answer).mistake == mistake
