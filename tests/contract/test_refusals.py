"""What fits no mechanism is refused by each, and named; weights times values are the output."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parent))

import subjects

from attention_book.attention import LatentAttention
from attention_book.conformance.kernel import arguments
from attention_book.conformance.kernel_laws import KernelLaws

#: Put together in `subjects.py` of parts that do not know of each other (torch refuses), or without
#: the values.
OF_PARTS = "@ v", "PartialAttention", "LinearState", "KernelRegression", "LatentAttention"
KERNELS = [
    each
    for each in subjects.kernels()
    if each.mask != "none" and not any(part in each.name for part in OF_PARTS)
]
#: What fits no call with queries, keys, values and a mask, and what is said of it.
WRONG = {
    "features of the queries": (lambda q, k, v, m: (q[..., :-1], k, v, m), ValueError, "queries"),
    "a value too few": (lambda q, k, v, m: (q, k, v[..., :-1, :], m), ValueError, "values"),
    "no key": (lambda q, k, v, m: (q, k[..., :0, :], v[..., :0, :], None), ValueError, "expected"),
    "another batch": (
        lambda q, k, v, m: (torch.cat((q, q[:1])), k, v, m),
        ValueError,
        "shape|axes",
    ),
    "a mask of numbers": (lambda q, k, v, m: (q, k, v, m.float()), TypeError, "mask: .* boolean"),
    "a mask of fewer keys": (lambda q, k, v, m: (q, k, v, m[..., :-1]), ValueError, "mask: expec"),
}


def given(subject):
    """What it may be called with: two examples and a mask that hides some keys."""
    return arguments(subject, [each for each in KernelLaws(subject).masked if len(each.q) == 2][-1])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("subject", KERNELS, ids=lambda each: each.name)
def test_what_does_not_fit_is_refused(subject):
    for change, error, message in WRONG.values():
        with pytest.raises(error, match=message):
            subject.call(*change(*given(subject)))


@torch.no_grad()
@pytest.mark.parametrize(
    "subject",
    [each for each in KERNELS if hasattr(each.call, "weights")],
    ids=lambda each: each.name,
)
def test_the_output_is_the_weights_times_the_values(subject):
    queries, keys, values, mask = given(subject)
    for seen in (mask, None):
        weights = subject.call.weights(queries, keys, seen)
        torch.testing.assert_close(subject.call(queries, keys, values, seen), weights @ values)


@torch.no_grad()
@pytest.mark.parametrize("name", [*subjects.multi_heads(), *subjects.looking_back()])
def test_the_output_is_the_weights_of_the_heads_combined(name):
    module = (subjects.multi_heads() | subjects.looking_back())[name].eval()
    x = torch.randn(2, 5, subjects.WIDTH, dtype=torch.float64)
    values = () if isinstance(module, LatentAttention) else (x.flip(1),)
    mask = torch.rand(2, 1, 5, 5) < 0.7
    weights = module.weights(x, x, mask, is_causal=True)
    found = module(x, x, *values, mask=mask, is_causal=True)
    torch.testing.assert_close(module.combine(weights, module.project(x, *values)), found)
