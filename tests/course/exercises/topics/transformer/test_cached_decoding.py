import pytest
import torch
from torch.nn import functional as F

from attention_book.course.exercises import check


def look(q, k, v):
    return (q @ k.T / k.shape[1] ** 0.5).softmax(-1) @ v


def step(x, keys, values, W_q, W_k, W_v):
    keys = torch.vstack([keys, x @ W_k])
    values = torch.vstack([values, x @ W_v])
    return look(x @ W_q, keys, values), keys, values


def inputs(x, keys, values, W_q, W_k, W_v):
    past = torch.vstack([keys, x])
    other = torch.vstack([values, x])
    return look(x @ W_q, past @ W_k, other @ W_v), past, other


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (inputs, "keeps-inputs"),
        (lambda *given: (step(*given)[0], given[1], given[2]), "newest-not-kept"),
        (
            lambda *given: (step(*given)[0], given[0] @ given[4], given[0] @ given[5]),
            "past-dropped",
        ),
        (
            lambda x, k, v, *W: (
                look(x @ W[0], k, v) if len(k) else 0 * x,
                *step(x, k, v, *W)[1:],
            ),
            "newest-not-seen",
        ),
        (lambda *given: tuple(each.roll(1, 0) for each in step(*given)), "newest-first"),
    ],
)
def test_what_the_cache_keeps(answer, mistake):
    assert check("cached-step", step)
    assert check("cached-step", answer).mistake == mistake


def decode(x, training, *, diagonal=lambda training: 0):
    seen = torch.ones(x.shape[-2], x.shape[-2]).tril(diagonal(training)).bool()
    return F.scaled_dot_product_attention(x, x, x, attn_mask=seen)


@pytest.mark.parametrize(
    ("diagonal", "mistake"),
    [
        (lambda training: 0 if training else 9, "in-training-only"),
        (lambda training: 9 if training else 0, "in-evaluation-only"),
        (lambda training: 1, "off-by-one"),
        (lambda training: -1, "off-by-one"),
    ],
)
def test_modes(diagonal, mistake):
    assert check("causal-in-both-modes", decode)
    verdict = check("causal-in-both-modes", lambda x, t: decode(x, t, diagonal=diagonal))
    assert verdict.mistake == mistake
    assert (verdict.law == "future-is-hidden") == (diagonal(True) >= 0)
