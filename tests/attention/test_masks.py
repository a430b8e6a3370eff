"""Masks from positions and lengths say exactly what their definitions say."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attention_book.attention import (
    additive_from_mask,
    causal_mask,
    check_mask,
    dot_product_attention,
    ignore_from_mask,
    leave_one_out_mask,
    mask_from_additive,
    mask_from_attention_mask,
    mask_from_ignore,
    mask_from_key_padding,
    mask_from_lengths,
    mask_from_query_lengths,
    window_mask,
)

counts = st.integers(0, 9)


def table(num_queries, num_keys, may_see):
    """Build a mask cell by cell from a plain Python rule."""
    rows = [[may_see(i, j) for j in range(num_keys)] for i in range(num_queries)]
    return torch.tensor(rows, dtype=torch.bool).reshape(num_queries, num_keys)


@given(num_queries=counts, num_keys=counts, offset=st.integers(-4, 9))
def test_causal_mask(num_queries, num_keys, offset):
    expected = table(num_queries, num_keys, lambda i, j: j <= i + offset)
    assert torch.equal(causal_mask(num_queries, num_keys, offset=offset), expected)


@given(num_queries=counts, num_keys=counts, radius=counts, causal=st.booleans())
def test_window_mask(num_queries, num_keys, radius, causal):
    expected = table(
        num_queries, num_keys, lambda i, j: abs(i - j) <= radius and (j <= i or not causal)
    )
    assert torch.equal(window_mask(num_queries, num_keys, radius=radius, causal=causal), expected)


@given(num_keys=counts)
def test_leave_one_out_mask(num_keys):
    assert torch.equal(leave_one_out_mask(num_keys), table(num_keys, num_keys, lambda i, j: i != j))


@given(data=st.data(), num_keys=st.integers(1, 9))
def test_mask_from_lengths(data, num_keys):
    lengths = data.draw(st.lists(st.integers(0, num_keys), min_size=1, max_size=5))
    mask = mask_from_lengths(torch.tensor(lengths), num_keys)
    assert mask.shape == (len(lengths), 1, num_keys)
    assert torch.equal(mask[:, 0], table(len(lengths), num_keys, lambda b, j: j < lengths[b]))


@given(data=st.data(), num_keys=st.integers(1, 9))
def test_mask_from_query_lengths(data, num_keys):
    row = st.lists(st.integers(0, num_keys), min_size=3, max_size=3)
    lengths = data.draw(st.lists(row, min_size=1, max_size=4))
    mask = mask_from_query_lengths(torch.tensor(lengths), num_keys)
    assert mask.shape == (len(lengths), 3, num_keys)
    for b, of_queries in enumerate(lengths):
        assert torch.equal(mask[b], table(3, num_keys, lambda i, j, n=of_queries: j < n[i]))


def test_lengths_may_have_any_number_of_batch_axes():
    lengths = torch.tensor([[1, 2, 3], [4, 5, 0]])
    assert mask_from_lengths(lengths, 5).shape == (2, 3, 1, 5)
    assert mask_from_lengths(torch.tensor(2), 5).shape == (1, 5)
    assert torch.equal(mask_from_lengths(lengths, 5).sum((-2, -1)), lengths)


def test_counts_default_to_the_number_of_queries():
    assert torch.equal(causal_mask(5), causal_mask(5, 5))
    assert torch.equal(window_mask(5, radius=2), window_mask(5, 5, radius=2))


def test_the_offset_continues_a_causal_mask():
    assert torch.equal(causal_mask(2, 7, offset=5), causal_mask(7)[5:])


def test_masks_are_created_on_the_device_asked_for():
    made = [
        causal_mask(3, device="meta"),
        window_mask(3, radius=1, device="meta"),
        leave_one_out_mask(3, device="meta"),
    ]
    assert {mask.device.type for mask in made} == {"meta"}


@pytest.mark.parametrize("convert", [mask_from_lengths, mask_from_query_lengths])
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([[2, -1], [9, 1]], r"lengths: .* from 0 to num_keys=5, got lengths\[0, 1\] = -1"),
        ([[2, 5], [6, 9]], r"lengths: .* from 0 to num_keys=5, got lengths\[1, 0\] = 6"),
    ],
)
def test_impossible_lengths_name_the_first(convert, lengths, message):
    with pytest.raises(ValueError, match=message):
        convert(torch.tensor(lengths), 5)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("convert", [mask_from_lengths, mask_from_query_lengths])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_lengths_are_integers(convert, dtype):
    with pytest.raises(TypeError, match=f"lengths: expected integers, got {dtype}"):
        convert(torch.ones(2, 3, dtype=dtype), 5)


@pytest.mark.parametrize("make", [causal_mask, leave_one_out_mask])
def test_negative_counts_are_refused(make):
    with pytest.raises(ValueError, match="num_queries=-1"):
        make(-1)


def test_negative_radius_is_refused():
    with pytest.raises(ValueError, match="radius: expected 0 or more, got -2"):
        window_mask(4, radius=-2)


@pytest.mark.parametrize(
    "shape", [(3, 5), (1, 5), (3, 1), (1, 1), (2, 3, 5), (1, 1, 5), (2, 1, 1), (13, 1, 3, 5)]
)
def test_masks_that_broadcast_are_accepted(shape):
    check_mask(torch.ones(shape, dtype=torch.bool), 3, 5)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (3, 4), (2, 3, 4), (2, 2, 5)])
def test_masks_that_do_not_broadcast_are_refused(shape):
    with pytest.raises(ValueError, match=r"mask: expected .* got \(\d"):
        check_mask(torch.ones(shape, dtype=torch.bool), 3, 5)


@pytest.mark.parametrize("shape", [(13, 3, 5), (13, 1, 5), (2, 2, 3, 5)])
def test_the_batch_of_a_mask_is_checked_where_it_is_known(shape):
    mask = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"\(2, 3, 5\), got"):
        check_mask(mask, 3, 5, batch=(2,))
    check_mask(torch.ones(1, 3, 1, dtype=torch.bool), 3, 5, batch=(2,))
    check_mask(torch.ones(3, 5, dtype=torch.bool), 3, 5, batch=(13, 2))


def test_a_mask_must_be_where_the_scores_are():
    mask = torch.ones(3, 5, dtype=torch.bool, device="meta")
    check_mask(mask, 3, 5, device=torch.device("meta"))
    check_mask(mask, 3, 5)
    with pytest.raises(ValueError, match=r"mask: expected .* the device cpu, got one on meta"):
        check_mask(mask, 3, 5, device=torch.device("cpu"))


@pytest.mark.usefixtures("unchecked")
def test_lengths_are_a_tensor():
    with pytest.raises(TypeError, match="lengths: expected a tensor of integers, got list"):
        mask_from_lengths([1, 2], 5)


def test_a_float_is_never_a_mask():
    with pytest.raises(TypeError, match="float32; a float is a bias, never a mask"):
        check_mask(torch.ones(3, 5), 3, 5)


D_MODEL = 7


def bare_multihead() -> nn.MultiheadAttention:
    """Reduce torch's layer to its core: one head, identity projections."""
    layer = nn.MultiheadAttention(D_MODEL, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_MODEL).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_MODEL))
    return layer


@pytest.fixture
def tensors():
    return tuple(torch.randn(2, count, D_MODEL) for count in (3, 5, 5))


@pytest.fixture
def mask():
    """A random mask under which every query of every example sees the first key."""
    seen = torch.rand(3, 5) < 0.5
    seen[:, 0] = True
    return seen


def test_key_padding_masks_mean_what_torch_means(tensors):
    padding = torch.tensor([[False, False, True, True, True], [False, True, False, False, True]])
    expected, weights = bare_multihead()(*tensors, key_padding_mask=padding)
    converted = mask_from_key_padding(padding)
    torch.testing.assert_close(dot_product_attention(*tensors, converted), expected)
    assert torch.equal(weights > 0, converted.expand(2, 3, 5))


def test_ignore_masks_mean_what_torch_means(tensors, mask):
    expected, _ = bare_multihead()(*tensors, attn_mask=ignore_from_mask(mask))
    torch.testing.assert_close(dot_product_attention(*tensors, mask), expected)
    assert torch.equal(mask_from_ignore(ignore_from_mask(mask)), mask)


def test_additive_masks_mean_what_torch_means(tensors, mask):
    bias = additive_from_mask(mask)
    expected, _ = bare_multihead()(*tensors, attn_mask=bias)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), expected)
    fused = F.scaled_dot_product_attention(*tensors, attn_mask=bias)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), fused)
    assert torch.equal(mask_from_additive(bias), mask)


def test_our_masks_are_the_ones_of_the_fused_kernel(tensors, mask):
    fused = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    torch.testing.assert_close(dot_product_attention(*tensors, mask), fused)


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float32])
def test_ones_that_mark_padding(kind, mask):
    assert torch.equal(mask_from_ignore((~mask).to(kind)), mask)


def test_additive_masks_keep_their_type(dtype, mask):
    bias = additive_from_mask(mask, dtype)
    assert bias.dtype == dtype
    assert torch.equal(bias == 0, mask)
    assert torch.equal(bias == -math.inf, ~mask)
    assert torch.equal(mask_from_additive(bias), mask)


def test_large_negative_numbers_block_only_when_asked(mask):
    tutorial = (~mask).float() * -1e9
    assert torch.equal(mask_from_additive(tutorial, blocked=-1e9), mask)
    with pytest.raises(ValueError, match="a bias, not a mask"):
        mask_from_additive(tutorial)


@pytest.mark.parametrize("number", [-0.5, 1.0, math.nan, math.inf])
def test_a_bias_is_not_a_mask(number):
    bias = torch.tensor([[0.0, -math.inf], [number, 0.0]])
    with pytest.raises(ValueError, match=r"bias: .* a bias, not a mask.*, got bias\[1, 0\] = "):
        mask_from_additive(bias)


def test_blocked_must_be_negative():
    with pytest.raises(ValueError, match="blocked: expected a negative number, got 1"):
        mask_from_additive(torch.zeros(2, 2), blocked=1.0)


@pytest.mark.parametrize("number", [2.0, -1e9, -math.inf, math.nan])
def test_ignore_masks_hold_only_0_and_1(number):
    with pytest.raises(ValueError, match=r"ignore: expected only .* got ignore\[0, 1\]"):
        mask_from_ignore(torch.tensor([[0.0, number]]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("convert", [mask_from_key_padding, ignore_from_mask, additive_from_mask])
def test_boolean_masks_are_asked_for(convert):
    with pytest.raises(TypeError, match=r"mask: expected a boolean tensor .* got torch\.float32"):
        convert(torch.zeros(2, 5))


@pytest.mark.usefixtures("unchecked")
def test_additive_masks_are_floating_point():
    with pytest.raises(TypeError, match=r"bias: expected floating point tensors, got torch\.bool"):
        mask_from_additive(torch.ones(2, 2, dtype=torch.bool))


def test_the_originals_are_left_alone(mask):
    bias, ignore, original = additive_from_mask(mask), ignore_from_mask(mask), mask.clone()
    kept = bias.clone(), ignore.clone()
    mask_from_additive(bias)
    mask_from_ignore(ignore)
    mask_from_key_padding(ignore)
    assert torch.equal(bias, kept[0])
    assert torch.equal(ignore, kept[1])
    assert torch.equal(mask, original)


numbers_of = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int32": torch.int32,
    "int64": torch.int64,
    "half": torch.float16,
    "single": torch.float32,
}


@given(data=st.data(), batch=st.integers(1, 3), queries=st.integers(1, 4), keys=st.integers(1, 6))
def test_every_converter_is_what_a_loop_says(data, batch, queries, keys):
    """The kind: a polarity taken for its opposite; every type in which people write a mask."""
    cells = data.draw(st.lists(st.booleans(), min_size=batch * keys, max_size=batch * keys))
    ones = [cells[row * keys : (row + 1) * keys] for row in range(batch)]
    kind = numbers_of[data.draw(st.sampled_from(sorted(numbers_of)))]
    given_mask = torch.tensor(ones).to(kind)
    real = mask_from_attention_mask(given_mask)
    assert real.shape == (batch, 1, keys)
    assert real.dtype == torch.bool
    for row in range(batch):
        for key in range(keys):
            assert real[row, 0, key] == (ones[row][key] is True)
    if not given_mask.all():  # else everything would be ignored: refused where it is numbers
        ignored = mask_from_ignore(given_mask)
        assert ignored.tolist() == [[not cell for cell in row] for row in ones]
    if kind == torch.bool:
        assert mask_from_key_padding(given_mask).tolist() == [
            [[not cell for cell in row]] for row in ones
        ]
        assert ignore_from_mask(given_mask).tolist() == [[not cell for cell in row] for row in ones]
    float_kind = data.draw(st.sampled_from([torch.float16, torch.bfloat16, torch.float32]))
    low = data.draw(st.sampled_from([-math.inf, -1e4, -1e9, torch.finfo(float_kind).min]))
    low = max(low, torch.finfo(float_kind).min) if low != -math.inf else low
    added = torch.tensor([[0.0 if cell else low for cell in row] for row in ones]).to(float_kind)
    blocked = None if low in (-math.inf, torch.finfo(float_kind).min) else added.min().item() or low
    assert mask_from_additive(added, blocked=blocked).tolist() == ones
    assert (additive_from_mask(torch.tensor(ones)) == 0).tolist() == ones
    lengths = data.draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
    for row, mask in zip(lengths, mask_from_lengths(torch.tensor(lengths), keys), strict=True):
        assert mask.tolist() == [[key < row for key in range(keys)]]
    first = data.draw(st.integers(-keys, keys))
    past = causal_mask(queries, keys, offset=first)
    for query in range(queries):
        for key in range(keys):
            assert past[query, key] == (key <= query + first)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_lowest_number_of_a_type_blocks(kind, mask):
    """Hugging Face fills with it; from a narrower type it is an ordinary number, and named."""
    lowest = torch.finfo(kind).min
    assert torch.equal(mask_from_additive((~mask).to(kind) * lowest), mask)
    with pytest.raises(ValueError, match="a bias, not a mask"):
        mask_from_additive((~mask).to(kind) * (lowest * 0.75))


@pytest.mark.parametrize("number", [2, -1, 0.5, -math.inf, math.nan])
def test_a_tokenizers_mask_holds_only_0_and_1(number):
    with pytest.raises(ValueError, match=r"attention_mask: expected only .* got attention_mask\[0"):
        mask_from_attention_mask(torch.tensor([[0, number]]))


@pytest.mark.parametrize(
    ("numbers", "advice"),
    [
        ([-1e9, 0.0], "blocked=-1000000000.0"),
        ([-10000.0, -20000.0], "blocked=-10000.0"),
        ([-1e9, -0.5], "goes to a call as bias="),
        ([1.0, 0.0], r"bias\.bool\(\)"),
    ],
)
def test_a_refused_bias_says_what_it_may_be(numbers, advice):
    with pytest.raises(ValueError, match=f"bias: .* a bias, not a mask.*{advice}"):
        mask_from_additive(torch.tensor([numbers, [0.0, 0.0]]))
