"""Heads: what goes where, that nothing is copied, and that the way back is the way."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import merge_heads, split_heads


@given(
    batch=st.lists(st.integers(1, 3), max_size=3),
    positions=st.integers(0, 7),
    num_heads=st.integers(1, 5),
    d_k=st.integers(1, 5),
)
def test_merging_is_the_inverse_of_splitting(batch, positions, num_heads, d_k):
    x = torch.randn(*batch, positions, num_heads * d_k)
    heads = split_heads(x, num_heads)
    assert heads.shape == (*batch, num_heads, positions, d_k)
    assert torch.equal(merge_heads(heads), x)
    assert torch.equal(split_heads(merge_heads(heads), num_heads), heads)


def test_a_head_has_its_features_of_every_position():
    x = torch.randn(2, 7, 15)
    heads = split_heads(x, 5)
    for head in range(5):
        assert torch.equal(heads[:, head], x[..., 3 * head : 3 * head + 3])


def test_splitting_and_merging_back_copies_nothing():
    x = torch.randn(2, 7, 15)
    heads = split_heads(x, 5)
    assert heads.data_ptr() == x.data_ptr()
    assert merge_heads(heads).data_ptr() == x.data_ptr()


def test_merging_what_the_fused_kernel_returns_copies_nothing():
    q, k, v = (split_heads(torch.randn(2, 7, 15), 5) for _ in range(3))
    output = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert merge_heads(output).data_ptr() == output.data_ptr()


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    for num_heads in (3, 0, -2, 20):
        message = f"num_heads: expected a divisor of d_model, got num_heads={num_heads} "
        with pytest.raises(ValueError, match=message + "for d_model=10"):
            split_heads(torch.rand(2, 7, 10), num_heads)
    with pytest.raises(ValueError, match=r"x: expected the axes .*, got the shape \(10,\)"):
        split_heads(torch.rand(10), 5)
    with pytest.raises(ValueError, match=r"heads: expected the axes .*, got the shape \(7, 10\)"):
        merge_heads(torch.rand(7, 10))
