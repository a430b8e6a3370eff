import math

import pytest
import torch
from torch.nn import functional as F

from attention_book.course.exercises import check


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
