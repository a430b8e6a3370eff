"""What may be told as weights, and what it is instead."""

import pytest
import torch

from attention_book.conformance.told_weights import what_is_told, why_implausible

REAL = torch.tensor([[True, True, True, False], [True] * 4])


def weights():
    """Of two examples, the first with padding at its end, behind a causal mask."""
    seen = torch.ones(4, 4, dtype=torch.bool).tril() & REAL[:, None, None]
    scores = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    return scores, scores.masked_fill(~seen, -torch.inf).softmax(-1)


def test_what_can_be_weights_is_not_accused():
    _, right = weights()
    assert why_implausible(right, REAL, causal=True) is None
    spoiled = right.clone()
    spoiled[0, :, 3] = 7.0  # what padding looks at is nobody's business
    assert why_implausible(spoiled, REAL, causal=True) is None


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda scores, right: scores, "weights-before-softmax"),
        (lambda scores, right: scores.softmax(-1), "weights-before-mask"),
        (lambda scores, right: right.mean(1), "weights-averaged"),
        (lambda scores, right: right[:, :, :2], "weights-not-used"),
    ],
)
def test_what_can_be_none_is_told(change, cause):
    assert why_implausible(change(*weights()), REAL, causal=True)[0] == cause


def test_weight_on_padding_alone_is_told():
    scores, _ = weights()
    found = why_implausible(scores.softmax(-1), REAL, causal=False)
    assert found[0] == "weights-before-mask"
    assert found[1].en == "padding has weight"


def test_what_is_told_instead_has_its_name():
    scores, right = weights()
    without = scores.softmax(-1)

    def told(got, earlier=()):
        return what_is_told(got, right, without, earlier, alike)

    assert told(right.mean(1)) == "weights-averaged"
    assert told(right.mT) == "weights-transposed"
    assert told(without) == "weights-before-mask"
    assert told(scores) == "weights-before-softmax"
    assert told(right.flip(0), [right.flip(0), without]) == "weights-of-another-call"
    assert told(right.square()) == "weights-not-used"


def alike(a, b):
    return a.shape == b.shape and torch.allclose(a, b, atol=1e-5)
