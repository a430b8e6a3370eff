"""Wrong ways to clip gradients, and what they are called."""

import pytest
import torch

from attention_book.course.exercises import check


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
