import pytest
import torch

from attention_book.course.exercises import check


def shares(scores, dim):
    likeness = torch.exp(scores - scores.max())
    return likeness / likeness.sum(dim=dim, keepdim=True)


def summed(weights, values):
    return torch.einsum("...qk,...kd->...qd", weights, values)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda scores, values: shares(scores, -2) @ values, "wrong-axis"),
        (lambda scores, values: summed(scores.exp(), values), "not-normalized"),
        (lambda scores, values: summed(scores, values), "scores-as-weights"),
        (lambda scores, values: (scores @ values) / scores.sum(-1)[..., None], "shares-of-scores"),
        (
            lambda scores, values: values.mean(-2, keepdim=True).expand(
                *scores.shape[:-1], values.shape[-1]
            ),
            "plain-average",
        ),
        (lambda scores, values: shares(scores, -1) @ values + 1, None),
    ],
)
def test_attention_pooling(answer, mistake):
    assert check("attention-pooling", lambda scores, values: shares(scores, -1) @ values)
    verdict = check("attention-pooling", answer)
    assert not verdict
    assert verdict.mistake == mistake


def gaussian(squares, values, dim=1):
    return (-squares).softmax(dim) @ values


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h, v), "bandwidth-not-squared"),
        (lambda q, k, v, h: gaussian((q[:, None] * h - k * h) ** 2 / 2, v), "bandwidth-multiplied"),
        (lambda q, k, v, h: gaussian((q[:, None] / h - k / h) ** 2, v), "no-half"),
        (lambda q, k, v, h: gaussian((q[:, None] - k).abs() / h / 2, v), "not-squared"),
        (lambda q, k, v, h: gaussian((q[:, None] - k).square() / h**2 / 2, v, 0), "wrong-axis"),
        (
            lambda q, k, v, h: torch.exp(-((q[:, None] - k) ** 2) / (2 * h**2)) @ v,
            "not-normalized",
        ),
        (
            lambda q, k, v, h: (
                ((a := torch.exp(-0.5 * ((q[:, None] - k) / h) ** 2)) / a.sum(1, keepdim=True)) @ v
            ),
            "underflow",
        ),
    ],
)
def test_nadaraya_watson(answer, mistake):
    assert check(
        "nadaraya-watson", lambda q, k, v, h: gaussian((q[:, None] - k) ** 2 / 2 / h**2, v)
    )
    assert check("nadaraya-watson", answer).mistake == mistake
