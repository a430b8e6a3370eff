import math

import pytest
import torch

from attention_book.course.exercises import check


def rate(step, warmup, d_model):
    rising = step <= warmup
    return (step / warmup if rising else math.sqrt(warmup / step)) / math.sqrt(warmup * d_model)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda s, w, d: rate(s - 1, w, d), "counted-from-zero"),
        (lambda s, w, d: max(s / w**1.5, 1 / s**0.5) / d**0.5, "larger-of-two"),
        (lambda s, w, d: rate(s, w, 1), "no-width"),
        (lambda s, w, d: (s / w if s <= w else s**-0.5) / math.sqrt(d), "jump-at-the-peak"),
        (lambda s, w, d: 1 / math.sqrt(s * d), "no-warm-up"),
    ],
)
def test_rates(answer, mistake):
    assert check("warm-up", rate)
    assert check("warm-up", answer).mistake == mistake


def loss(logits, targets, eps, *, total=1.0, spread=None, reduce=torch.mean, log=torch.log):
    words, classes = logits.shape
    q = torch.full((words, classes), eps / (spread or classes))
    for word, target in enumerate(targets):
        q[word, target] = total - eps + (eps / classes if spread is None else 0)
    return reduce(-(q * log(logits.softmax(-1))).sum(-1))


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, y, e: loss(x, y, e, spread=x.shape[1]), "own-share-forgotten"),
        (lambda x, y, e: loss(x, y, e, spread=x.shape[1] - 1), "shared-among-the-others"),
        (lambda x, y, e: loss(x, y, e, total=1 + e), "nothing-taken-away"),
        (lambda x, y, e: loss(x, y, e, reduce=torch.sum), "sum"),
        (lambda x, y, e: loss(x, y, 0.0), "not-smoothed"),
        (lambda x, y, e: loss(x, y, e, log=torch.log2), "bits"),
    ],
)
def test_smoothed_targets(answer, mistake):
    assert check("smoothed-loss", loss)
    assert check("smoothed-loss", answer).mistake == mistake
