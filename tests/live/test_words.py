"""The figures of words that ask each other compute what the package computes."""

import math
from typing import Any

import pytest
import torch

from attention_book.attention import MultiHeadAttention, SelfAttention, masked_softmax

CLOSE = {"rtol": 0, "atol": 1e-12}
LN2 = math.log(2)
WORDS = [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]
MOVED = {"tomVerb": 0.4, "tomWho": 1.2, "chasesVerb": -0.5, "chasesWho": 0.3, "jerryWho": 0.9}


def doubles(numbers: Any) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize("moved", [{}, MOVED])
@pytest.mark.parametrize("projections", ["own", "none"])
def test_words_move_where_self_attention_puts_them(
    projections: str, moved: dict[str, float], compute: Any
) -> None:
    found = compute("word-vectors", projections=projections, **moved)
    words = doubles(found["words"])
    layer = SelfAttention(d_model=2, d_k=1 if projections == "own" else 2, d_v=2).double()
    layer.requires_grad_(False)
    alike = torch.eye(2).double()
    matrices = {"own": (doubles([[LN2, LN2]]), doubles([[0, 1]])), "none": (alike, alike)}
    for linear, matrix in zip((layer.W_q, layer.W_k), matrices[projections], strict=True):
        linear.weight[:] = matrix
    layer.W_v.weight[:] = torch.eye(2)
    torch.testing.assert_close(doubles(found["weights"]), layer.weights(words), **CLOSE)
    torch.testing.assert_close(doubles(found["outputs"]), layer(words), **CLOSE)


def test_the_words_start_as_in_the_chapter(compute: Any) -> None:
    found = compute("word-vectors")
    assert found["words"] == WORDS
    sevenths = doubles([[4, 2, 1], [4, 2, 1], [1, 2, 4]]) / 7
    torch.testing.assert_close(doubles(found["weights"]), sevenths, **CLOSE)
    torch.testing.assert_close(doubles(found["scores"])[0], LN2 * doubles([1, 0, -1]), **CLOSE)


@pytest.mark.parametrize("order", ["chases", "swapped"])
@pytest.mark.parametrize("sharp", [0.0, 1.0, 3.5])
def test_two_heads_bring_back_what_the_layer_does(sharp: float, order: str, compute: Any) -> None:
    found = compute("two-names", sharp=sharp, order=order)
    words = doubles(WORDS if order == "chases" else WORDS[::-1])
    layer = MultiHeadAttention(d_model=2, num_heads=2).double().requires_grad_(False)
    layer.W_q.weight[:] = sharp * LN2
    layer.W_k.weight[:] = doubles([[0, 1], [0, -1]])
    layer.W_v.weight[:] = doubles([[0, 1], [0, 1]])
    layer.W_o.weight[:] = torch.eye(2)
    weights = doubles([found["first"]["weights"], found["second"]["weights"]])
    torch.testing.assert_close(weights, layer.weights(words[None])[0, :, 1], **CLOSE)
    whos = doubles([found["first"]["output"][1], found["second"]["output"][1]])
    torch.testing.assert_close(whos, layer(words[None])[0, 1], **CLOSE)


@pytest.mark.parametrize("lean", [-3.0, 0.0, 0.75])
def test_one_head_brings_back_one_average(lean: float, compute: Any) -> None:
    found = compute("two-names", lean=lean)["one"]
    words = doubles(WORDS)
    weights = masked_softmax(LN2 * (lean * words[:, 1] - 2 * words[:, 0])[None])[0]
    torch.testing.assert_close(doubles(found["weights"]), weights, **CLOSE)
    torch.testing.assert_close(doubles(found["output"]), weights @ words, **CLOSE)
    if lean == 0:
        torch.testing.assert_close(weights * 9, doubles([4, 1, 4]), **CLOSE)
        assert found["output"][1] == pytest.approx(0, abs=1e-15)
