import pytest
import torch

from attention_book.course.exercises import check


def jacobian(weights, gradient):
    """Write out the whole matrix of each row."""
    rows = [(torch.diag(a) - torch.outer(a, a)) @ g for a, g in zip(weights, gradient, strict=True)]
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda a, g: (a - a**2) * g, "diagonal-only"),
        (lambda a, g: torch.mul(a, g), "nothing-subtracted"),
        (lambda a, g: a * g - a * g.mean(1, keepdim=True), "plain-mean"),
        (lambda a, g: -jacobian(a, g), "sign"),
        (lambda a, g: a * g - a * (a * g).sum(0, keepdim=True), "wrong-axis"),
    ],
)
def test_softmax_backward(answer, mistake):
    assert check("softmax-backward", jacobian)
    assert check("softmax-backward", answer).mistake == mistake
