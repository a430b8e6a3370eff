"""Local attention: windows around the own position, and around a predicted one."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.attention import (
    AdditiveScore,
    Attention,
    DotScore,
    LocalAttention,
    PredictiveLocalAttention,
    ScaledDotScore,
    mask_from_lengths,
)

BATCH, QUERIES, KEYS, D_K, D_V = 2, 5, 7, 3, 11


def draw_inputs(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    """Queries, keys, values, and a mask of lengths 4 and 7."""
    set_seed(0)
    queries = torch.randn(BATCH, QUERIES, D_K).to(dtype)
    keys = torch.randn(BATCH, KEYS, D_K).to(dtype)
    values = torch.randn(BATCH, KEYS, D_V).to(dtype)
    return queries, keys, values, mask_from_lengths(torch.tensor([4, 7]), KEYS)


def predictive(radius: int = 2) -> PredictiveLocalAttention:
    """A local-p attention in double precision whose predictions differ clearly."""
    set_seed(1)
    attention = PredictiveLocalAttention(ScaledDotScore(), d_q=D_K, d_hidden=13, radius=radius)
    return attention.double()


# --- around the own position -----------------------------------------------------------------


@given(radius=st.integers(0, 9), causal=st.booleans())
def test_a_window_is_full_attention_with_the_rest_masked(radius: int, causal: bool) -> None:
    queries, keys, values, lengths = draw_inputs()
    score = AdditiveScore(d_q=D_K, d_k=D_K, d_hidden=5).double()
    window = torch.tensor(
        [
            [abs(i - j) <= radius and not (causal and j > i) for j in range(KEYS)]
            for i in range(QUERIES)
        ]
    )
    local = LocalAttention(score, radius=radius, causal=causal)
    full = Attention(score)
    torch.testing.assert_close(local(queries, keys, values), full(queries, keys, values, window))
    torch.testing.assert_close(
        local(queries, keys, values, lengths), full(queries, keys, values, window & lengths)
    )


# --- around a predicted position -------------------------------------------------------------


def test_predictive_weights_are_a_loop_over_equations_9_and_10() -> None:
    queries, keys, _, mask = draw_inputs()
    attention = predictive(radius=2)
    weights = attention.weights(queries, keys, mask)
    W_p, v_p = attention.W_p.weight.tolist(), attention.v_p.weight[0].tolist()
    for b, length in enumerate([4, 7]):
        for i in range(QUERIES):
            q = queries[b, i].tolist()
            hidden = [math.tanh(sum(w * x for w, x in zip(row, q, strict=True))) for row in W_p]
            energy = sum(v * h for v, h in zip(v_p, hidden, strict=True))
            p = length / (1 + math.exp(-energy))
            window = [j for j in range(length) if abs(j - p) <= 2]
            scores = {j: float(queries[b, i] @ keys[b, j]) / math.sqrt(D_K) for j in window}
            total = sum(math.exp(score) for score in scores.values())
            expected = [0.0] * KEYS
            for j in window:
                expected[j] = math.exp(scores[j]) / total * math.exp(-((j - p) ** 2) / 2)
            assert weights[b, i].tolist() == pytest.approx(expected)


def test_the_predicted_position_lies_within_the_source_and_ignores_padding() -> None:
    queries, _, _, mask = draw_inputs()
    attention = predictive()
    with torch.no_grad():
        attention.v_p.weight.mul_(30)
    positions = attention.predict_positions(queries, KEYS, mask)
    lengths = torch.tensor([[4.0], [7.0]])
    assert ((positions >= 0) & (positions <= lengths)).all()
    torch.testing.assert_close(positions[0], attention.predict_positions(queries, 4)[0])
    torch.testing.assert_close(positions[1], attention.predict_positions(queries, 7)[1])


# --- both ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_predictor_keeps_the_precision_of_its_inputs(dtype: torch.dtype) -> None:
    queries, keys, values, mask = draw_inputs(dtype)
    output = predictive().to(dtype)(queries, keys, values, mask)
    assert output.dtype == dtype
    assert output.isfinite().all()


@pytest.mark.usefixtures("unchecked")
def test_a_layer_is_built_from_a_score_sizes_and_a_width() -> None:
    with pytest.raises(TypeError, match="score: expected a scoring function"):
        LocalAttention(DotScore, radius=1)
    with pytest.raises(TypeError, match="score: expected a scoring function"):
        PredictiveLocalAttention(DotScore, d_q=2, d_hidden=2, radius=1)
    with pytest.raises(ValueError, match="d_hidden: expected at least 1, got 0"):
        PredictiveLocalAttention(DotScore(), d_q=2, d_hidden=0, radius=1)

    with pytest.raises(ValueError, match="radius: expected 0 or more, got -1"):
        LocalAttention(DotScore(), radius=-1)
    with pytest.raises(ValueError, match="radius: expected 1 or more, got 0"):
        PredictiveLocalAttention(DotScore(), d_q=2, d_hidden=2, radius=0)
