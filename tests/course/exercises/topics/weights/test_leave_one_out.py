import pytest
import torch

from attention_book.course.exercises import check


def predictions(keys, values, h, *, hide=True):
    """Leave each point out in a loop."""
    found = []
    for i in range(len(keys)):
        kept = [j for j in range(len(keys)) if j != i or not hide]
        weights = (-((keys[i] - keys[kept]) ** 2) / (2 * h * h)).softmax(0)
        found.append(weights @ values[kept])
    return torch.stack(found)


def removed_afterwards(keys, values, h):
    weights = (-((keys[:, None] - keys) ** 2) / (2 * h * h)).softmax(1)
    weights = weights.clone().fill_diagonal_(0)
    return ((weights @ values - values) ** 2).mean()


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda k, v, h: ((predictions(k, v, h, hide=False) - v) ** 2).mean(), "keeps-itself"),
        (removed_afterwards, "removed-afterwards"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).sum(), "sum"),
        (lambda k, v, h: (predictions(k, v, h) - v).abs().mean(), "absolute"),
        (lambda k, v, h: ((predictions(k, v, h) - v) ** 2).mean() ** 0.5, "root"),
    ],
)
def test_leave_one_out(answer, mistake):
    assert check("leave-one-out", lambda k, v, h: ((predictions(k, v, h) - v) ** 2).mean())
    assert check("leave-one-out", answer).mistake == mistake
