"""RoPE scaling: the frequencies are the package's, and what is called unseen was never trained."""

import math

import pytest

from attention_book.attention import (
    LinearScaling,
    NtkScaling,
    RopeScaling,
    YarnScaling,
    rotary_frequencies,
)

METHODS = {
    "none": lambda s: RopeScaling(factor=s),
    "linear": lambda s: LinearScaling(factor=s),
    "ntk": lambda s: NtkScaling(factor=s),
    "yarn": lambda s: YarnScaling(factor=s, trained_length=64),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("s", [1.0, 1.5, 4.0, 8.0, 16.0])
def test_it_is_the_packages(method: str, s: float, compute) -> None:
    found, scaling = compute("rope-scaling", method=method, s=s), METHODS[method](s)
    trained, scaled = rotary_frequencies(32), scaling.frequencies(32)
    assert found["frequencies"] == pytest.approx(scaled.tolist(), rel=1e-9)
    assert found["magnitude"] == pytest.approx(scaling.magnitude, rel=1e-12)
    assert found["steps"] == pytest.approx((scaled / trained).tolist(), rel=1e-9)
    assert found["trained"] == pytest.approx((64 * trained / math.tau).tolist(), rel=1e-9)
    assert found["reached"] == pytest.approx((64 * s * scaled / math.tau).tolist(), rel=1e-9)


def test_what_the_caption_says(compute) -> None:
    unseen = {method: sum(compute("rope-scaling", method=method)["unseen"]) for method in METHODS}
    assert unseen["none"] == 11
    assert unseen["linear"] == unseen["yarn"] == 0
    steps = {method: compute("rope-scaling", method=method)["steps"][0] for method in METHODS}
    assert steps == pytest.approx({"none": 1, "linear": 1 / 8, "ntk": 1, "yarn": 1})


@pytest.mark.parametrize("method", METHODS)
def test_at_the_trained_length_nothing_is_unseen(method: str, compute) -> None:
    found = compute("rope-scaling", method=method, s=1)
    assert not any(found["unseen"])
    assert found["reached"] == pytest.approx(found["trained"])
