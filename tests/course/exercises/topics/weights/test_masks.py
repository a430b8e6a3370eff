import pytest
import torch

from attention_book.course.exercises import check


def by_hand(scores, mask):
    visible = scores.masked_fill(~mask, -torch.inf)
    top = visible.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    likeness = (visible - top).exp()
    return likeness / likeness.sum(-1, keepdim=True).clamp(min=1e-6)


def test_other_right_answers_pass():
    assert check("masked-softmax", by_hand)
    assert check(
        "masked-softmax",
        lambda scores, mask: (
            scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
        ),
    )


def filled(value, dim=-1):
    return lambda scores, mask: torch.softmax(torch.where(mask, scores, value), dim)


def in_place(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(-1).nan_to_num()


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (filled(-torch.inf, dim=-2), "wrong-axis"),
        (filled(-1e9, dim=-2), "wrong-axis"),
        (filled(-torch.inf, dim=0), "wrong-axis"),
        (lambda scores, mask: torch.where(~mask, scores, -torch.inf).softmax(-1), "mask-inverted"),
        (lambda scores, mask: torch.where(~mask, scores, -1e9).softmax(-1), "mask-inverted"),
        (lambda scores, mask: torch.where(mask, scores, 0).softmax(-1), "scores-set-to-zero"),
        (lambda scores, mask: torch.where(mask, scores.softmax(-1), 0), "masked-afterwards"),
        (filled(-torch.inf), "minus-infinity"),
        (lambda s, mask: (s + torch.where(mask, 0, -torch.inf)).softmax(-1), "minus-infinity"),
        (filled(-1e6), "finite-fill"),
        (lambda s, mask: s.masked_fill(~mask, -1e12).softmax(-1), "finite-fill"),
        (lambda s, mask: (s - 1e9 * (1 - mask.to(s.dtype))).softmax(-1), "finite-fill"),
        (
            lambda s, mask: (s.exp() * mask) / (s.exp() * mask).sum(-1, keepdim=True),
            "bare-exponentials",
        ),
        (in_place, "in-place"),
    ],
)
def test_a_wrong_answer_gets_its_hint(answer, mistake):
    verdict = check("masked-softmax", answer)
    assert not verdict
    assert verdict.mistake == mistake


def test_a_hidden_nan_in_the_gradient_is_found():
    def wiped(scores, mask):
        return (scores + torch.where(mask, 0, -torch.inf)).softmax(-1).nan_to_num()

    assert check("masked-softmax", wiped).law == "finite-gradients"
