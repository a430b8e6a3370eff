"""Relative positions against equations 3 and 4 of Shaw et al. (2018), by loops."""

import math

import pytest
import torch

from attention_book.attention import MultiHeadAttention, Places, RelativePositions, split_heads

BATCH, HEADS, QUERIES, KEYS, D_K = 2, 3, 5, 11, 7


def clipped(table, i, j, max_distance):
    return table[max(-max_distance, min(max_distance, j - i)) + max_distance]


@pytest.mark.parametrize("max_distance", [1, 3, 20])
@pytest.mark.parametrize("offset", [0, 4])
def test_equations_3_and_4(max_distance, offset):
    positions = RelativePositions(d_k=D_K, max_distance=max_distance).double()
    at = Places(QUERIES, KEYS, offset)
    q = torch.randn(BATCH, HEADS, QUERIES, D_K).double()
    k = torch.randn(BATCH, HEADS, KEYS, D_K).double()
    v = torch.randn(BATCH, HEADS, KEYS, D_K).double()

    def a(table, i, j):
        return clipped(table, i + offset, j, max_distance)

    e = torch.zeros(BATCH, HEADS, QUERIES, KEYS).double()
    for i in range(QUERIES):
        for j in range(KEYS):
            key = k[:, :, j] + a(positions.keys, i, j)
            e[:, :, i, j] = (q[:, :, i] * key).sum(-1) / math.sqrt(D_K)
    scores = q @ k.mT / math.sqrt(D_K) + positions.bias(q, at)
    torch.testing.assert_close(scores, e)

    alpha = e.softmax(-1)
    z = torch.zeros(BATCH, HEADS, QUERIES, D_K).double()
    for i in range(QUERIES):
        for j in range(KEYS):
            value = v[:, :, j] + a(positions.values, i, j)
            z[:, :, i] += alpha[:, :, i, j, None] * value
    output = alpha @ v + positions.value_bias(alpha, at)
    torch.testing.assert_close(output, z)


def test_they_are_scaled_as_the_scores_are():
    positions = RelativePositions(d_k=3, max_distance=2)
    attention = MultiHeadAttention(d_model=6, num_heads=2, scale=0.3, positions=positions)
    x = torch.randn(2, 5, 6)
    q = split_heads(attention.W_q(x), 2)
    k = split_heads(attention.W_k(x), 2)
    rows = torch.arange(5)
    near = positions.keys[(rows - rows[:, None]).clamp(-2, 2) + 2]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    scores = 0.3 * (scores + torch.einsum("bhqd,qkd->bhqk", q, near))
    torch.testing.assert_close(attention.weights(x, x), scores.softmax(-1))


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="max_distance: expected at least 1, got 0"):
        RelativePositions(d_k=4, max_distance=0)
    with pytest.raises(ValueError, match="d_k: expected at least 1, got 0"):
        RelativePositions(d_k=0, max_distance=1)
