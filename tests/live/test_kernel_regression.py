"""Kernel regression: weights, answers and errors of the figure are the package's."""

import math
from typing import Any

import pytest
import torch

from attention_book.attention import KERNELS, KernelRegression, average_pooling
from attention_book.course import datasets

WEEK = ([1.0, 2.0, 4.0], [10.0, 20.0, 60.0])
NARROW, WIDE = 0.05, 3.0


def doubles(numbers: Any) -> torch.Tensor:
    """As a tensor in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def close(found: Any, expected: torch.Tensor) -> None:
    """The same to 12 decimals."""
    torch.testing.assert_close(doubles(found), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [NARROW, 0.3, 1.0, WIDE])
@pytest.mark.parametrize("points", ["week", "curve"])
def test_weights_answer_line_and_errors(
    kernel: str, bandwidth: float, points: str, compute: Any
) -> None:
    regression = KernelRegression(kernel=kernel, bandwidth=bandwidth)
    for query in (0.0, 1.9, 3.0, 5.0):
        found = compute(
            "kernel-regression", points=points, query=query, bandwidth=bandwidth, kernel=kernel
        )
        keys, values, at = doubles(found["keys"]), doubles(found["values"]), doubles([query])
        close([found["weights"]], regression.weights(at, keys))
        close([found["answer"]], regression(at, keys, values))
    close(found["line"], regression(doubles([i * 5 / 200 for i in range(201)]), keys, values))
    if points == "curve":
        tests = doubles([i / 10 for i in range(50)])
        true = datasets._curve(tests)
        for name, line in (
            ("error", regression(tests, keys, values)),
            ("averageError", average_pooling(tests, keys, values)),
        ):
            close(found[name], (line - true).square().mean())
        close(found["truth"], datasets._curve(doubles(query)))


def test_the_notebook_of_the_chapter(compute: Any) -> None:
    found = compute("kernel-regression")
    assert (found["keys"], found["values"]) == WEEK
    assert [round(weight, 3) for weight in found["weights"]] == [0.100, 0.450, 0.450]
    assert round(found["answer"], 1) == 37.0
    changed = compute("kernel-regression", pages1=80, pages2=0, pages4=7)
    assert changed["values"] == [80, 0, 7]
    assert changed["weights"] == found["weights"], "weights depend on keys alone"


def test_nothing_in_reach(compute: Any, draw: Any) -> None:
    nowhere = {"kernel": "boxcar", "bandwidth": NARROW, "query": 3}
    found = compute("kernel-regression", **nowhere)
    assert found["weights"] == [0, 0, 0]
    assert found["answer"] == found["heard"] == 0
    assert "一个键也够不着" in draw("kernel-regression", **nowhere)
    edge = compute("kernel-regression", kernel="boxcar", bandwidth=1, query=3)
    assert edge["weights"] == [0, 0.5, 0.5], "a key on the edge counts"


def test_how_many_points_are_heard(compute: Any) -> None:
    found = compute("kernel-regression", points="curve", kernel="boxcar", bandwidth=3, query=2.5)
    assert found["heard"] == pytest.approx(12)
    alone = compute("kernel-regression", points="curve", bandwidth=NARROW, query=0)
    assert alone["heard"] == pytest.approx(1, abs=1e-9)


def test_what_the_caption_says(compute: Any) -> None:
    def error(**state: Any) -> float:
        return compute("kernel-regression", points="curve", **state)["error"]

    falling = [error(bandwidth=h) for h in (1.0, 0.8, 0.6, 0.4)]
    assert falling == sorted(falling, reverse=True)
    assert error(bandwidth=NARROW) > 3 * falling[-1]
    average = compute("kernel-regression", points="curve")["averageError"]
    assert error(kernel="boxcar", bandwidth=WIDE) > average
    missed = compute("kernel-regression", points="curve", kernel="boxcar", bandwidth=0.1)
    assert 0 in missed["line"]
    flattened = compute("kernel-regression", points="curve")["line"]
    true = datasets._curve(doubles([i * 5 / 200 for i in range(201)]))
    assert max(flattened) < true.max()
    assert math.isfinite(min(flattened))
