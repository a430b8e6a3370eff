import math

import pytest
import torch
from torch.nn import functional as F

from attention_book.exercises import check


def losses(logits, targets, mask):
    """Each real token's own loss, row by row."""
    return [
        [-row.log_softmax(-1)[t] for row, t, real in zip(*each, strict=True) if real]
        for each in zip(logits, targets, mask, strict=True)
    ]


def flat(rows):
    return torch.stack([loss for row in rows for loss in row])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, y, m: F.cross_entropy(x.mT, y), "padding-counted"),
        (lambda x, y, m: (F.cross_entropy(x.mT, y, reduction="none") * m).mean(), "divided-by-all"),
        (lambda x, y, m: flat(losses(x, y, m)).mean() / m.sum(), "divided-twice"),
        (lambda x, y, m: flat(losses(x, y, m)).sum(), "sum"),
        (lambda x, y, m: flat(losses(x, y, m)).sum() / x.shape[0], "per-batch"),
        (
            lambda x, y, m: sum(torch.stack(row).mean() for row in losses(x, y, m)) / len(x),
            "mean-of-means",
        ),
        (lambda x, y, m: flat(losses(x.softmax(-1), y, m)).mean(), "softmax-twice"),
        (
            lambda x, y, m: -x.log_softmax(1).gather(2, y[..., None])[..., 0][m].mean(),
            "wrong-axis",
        ),
        (lambda x, y, m: flat(losses(x, y, m)).mean() * math.log2(math.e), "bits"),
    ],
)
def test_masked_loss(answer, mistake):
    assert check("masked-loss", lambda x, y, m: flat(losses(x, y, m)).mean())
    assert check("masked-loss", answer).mistake == mistake


def scaled(gradients, factor):
    return [factor * each for each in gradients]


def norm(gradients):
    return torch.cat([each.flatten() for each in gradients]).norm()


def in_place(gradients, max_norm):
    factor = (max_norm / norm(gradients)).clamp(max=1)
    for each in gradients:
        each *= factor
    return gradients


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (
            lambda g, m: [each * (m / each.norm()).clamp(max=1) for each in g],
            "each-alone",
        ),
        (lambda g, m: [torch.minimum(each, each * 0 + m).clamp(min=-m) for each in g], "values"),
        (lambda g, m: scaled(g, m / norm(g)), "always"),
        (lambda g, m: scaled(g, min(1, m / sum(x.norm().item() for x in g))), "sum-of-norms"),
        (lambda g, m: scaled(g, (m / norm(g).square()).clamp(max=1)), "no-root"),
        (in_place, "in-place"),
    ],
)
def test_clip_gradients(answer, mistake):
    assert check("clip-gradients", lambda g, m: scaled(g, (m / norm(g)).clamp(max=1)))
    assert check("clip-gradients", answer).mistake == mistake
