"""ALiBi against the slopes of Press et al. (2022) and of the authors' code."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import AlibiPositions, Places, alibi_slopes


def test_the_slopes_of_8_heads_are_the_paper_s():
    expected = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert alibi_slopes(8).tolist() == expected


def test_12_heads_fill_up_from_16():
    extra = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    expected = torch.cat((alibi_slopes(8), torch.tensor(extra)))
    torch.testing.assert_close(alibi_slopes(12), expected)


@given(num_heads=st.integers(1, 130))
def test_any_number_of_heads_gets_different_slopes(num_heads):
    slopes = alibi_slopes(num_heads)
    assert slopes.shape == (num_heads,)
    assert len(set(slopes.tolist())) == num_heads
    assert torch.all((slopes > 0) & (slopes < 1))


@pytest.mark.parametrize("num_heads", [1, 3, 4, 12])
def test_the_bias_falls_with_the_distance_on_both_sides(num_heads):
    bias = AlibiPositions(num_heads=num_heads).bias(
        torch.rand(2, num_heads, 5, 7), Places(5, 11, 3)
    )
    assert bias.shape == (1, num_heads, 5, 11)
    slopes = alibi_slopes(num_heads)
    for i in range(5):
        for j in range(11):
            torch.testing.assert_close(bias[0, :, i, j], -slopes * abs(i + 3 - j))


def test_double_precision_is_exact():
    bias = AlibiPositions(num_heads=16).bias(
        torch.rand(1, 16, 1, 2).double(), Places(1, 1001, 1000)
    )
    assert bias[0, 0, 0, 0].item() == pytest.approx(-1000 * 2**-0.5, rel=1e-15)


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="num_heads: expected at least 1, got 0"):
        AlibiPositions(num_heads=0)


def test_it_can_be_created_without_memory():
    with torch.device("meta"):
        positions = AlibiPositions(num_heads=4)
    bias = positions.bias(torch.zeros(1, 4, 3, 5), Places(3, 3))
    torch.testing.assert_close(bias[0, :, 0, 2], -2 * alibi_slopes(4))
