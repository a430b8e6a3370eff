import pytest
import torch

from attention_book.course.exercises import check


def on(weights, step, *, first=1, total=None):
    n = weights.shape[-1]
    picked = [weights[:, i, (i + step) % n] for i in range(first, n + min(0, -max(step, 0)))]
    return sum(picked) / (total or len(picked))


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda w: on(w, 1, first=0), "next-word"),
        (lambda w: on(w, 0, first=0), "own-word"),
        (lambda w: on(w, -1, total=w.shape[1]), "first-counted"),
        (lambda w: on(w, -1, first=0), "first-counted"),
        (lambda w: torch.full((len(w),), on(w, -1).mean().item()), "heads-mixed"),
    ],
)
def test_weights_on_a_neighbor(answer, mistake):
    assert check("previous-weight", lambda w: on(w, -1))
    assert check("previous-weight", answer).mistake == mistake
