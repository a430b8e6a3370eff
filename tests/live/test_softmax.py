"""Why to divide by √d: the figure's softmax, entropy and derivatives are torch's."""

import math
import re
from typing import Any

import pytest
import torch
from torch.distributions import Categorical

from attention_book.attention import Attention, DotScore, ScaledDotScore, masked_softmax

SPREADS = torch.tensor([0.5, -1.2, 0.8, 1.5, -0.5, -1.1], dtype=torch.float64)
STATES = [(0, "no", 0.2), (0, "yes", 5.0), (6, "no", 1.0), (9, "no", 0.2), (9, "yes", 1.0)]


def doubles(numbers: Any) -> torch.Tensor:
    """As a tensor in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def test_the_keys_have_mean_0_and_spread_1() -> None:
    assert SPREADS.mean().abs() < 1e-12
    assert SPREADS.std(correction=0) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("doublings", "divide", "temperature"), STATES)
def test_weights_entropy_and_derivatives(
    doublings: int, divide: str, temperature: float, compute: Any
) -> None:
    found = compute("softmax", doublings=doublings, divide=divide, temperature=temperature)
    d = 2**doublings
    scores = SPREADS * math.sqrt(d) / (math.sqrt(d) if divide == "yes" else 1) / temperature
    weights = masked_softmax(scores[None])[0]
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    assert found["d"] == d
    close = {"rtol": 0, "atol": 1e-12}
    torch.testing.assert_close(doubles(found["scores"]), SPREADS * math.sqrt(d), **close)
    torch.testing.assert_close(doubles(found["weights"]), weights, **close)
    torch.testing.assert_close(doubles(found["slopes"]), jacobian.diagonal(), **close)
    entropy = Categorical(probs=weights).entropy()
    assert found["entropy"] == pytest.approx(entropy.item(), abs=1e-6)


@pytest.mark.parametrize("doublings", [0, 6, 9])
@pytest.mark.parametrize(("divide", "score"), [("no", DotScore()), ("yes", ScaledDotScore())])
def test_queries_and_keys_of_that_size(
    doublings: int, divide: str, score: Any, compute: Any
) -> None:
    d = 2**doublings
    queries = torch.ones(1, d, dtype=torch.float64)
    keys = SPREADS[:, None] / math.sqrt(d) * queries
    found = compute("softmax", doublings=doublings, divide=divide)
    weights = Attention(score).weights(queries, keys)[0]
    torch.testing.assert_close(doubles(found["weights"]), weights, rtol=0, atol=1e-12)


def test_a_saturated_derivative_keeps_its_digits(compute: Any) -> None:
    found = compute("softmax", doublings=9, temperature=0.2)
    rest = doubles(sorted(found["weights"])[:-1]).sum()
    assert max(found["slopes"]) > 0
    assert found["slopes"][3] == pytest.approx(rest.item(), rel=1e-9)


def test_what_the_caption_says(compute: Any, draw: Any) -> None:
    begin = compute("softmax")
    assert max(begin["weights"]) > 0.9999
    assert max(begin["slopes"]) < 1e-4
    scaled = [compute("softmax", divide="yes", doublings=doublings) for doublings in range(10)]
    for each in scaled:
        torch.testing.assert_close(doubles(each["weights"]), SPREADS.softmax(-1))
    assert max(scaled[0]["slopes"]) > 0.2
    assert re.search(r"导数是 0\.0000\d\d，", draw("softmax")), "a small number keeps two digits"
