"""What the exercises, the reader's own file and the laws call by a name is one and the same fault.

The exercises run in a page, without the laws; their hints are their own. That the functions are
the same is tested here, on random numbers.
"""

import pytest
import torch

from attention_book.conformance import CAUSES
from attention_book.conformance.reference import VALUE_FAULTS, attend
from attention_book.course.exercises import EXERCISES

pytestmark = pytest.mark.usefixtures("unchecked")

#: A mistake of an exercise, and the fault that it is.
SHARED = {
    ("causal-self-attention", "no-mask"): "no-causal-mask",
    ("causal-self-attention", "masked-afterwards"): "mask-after-softmax",
    ("causal-self-attention", "off-by-one"): "without-itself",
    ("causal-self-attention", "divided-by-d"): "scale-without-root",
    ("causal-self-attention", "not-scaled"): "no-scale",
    ("causal-self-attention", "wrong-axis"): "softmax-over-queries",
    ("masked-softmax", "mask-inverted"): "mask-inverted",
    ("masked-softmax", "mask-ignored"): "mask-ignored",
    ("masked-softmax", "masked-afterwards"): "mask-after-softmax",
    ("masked-softmax", "minus-infinity"): "nan-for-empty-rows",
    ("masked-softmax", "finite-fill"): "average-for-empty-rows",
}


def by_the_fault(exercise, fault):
    """Return inputs of an exercise, and what the fault makes of them."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(*shape, generator=generator)

    if exercise == "masked-softmax":
        scores, mask = drawn(4, 5), torch.rand(4, 5, generator=generator) < 0.6
        mask[:, 0], mask[:, 1] = True, False  # no row is empty, inverted or not
        mask[3] &= "rows" not in fault
        q, unit = drawn(1, 1, 4, 2), torch.eye(5)[None, None]
        out = attend(
            q, unit, unit, mask[None, None], score=lambda q, k: scores[None, None], fault=fault
        )
        return (scores, mask), out[0, 0]
    x, *matrices = given = drawn(5, 8), drawn(8, 4), drawn(8, 4), drawn(8, 6)
    q, k, v = ((x @ W)[None, None] for W in matrices)
    past = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    if fault.startswith("mask-"):
        return given, attend(q, k, v, past, fault=fault)[0, 0]
    return given, attend(q, k, v, causal=True, fault=fault)[0, 0]


@pytest.mark.parametrize(("named", "fault"), SHARED.items(), ids=lambda each: str(each))
def test_a_mistake_of_an_exercise_is_the_fault_of_the_list(named, fault):
    exercise, mistake = named
    given, wrong = by_the_fault(exercise, fault)
    versions = [each for each in EXERCISES[exercise].mistakes if each.name == mistake]
    found = [each.wrong(*(g.clone() for g in given)) for each in versions]
    assert any(torch.allclose(each, wrong, atol=1e-5, equal_nan=True) for each in found)


def test_every_fault_of_values_has_a_cause_that_is_explained():
    assert set(VALUE_FAULTS) <= set(CAUSES)
    assert set(SHARED.values()) <= set(VALUE_FAULTS)
