import pytest
import torch

from attention_book.course.exercises import check


def look(state, annotations, mask, W_s, W_h, v, *, see=True, after=False, dim=1, flat=False):
    contexts = []
    scores = torch.stack(
        [torch.stack([v @ (W_s @ s + W_h @ h).tanh() for h in row])
         for s, row in zip(state, annotations, strict=True)]
    )  # fmt: skip
    if see and not after:
        scores = scores.masked_fill(~mask, -1e4)
    weights = torch.where(mask, 1.0, -1e4).softmax(1) if flat else scores.softmax(dim)
    if after:
        weights = weights * mask
    for row, each in zip(weights, annotations, strict=True):
        contexts.append(row @ each)
    return torch.stack(contexts)


@pytest.mark.parametrize(
    ("settings", "mistake"),
    [
        ({"see": False}, "padding-seen"),
        ({"after": True}, "masked-afterwards"),
        ({"dim": 0}, "over-the-batch"),
        ({"flat": True}, "plain-average"),
    ],
)
def test_a_look_at_the_source(settings, mistake):
    def answer(state, annotations, mask, W_s, W_h, v):
        return look(state, annotations, mask, W_s, W_h, v, **settings)

    assert check("bahdanau-look", answer).mistake == mistake


def test_a_state_that_takes_no_part():
    def answer(state, annotations, mask, W_s, W_h, v):
        return look(torch.zeros_like(state), annotations, mask, W_s, W_h, v)

    assert check("bahdanau-look", answer).mistake == "state-left-out"


def test_pair_by_pair_is_right():
    assert check("bahdanau-look", lambda s, h, m, W_s, W_h, v: look(s, h, m, W_s, W_h, v))
