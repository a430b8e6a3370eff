import math

import pytest
import torch

from attention_book.course.exercises import check


def step(scores, log_probs, width, *, past=1.0, first="beam"):
    """Sort all continuations, one by one."""
    found = [
        (past * scores[beam].item() + row[token].item(), beam, token)
        for beam, row in enumerate(log_probs)
        for token in range(len(row))
    ]
    best = sorted(found, reverse=True)[:width]
    totals, beams, tokens = (torch.tensor(column) for column in zip(*best, strict=True))
    return (totals, beams, tokens) if first == "beam" else (totals, tokens, beams)


def one_from_each(scores, log_probs, width):
    found = sorted(
        ((scores[b] + row.max()).item(), b, row.argmax().item()) for b, row in enumerate(log_probs)
    )
    return tuple(torch.tensor(column) for column in zip(*found[::-1][:width], strict=True))


def multiplied(scores, log_probs, width):
    values, places = (log_probs * scores.unsqueeze(1)).reshape(-1).sort(descending=True)
    n = log_probs.shape[1]
    return values[:width], places[:width] // n, places[:width] % n


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda s, p, w: step(s, p, w, past=0), "past-forgotten"),
        (one_from_each, "one-from-each"),
        (multiplied, "multiplied"),
        (lambda s, p, w: step(s, p, w, first="token"), "swapped"),
    ],
)
def test_beam_step(answer, mistake):
    assert check("beam-step", lambda s, p, w: step(s, p, w))
    assert check("beam-step", answer).mistake == mistake


def precision(p, r, n, clip=True):
    found = [tuple(p[i : i + n]) for i in range(len(p) - n + 1)]
    wanted = [tuple(r[i : i + n]) for i in range(len(r) - n + 1)]
    if not clip:
        return sum(g in wanted for g in found) / len(found)
    return sum(min(found.count(g), wanted.count(g)) for g in set(found)) / len(found)


def brevity(p, r):
    return 1.0 if len(p) >= len(r) else math.exp(1 - len(r) / len(p))


def mean(p, r, clip=True):
    return (precision(p, r, 1, clip) * precision(p, r, 2, clip)) ** 0.5


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda p, r: mean(p, r), "no-brevity-penalty"),
        (lambda p, r: brevity(r, p) * mean(p, r), "penalty-inverted"),
        (lambda p, r: math.exp(1 - len(r) / len(p)) * mean(p, r), "penalty-unbounded"),
        (lambda p, r: brevity(p, r) * mean(p, r, clip=False), "not-clipped"),
        (
            lambda p, r: brevity(p, r) * (precision(p, r, 1) + precision(p, r, 2)) / 2,
            "arithmetic-mean",
        ),
        (lambda p, r: brevity(p, r) * mean(p, r) ** 2, "product"),
        (lambda p, r: 100 * brevity(p, r) * mean(p, r), "percent"),
    ],
)
def test_bleu(answer, mistake):
    assert check("bleu", lambda p, r: brevity(p, r) * mean(p, r))
    assert check("bleu", answer).mistake == mistake
