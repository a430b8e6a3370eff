"""Four scores on the plane: the figure's numbers are the package's."""

import math
from typing import Any

import pytest
import torch

from attention_book.attention import AdditiveScore, CosineScore, DotScore, ScaledDotScore

BEGIN = {
    **{"qLength": 2, "qAngle": 45, "aLength": 1, "aAngle": 60, "bLength": 2.8, "bAngle": 5},
    **{"cLength": 1.2, "cAngle": 115, "dLength": 2.4, "dAngle": 115},
    **{"wk1": 1, "wk2": 1, "wq2": -0.5, "wv": 3},
}
STATES: list[dict[str, float]] = [
    {},
    {"qLength": 0, "aLength": 0},
    {"qLength": 3, "qAngle": -180, "bLength": 3, "bAngle": 180, "cAngle": -91},
    {"wk1": -2, "wk2": 2, "wq2": 2, "wv": 5},
    {"wk1": 0, "wk2": 0.3, "wv": 0},
]


def vector(state: dict[str, Any], point: str) -> list[float]:
    angle = math.radians(state[f"{point}Angle"])
    return [state[f"{point}Length"] * math.cos(angle), state[f"{point}Length"] * math.sin(angle)]


def package(state: dict[str, float]) -> dict[str, torch.nn.Module]:
    additive = AdditiveScore(d_q=2, d_k=2, d_hidden=1).double().requires_grad_(False)
    additive.W_k.weight.copy_(torch.tensor([[state["wk1"], state["wk2"]]], dtype=torch.float64))
    additive.W_q.weight.copy_(torch.tensor([[0, state["wq2"]]], dtype=torch.float64))
    additive.w_v.weight.fill_(state["wv"])
    return {
        "dot": DotScore(),
        "scaled": ScaledDotScore(),
        "cosine": CosineScore(),
        "additive": additive,
    }


def double(numbers: Any) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize("changes", STATES)
def test_scores_and_weights(changes: dict[str, float], compute) -> None:
    state = BEGIN | changes
    query, keys = double([vector(state, "q")]), double([vector(state, each) for each in "abcd"])
    found = compute("scores", **state)
    for name, score in package(state).items():
        expected = score(query, keys)[0]
        close = dict(rtol=0, atol=1e-12)
        torch.testing.assert_close(double(found["scores"][name]), expected, **close)
        torch.testing.assert_close(double(found["weights"][name]), expected.softmax(-1), **close)


@pytest.mark.parametrize("name", ["dot", "scaled", "cosine", "additive"])
@pytest.mark.parametrize("changes", STATES)
def test_the_field_is_the_score_of_a_key_in_each_cell(name: str, changes: dict, compute) -> None:
    state = BEGIN | changes
    field = double(compute("scores", score=name, **state)["field"])
    places = (torch.arange(18, dtype=torch.float64) + 0.5) / 18 * 6.4 - 3.2
    keys = torch.stack(torch.meshgrid(places, places, indexing="xy"), -1)  # rows from below
    expected = package(state)[name](double([vector(state, "q")]), keys.reshape(-1, 2)).reshape(
        18, 18
    )
    torch.testing.assert_close(field, expected, rtol=0, atol=1e-12)


def test_the_start_shows_what_length_does(compute) -> None:
    found = compute("scores")
    winner = {name: row.index(max(row)) for name, row in found["scores"].items()}
    assert winner == {"dot": 1, "scaled": 1, "cosine": 0, "additive": 1}
    longer = compute("scores", bLength=3)
    assert longer["scores"]["dot"][1] > found["scores"]["dot"][1]
    assert longer["scores"]["cosine"][1] == pytest.approx(found["scores"]["cosine"][1], abs=1e-15)
    assert longer["scores"]["additive"][1] < 3
    assert found["scores"]["cosine"][2] == pytest.approx(found["scores"]["cosine"][3], abs=1e-15)
