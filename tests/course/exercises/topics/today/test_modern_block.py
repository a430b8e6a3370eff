import pytest
import torch
from torch.nn import functional as F

from attention_book.course.exercises import check


def rms(x, gain, *, axes=-1, power=0.5, shift=0.0, total=torch.mean):
    x = x - shift * x.mean(dim=-1, keepdim=True)
    return gain * x * (total(x**2, dim=axes, keepdim=True) + 1e-6) ** -power


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, g: rms(x, g, shift=1), "centered"),
        (lambda x, g: F.layer_norm(x, x.shape[-1:], g, eps=1e-6), "centered"),
        (lambda x, g: rms(x, g, total=torch.sum), "divided-by-length"),
        (lambda x, g: F.normalize(x, dim=-1) * g, "divided-by-length"),
        (lambda x, g: rms(x, g, power=1), "no-root"),
        (lambda x, g: rms(x, g, axes=-2), "over-time"),
        (lambda x, g: rms(x, g, axes=(-1, -2)), "over-time"),
        (lambda x, g: rms(x, torch.ones_like(g)), "no-gain"),
    ],
)
def test_norms(answer, mistake):
    assert check("rms-norm", rms)
    assert check("rms-norm", lambda x, g: F.rms_norm(x, x.shape[-1:], g, 1e-6))
    assert check("rms-norm", answer).mistake == mistake


def test_a_result_that_grows_with_its_input_breaks_the_law():
    assert check("rms-norm", lambda x, g: x * g).law == "scale-is-lost"


def gated(x, gate, up, down, *, bend=F.silu):
    return torch.einsum("nf,nf,fd->nd", bend(x @ gate), x @ up, down)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda *given: gated(*given, bend=torch.sigmoid), "sigmoid"),
        (lambda *given: gated(*given, bend=F.relu), "relu"),
        (lambda x, gate, up, down: gated(x, up, gate, down), "exchanged"),
        (lambda x, gate, up, down: F.silu(x @ up * (x @ gate)) @ down, "product-bent"),
        (lambda x, gate, up, down: (x @ up + F.silu(x @ gate)) @ down, "added"),
    ],
)
def test_gates(answer, mistake):
    assert check("swiglu", gated)
    assert check("swiglu", answer).mistake == mistake
