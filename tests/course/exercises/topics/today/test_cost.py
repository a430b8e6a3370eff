"""Bytes of a step, and the rest of a distribution: other people's answers, written here."""

import pytest
import torch

from attention_book.course.exercises import check


def read(weights, kv_heads, d_k, tokens, batch, *, times=1, texts=True, kinds=2, size=2):
    cache = kinds * kv_heads * d_k * tokens * (batch if texts else 1)
    return size * times * weights + size * cache


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda w, h, d, t, b: b * read(w, h, d, t, 1), "weights-each"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, texts=False), "cache-once"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, kinds=1), "keys-alone"),
        (lambda w, h, d, t, b: read(w, h, d, 1 if t else 0, b), "new-token-alone"),
        (lambda w, h, d, t, b: read(w, h, d, t, b, size=1), "numbers"),
    ],
)
def test_bytes_counted_wrongly(answer, mistake):
    assert check("step-bytes", read)
    assert check("step-bytes", answer).mistake == mistake


def rest(p, q):
    left = torch.where(p > q, p - q, torch.zeros_like(p))
    return left / left.sum() if left.sum() else p


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda p, q: p / p.sum(), "from-target"),
        (lambda p, q: torch.relu(p - q), "not-normalized"),
        (
            lambda p, q: torch.nan_to_num((p - q).abs() / (p - q).abs().sum()) + p * (p == q).all(),
            "absolute",
        ),
        (lambda p, q: rest(q, p), "other-way"),
        (lambda p, q: torch.relu(p - q) / torch.relu(p - q).sum(), "nan-where-equal"),
    ],
)
def test_what_is_left_wrongly(answer, mistake):
    assert check("draw-the-rest", rest)
    assert check("draw-the-rest", answer).mistake == mistake
