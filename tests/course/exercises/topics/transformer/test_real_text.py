"""Wrong answers about padding and about the mean of checkpoints, and what they are called."""

import pytest
import torch

from attention_book.course.exercises import check


def places(batches):
    return sum(len(batch) * max(batch) for batch in batches)


def words(batches):
    return sum(sum(batch) for batch in batches)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (
            lambda b: torch.tensor([1 - sum(x) / (len(x) * max(x)) for x in b]).mean().item(),
            "mean-of-shares",
        ),
        (
            lambda b: 1 - words(b) / (sum(map(len, b)) * max(max(x) for x in b)),
            "longest-of-all",
        ),
        (lambda b: words(b) / places(b), "share-of-words"),
        (lambda b: (places(b) - words(b)) / words(b), "per-real-token"),
    ],
)
def test_padding_share(answer, mistake):
    assert check("padding-share", lambda b: (places(b) - words(b)) / places(b))
    assert check("padding-share", answer).mistake == mistake


def right(checkpoints):
    names = checkpoints[0].keys()
    return {name: sum(each[name] for each in checkpoints) / len(checkpoints) for name in names}


def halves(checkpoints):
    first, *rest = checkpoints
    for each in rest:
        first = {name: 0.5 * first[name] + 0.5 * each[name] for name in first}
    return first


def overwriting(checkpoints):
    first, *rest = checkpoints
    for name, value in first.items():
        for each in rest:
            value.add_(each[name])
        value.div_(len(checkpoints))
    return first


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (halves, "pairwise"),
        (overwriting, "in-place"),
        (lambda c: {name: sum(each[name] for each in c) for name in c[0]}, "sum"),
        (lambda c: {name: value.clone() for name, value in c[-1].items()}, "last"),
    ],
)
def test_mean_of_checkpoints(answer, mistake):
    assert check("mean-of-checkpoints", right)
    assert check("mean-of-checkpoints", answer).mistake == mistake
