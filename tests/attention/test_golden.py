"""Numbers that have been printed elsewhere come out again, digit by digit."""

import numpy as np
import pytest
import torch

from attention_book import set_seed
from attention_book.attention import (
    AdditiveScore,
    Attention,
    DotProductAttention,
    ScaledDotScore,
    mask_from_lengths,
    mask_from_query_lengths,
    masked_softmax,
)


def test_masked_softmax_within_one_session():
    set_seed(42)
    torch.randn(10, 10)  # the draws that come first in that session
    torch.rand(50)
    torch.normal(0.0, 0.5, (50,))
    torch.rand(1)
    by_example = masked_softmax(torch.rand(2, 2, 4), mask_from_lengths(torch.tensor([2, 3]), 4))
    lengths = torch.tensor([[1, 3], [2, 4]])
    by_query = masked_softmax(torch.rand(2, 2, 4), mask_from_query_lengths(lengths, 4))
    assert [[f"{x:.4f}" for x in row] for row in by_example.flatten(0, 1).tolist()] == [
        ["0.5396", "0.4604", "0.0000", "0.0000"],
        ["0.5120", "0.4880", "0.0000", "0.0000"],
        ["0.3211", "0.3711", "0.3078", "0.0000"],
        ["0.2700", "0.2769", "0.4531", "0.0000"],
    ]
    assert [[f"{x:.4f}" for x in row] for row in by_query.flatten(0, 1).tolist()] == [
        ["1.0000", "0.0000", "0.0000", "0.0000"],
        ["0.3466", "0.3790", "0.2744", "0.0000"],
        ["0.3545", "0.6455", "0.0000", "0.0000"],
        ["0.1659", "0.3488", "0.1922", "0.2931"],
    ]


# The first and last three features of the first two examples, as a reader of a
# well-known Keras tutorial printed them.
KERAS = [
    [[0.42829984, 0.5291363, 0.48467717, 0.60236526, 0.6314437, 0.36796492],
     [0.42059597, 0.51898783, 0.46809804, 0.59751767, 0.63140476, 0.39604473],
     [0.45291767, 0.53372955, 0.4822161, 0.5861658, 0.61705434, 0.35611778],
     [0.43538865, 0.52972203, 0.47826144, 0.5917443, 0.6259302, 0.36665624],
     [0.42998832, 0.5189111, 0.48113108, 0.61032706, 0.63044846, 0.39192218]],
    [[0.6105153, 0.50249505, 0.40130395, 0.71487725, 0.36341453, 0.5512418],
     [0.58420086, 0.5239525, 0.4311911, 0.72335523, 0.36001056, 0.5697574],
     [0.5644941, 0.5598139, 0.44120124, 0.69758904, 0.34060007, 0.57147545],
     [0.58783877, 0.5212065, 0.42275837, 0.70439875, 0.34812242, 0.5561169],
     [0.5880349, 0.52016133, 0.43390357, 0.70503277, 0.35547623, 0.56170976]],
]  # fmt: skip


@pytest.mark.parametrize(
    "attention", [DotProductAttention(), Attention(ScaledDotScore())], ids=["fused", "explicit"]
)
def test_a_keras_tutorial_with_seed_42(attention):
    np.random.seed(42)
    queries, keys, values = (
        torch.from_numpy(np.random.random((64, 5, 64))).float() for _ in range(3)
    )
    output = attention(queries, keys, values)
    assert output.shape == (64, 5, 64)
    # Two float32 programs may differ in the last bit or two, 6e-8 each below 1.
    torch.testing.assert_close(
        output[:2, :, [0, 1, 2, -3, -2, -1]], torch.tensor(KERAS), rtol=0, atol=2e-7
    )


@pytest.mark.parametrize(
    "attention",
    [
        Attention(AdditiveScore(d_q=20, d_k=2, d_hidden=8), dropout=0.1),
        DotProductAttention(dropout=0.5),
    ],
    ids=["additive", "dot product"],
)
def test_equal_keys_share_the_weight(attention):
    d_q = 20 if isinstance(attention, Attention) else 2
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    mask = mask_from_lengths(torch.tensor([2, 6]), 10)
    queries, keys = torch.randn(2, 1, d_q), torch.ones(2, 10, 2)
    output = attention.eval()(queries, keys, values, mask)
    expected = torch.tensor([[[2.0, 3.0, 4.0, 5.0]], [[10.0, 11.0, 12.0, 13.0]]])
    torch.testing.assert_close(output, expected, rtol=1e-6, atol=0)
    weights = attention.weights(queries, keys, mask)
    torch.testing.assert_close(weights, mask / mask.sum(-1, keepdim=True), rtol=1e-6, atol=0)
