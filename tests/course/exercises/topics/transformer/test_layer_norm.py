import pytest
import torch

from attention_book.course.exercises import check


def norm(x, gain, bias, *, axes=-1, correction=0, power=0.5, center=True):
    spread = x.var(dim=axes, correction=correction, keepdim=True)
    centered = x - x.mean(dim=axes, keepdim=True) if center else x
    return centered / (spread + 1e-5) ** power * gain + bias


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda *given: norm(*given, axes=-2), "over-time"),
        (lambda *given: norm(*given, axes=(-1, -2)), "over-time"),
        (lambda x, g, b: norm(x, g, b, axes=tuple(range(x.dim() - 1))), "over-batch"),
        (lambda *given: norm(*given, correction=1), "unbiased-variance"),
        (lambda *given: norm(*given, power=1), "divided-by-variance"),
        (lambda *given: norm(*given, center=False), "not-centered"),
    ],
)
def test_norms(answer, mistake):
    assert check("layer-norm", norm)
    verdict = check("layer-norm", answer)
    assert not verdict
    # On sentences alone, batch and time are one: either hint helps.
    assert verdict.mistake in {mistake, *(["over-time"] if mistake == "over-batch" else [])}


def test_a_norm_over_time_breaks_the_causal_law():
    verdict = check("layer-norm", lambda x, g, b: torch.layer_norm(x, x.shape[-2:]) * g + b)
    assert (verdict.law, verdict.mistake) == ("nobody-peeks", "over-time")


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, f, norm: f(norm(x)) + x, "pre-norm"),
        (lambda x, f, norm: norm(f(x)), "no-residual"),
        (lambda x, f, norm: norm(f(x)) + x, "sum-not-normalized"),
        (lambda x, f, norm: (lambda y: y + f(y))(norm(x)), "normalized-path"),
    ],
)
def test_where_the_norm_stands(answer, mistake):
    assert check("post-norm", lambda x, f, norm: norm(f(x) + x))
    assert check("post-norm", answer).mistake == mistake


def test_functions_are_shown_by_their_names():
    given = check("post-norm", lambda x, f, norm: x, language="en").finding.given
    assert repr(given["norm"]) == "layer_norm"
