"""Merging parts of a softmax, and keys for groups: other people's answers, written here."""

import math

import pytest
import torch

from attention_book.course.exercises import check


def merge(first, second, *, rescale_u=True, swap=False, base=True):
    m1, s1, u1 = first
    m2, s2, u2 = second
    m = torch.where(m1 > m2, m1, m2)
    safe = torch.nan_to_num(m, neginf=0.0) if base else m
    c1, c2 = torch.exp(m1 - safe), torch.exp(m2 - safe)
    if swap:
        c1, c2 = 1 / c1, 1 / c2
    d1, d2 = (c1, c2) if rescale_u else (torch.ones_like(c1), torch.ones_like(c2))
    s = s1 * c1 + s2 * c2
    u = torch.einsum("q,qd->qd", d1, u1) + torch.einsum("q,qd->qd", d2, u2)
    return m, s, u


def one_side(first, second):
    m = torch.maximum(first[0], second[0])
    c = torch.where(m.isinf(), torch.zeros_like(m), torch.exp(first[0] - m))
    return m, first[1] * c + second[1], first[2] * c.unsqueeze(-1) + second[2]


def other_side(first, second):
    return one_side(second, first)


def divided(first, second):
    m, s, u = merge(first, second)
    return m, s, torch.where(s[:, None] > 0, u / s[:, None], u)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda a, b: (torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2]), "not-rescaled"),
        (lambda a, b: merge(a, b, rescale_u=False), "only-totals"),
        (one_side, "one-side"),
        (other_side, "one-side"),
        (lambda a, b: merge(a, b, base=False), "nan-from-nothing"),
        (lambda a, b: merge(a, b, swap=True), "upside-down"),
        (divided, "normalized"),
    ],
)
def test_parts_merged_wrongly(answer, mistake):
    assert check("merge-softmax", merge)
    assert check("merge-softmax", answer).mistake == mistake


def test_scores_written_out_are_a_right_answer_too():
    def logs(first, second):
        m = torch.maximum(first[0], second[0])
        together = torch.logaddexp(first[0] + first[1].log(), second[0] + second[1].log())
        s = torch.where(m == -math.inf, 0.0, torch.exp(together - m))
        shares = [torch.where(p[0] == -math.inf, 0.0, torch.exp(p[0] - m)) for p in (first, second)]
        return m, s, shares[0][:, None] * first[2] + shares[1][:, None] * second[2]

    assert check("merge-softmax", logs)


def by_group(keys, num_heads):
    size = num_heads // keys.shape[1]
    return torch.stack([keys[:, head // size] for head in range(num_heads)], dim=1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda k, h: torch.cat([k] * (h // k.shape[1]), dim=1), "in-turns"),
        (lambda k, h: k[:, [i // h for i in range(h * k.shape[1])]], "too-many"),
        (lambda k, h: k.repeat_interleave(h // k.shape[1], dim=-2), "along-keys"),
    ],
)
def test_keys_repeated_wrongly(answer, mistake):
    assert check("repeat-key-heads", by_group)
    assert check("repeat-key-heads", answer).mistake == mistake
