"""Block-sparse attention: exact, and it computes only the blocks that hold a visible pair."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.attention import (
    block_mask,
    block_sparse_attention,
    causal_mask,
    dot_product_attention,
    global_mask,
    plan_blocks,
    window_mask,
)
from attention_book.inspection import operations

D_K, D_V = 5, 3
PATTERNS = {
    "full": lambda n: torch.ones(n, n).bool(),
    "causal": causal_mask,
    "window": lambda n: window_mask(n, radius=3),
    "window and global": lambda n: window_mask(n, radius=2) | global_mask(n, positions=[7]),
    "blocks": lambda n: block_mask(n, block_size=7),
    "empty": lambda n: torch.zeros(n, n).bool(),
    "some rows empty": lambda n: window_mask(n, radius=1) & (torch.arange(n) % 11 < 3)[:, None],
}
every_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)


def draw(num_queries, num_keys, *batch, dtype=torch.float64):
    set_seed(0)
    shapes = (num_queries, D_K), (num_keys, D_K), (num_keys, D_V)
    return [torch.randn(*batch, *shape).to(dtype) for shape in shapes]


@given(
    num_queries=st.integers(1, 19),
    num_keys=st.integers(1, 19),
    block_size=st.integers(1, 21),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_any_mask_and_any_block_size_is_exact(num_queries, num_keys, block_size, share, seed):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(num_queries, num_keys, generator=generator) < share
    tensors = draw(num_queries, num_keys, 2)
    output = block_sparse_attention(*tensors, plan_blocks(mask, block_size=block_size))
    torch.testing.assert_close(output, dot_product_attention(*tensors, mask))


@every_pattern
def test_the_gradients_are_those_of_masked_attention(pattern):
    mask = pattern(17)
    tensors = [tensor.requires_grad_() for tensor in draw(17, 17, 2, 3)]
    plan = plan_blocks(mask, block_size=4)
    outputs = [block_sparse_attention(*tensors, plan), dot_product_attention(*tensors, mask)]
    upstream = torch.randn_like(outputs[0])
    if not mask.any():
        assert (outputs[0] == 0).all()
        return
    skipping, masked = (torch.autograd.grad(each, tensors, upstream) for each in outputs)
    for mine, expected in zip(skipping, masked, strict=True):
        torch.testing.assert_close(mine, expected)


def test_what_stands_in_a_skipped_block_is_not_even_read():
    mask = block_mask(12, block_size=4)
    queries, keys, values = draw(12, 12)
    plan = plan_blocks(mask & (torch.arange(12) < 8), block_size=4)
    keys[8:], values[8:] = torch.nan, torch.nan
    output = block_sparse_attention(queries, keys, values, plan)
    assert output.isfinite().all()
    assert (output[8:] == 0).all()


@every_pattern
@pytest.mark.parametrize("block_size", [4, 8])
def test_the_operations_are_those_of_the_blocks_that_are_kept(pattern, block_size):
    tensors, mask = draw(32, 32, 2, 3), pattern(32)
    plan = plan_blocks(mask, block_size=block_size)
    everything = operations(lambda *x: dot_product_attention(*x, mask), *tensors)
    skipping = operations(lambda *x: block_sparse_attention(*x, plan), *tensors)
    assert skipping == round(plan.kept * everything)


@given(length=st.integers(1, 30), block_size=st.integers(1, 33), seed=st.integers(0, 99))
def test_a_plan_keeps_the_blocks_that_hold_a_visible_pair(length, block_size, seed):
    mask = torch.rand(length, length, generator=torch.Generator().manual_seed(seed)) < 0.1
    plan = plan_blocks(mask, block_size=block_size)
    expected = {(int(i) // block_size, int(j) // block_size) for i, j in mask.nonzero()}
    kept = [
        (row, column)
        for group in plan.groups
        for row, columns in zip(group.rows.tolist(), group.columns.tolist(), strict=True)
        for column in columns
    ]
    assert set(kept) == expected
    assert len(kept) == len(expected)
    assert plan.kept == pytest.approx(len(expected) / (-(-length // block_size)) ** 2)
    assert sum(group.mask.sum() for group in plan.groups) == mask.sum()


@pytest.mark.parametrize(("num_queries", "num_keys"), [(0, 5), (5, 0), (0, 0), (7, 5)])
def test_of_nothing_visible_nothing_is_kept(num_queries, num_keys):
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    plan = plan_blocks(mask, block_size=2)
    assert plan.kept == 0.0
    if num_keys:
        tensors = draw(num_queries, num_keys, 2)
        output = block_sparse_attention(*tensors, plan)
        assert torch.equal(output, dot_product_attention(*tensors, mask))


def test_the_scale_is_passed_on():
    tensors, mask = draw(9, 9, 2), causal_mask(9)
    output = block_sparse_attention(*tensors, plan_blocks(mask, block_size=4), scale=0.1)
    torch.testing.assert_close(output, dot_product_attention(*tensors, mask, scale=0.1))


def test_neither_plan_nor_tensors_are_changed():
    tensors, mask = draw(9, 9, 2), causal_mask(9)
    copies, before = [tensor.clone() for tensor in tensors], mask.clone()
    plan = plan_blocks(mask, block_size=4)
    first = block_sparse_attention(*tensors, plan)
    assert torch.equal(block_sparse_attention(*tensors, plan), first)
    assert all(map(torch.equal, tensors, copies))
    assert torch.equal(mask, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_half_precision_stays_near_double(dtype):
    mask = window_mask(17, radius=3)
    exact = dot_product_attention(*draw(17, 17, 2), mask)
    output = block_sparse_attention(*draw(17, 17, 2, dtype=dtype), plan_blocks(mask, block_size=4))
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), exact, atol=0.02, rtol=0.02)


@pytest.mark.usefixtures("unchecked")
def test_wrong_input_is_named():
    queries, keys, values = draw(9, 9, 2)
    plan = plan_blocks(causal_mask(9), block_size=4)
    for tensors, error, message in [
        ((queries[:, :8], keys, values, plan), ValueError, "for 8 queries and 9 keys, got one for"),
        ((queries, keys[:, :8], values[:, :8], plan), ValueError, "for 9 queries and 8 keys"),
        ((queries, keys, values[:, :8], plan), ValueError, "values: expected one value for each"),
        ((queries[..., :4], keys, values, plan), ValueError, "equal feature sizes"),
        ((queries, keys, values, causal_mask(9)), TypeError, "plan: expected what plan_blocks"),
    ]:
        with pytest.raises(error, match=message):
            block_sparse_attention(*tensors)
    with pytest.raises(ValueError, match=r"mask: expected the axes \(query, key\)"):
        plan_blocks(torch.ones(2, 9, 9).bool())
    with pytest.raises(TypeError, match="mask: expected a boolean tensor"):
        plan_blocks(torch.ones(9, 9))
    with pytest.raises(ValueError, match="block_size: expected at least 1, got 0"):
        plan_blocks(causal_mask(9), block_size=0)
