"""Masks from positions and lengths say exactly what their definitions say."""

import math
from functools import partial

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


@pytest.mark.differential
@given(num_queries=counts, num_keys=counts, radius=counts, causal=st.booleans())
def test_window_mask(num_queries, num_keys, radius, causal):
    expected = table(
        num_queries, num_keys, lambda i, j: abs(i - j) <= radius and (j <= i or not causal)
    )
    assert torch.equal(window_mask(num_queries, num_keys, radius=radius, causal=causal), expected)


@pytest.mark.differential
@given(num_keys=counts)
def test_leave_one_out_mask(num_keys):
    assert torch.equal(leave_one_out_mask(num_keys), table(num_keys, num_keys, lambda i, j: i != j))


@pytest.mark.differential
@given(data=st.data(), num_keys=st.integers(1, 9))
def test_mask_from_query_lengths(data, num_keys):
    row = st.lists(st.integers(0, num_keys), min_size=3, max_size=3)
    lengths = data.draw(st.lists(row, min_size=1, max_size=4))
    mask = mask_from_query_lengths(torch.tensor(lengths), num_keys)
    assert mask.shape == (len(lengths), 3, num_keys)
    for b, of_queries in enumerate(lengths):
        assert torch.equal(mask[b], table(3, num_keys, lambda i, j, n=of_queries: j < n[i]))
    # One axis more for the batch: the lengths are those of the keys, for each pair of examples.
    assert torch.equal(mask_from_lengths(torch.tensor(lengths), num_keys), mask[..., None, :])
    assert mask_from_lengths(torch.tensor(num_keys), num_keys).shape == (1, num_keys)


def test_masks_are_created_on_the_device_asked_for():
    for make in (causal_mask, partial(window_mask, radius=1), leave_one_out_mask):
        assert make(3, device="meta").device.type == "meta"


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
    with pytest.raises(TypeError, match="lengths: expected a tensor of integers, got list"):
        mask_from_lengths([1, 2], 5)


def test_negative_counts_and_radii_are_refused():
    for make in (causal_mask, leave_one_out_mask):
        with pytest.raises(ValueError, match="num_queries=-1"):
            make(-1)
    with pytest.raises(ValueError, match="radius: expected 0 or more, got -2"):
        window_mask(4, radius=-2)


def test_masks_broadcast_or_are_refused():
    for shape in ((3, 5), (1, 5), (3, 1), (1, 1), (2, 3, 5), (2, 1, 1), (13, 1, 3, 5)):
        check_mask(torch.ones(shape, dtype=torch.bool), 3, 5)
    for shape in ((5,), (5, 3), (3, 4), (2, 3, 4), (2, 2, 5)):
        with pytest.raises(ValueError, match=r"mask: expected .* got \(\d"):
            check_mask(torch.ones(shape, dtype=torch.bool), 3, 5)
    for shape in ((13, 3, 5), (13, 1, 5), (2, 2, 3, 5)):  # the batch, where it is known
        with pytest.raises(ValueError, match=r"\(2, 3, 5\), got"):
            check_mask(torch.ones(shape, dtype=torch.bool), 3, 5, batch=(2,))
    check_mask(torch.ones(1, 3, 1, dtype=torch.bool), 3, 5, batch=(2,))
    check_mask(torch.ones(3, 5, dtype=torch.bool), 3, 5, batch=(13, 2))


def test_a_mask_must_be_where_the_scores_are():
    mask = torch.ones(3, 5, dtype=torch.bool, device="meta")
    check_mask(mask, 3, 5, device=torch.device("meta"))
    check_mask(mask, 3, 5)
    with pytest.raises(ValueError, match=r"mask: expected .* the device cpu, got one on meta"):
        check_mask(mask, 3, 5, device=torch.device("cpu"))


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


@pytest.mark.parametrize("number", [-0.5, 1.0, math.nan, math.inf])
def test_a_bias_is_not_a_mask(number):
    bias = torch.tensor([[0.0, -math.inf], [number, 0.0]])
    with pytest.raises(ValueError, match=r"bias: .* a bias, not a mask.*, got bias\[1, 0\] = "):
        mask_from_additive(bias)


def test_blocked_must_be_negative():
    with pytest.raises(ValueError, match="blocked: expected a negative number, got 1"):
        mask_from_additive(torch.zeros(2, 2), blocked=1.0)


@pytest.mark.parametrize("number", [2.0, -1.0, 0.5, -1e9, -math.inf, math.nan])
def test_masks_of_numbers_hold_only_0_and_1(number):
    for name, convert in (
        ("ignore", mask_from_ignore),
        ("attention_mask", mask_from_attention_mask),
    ):
        with pytest.raises(ValueError, match=rf"{name}: expected only .* got {name}\[0, 1\]"):
            convert(torch.tensor([[0.0, number]]))


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
    given = mask, additive_from_mask(mask), ignore_from_mask(mask)
    kept = [each.clone() for each in given]
    mask_from_additive(given[1])
    mask_from_ignore(given[2])
    mask_from_key_padding(given[2])
    assert all(map(torch.equal, given, kept))


#: Every type in which people write a mask.
TYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
]
WIDTHS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.differential
@given(data=st.data(), batch=st.integers(1, 3), queries=st.integers(1, 4), keys=st.integers(1, 6))
def test_every_converter_is_what_a_loop_says(data, batch, queries, keys):
    """The kind: a polarity taken for its opposite; every type in which people write a mask."""
    cells = data.draw(st.lists(st.booleans(), min_size=batch * keys, max_size=batch * keys))
    ones = [cells[row * keys : (row + 1) * keys] for row in range(batch)]
    kind = data.draw(st.sampled_from(TYPES))
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
    float_kind = data.draw(st.sampled_from(WIDTHS))
    low = data.draw(st.sampled_from([-math.inf, -1e4, -1e9, torch.finfo(float_kind).min]))
    low = max(low, torch.finfo(float_kind).min) if low != -math.inf else low
    added = torch.tensor([[0.0 if cell else low for cell in row] for row in ones]).to(float_kind)
    blocked = None if low in (-math.inf, torch.finfo(float_kind).min) else added.min().item() or low
    assert mask_from_additive(added, blocked=blocked).tolist() == ones
    made = additive_from_mask(torch.tensor(ones), float_kind)
    assert made.dtype == float_kind
    assert torch.equal(made, torch.where(torch.tensor(ones), 0.0, -math.inf).to(float_kind))
    lengths = data.draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
    for row, mask in zip(lengths, mask_from_lengths(torch.tensor(lengths), keys), strict=True):
        assert mask.tolist() == [[key < row for key in range(keys)]]
    first = data.draw(st.integers(-keys, keys))
    past = causal_mask(queries, keys, offset=first)
    for query in range(queries):
        for key in range(keys):
            assert past[query, key] == (key <= query + first)


@pytest.mark.differential
@given(
    length=st.integers(1, 70),
    padding=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    side=st.sampled_from(["left", "right"]),
    window=st.none() | st.integers(1, 80),
    kind=st.sampled_from(WIDTHS),
)
def test_what_the_library_makes_of_padding_is_what_ours_says(length, padding, side, window, kind):
    """Its masks of numbers and of booleans, causal or not, with and without windows."""
    library = pytest.importorskip("transformers.masking_utils")
    settings = pytest.importorskip("transformers.models.mistral.configuration_mistral")
    sizes = {"hidden_size": 4, "num_attention_heads": 1, "num_hidden_layers": 1}
    config = settings.MistralConfig(**sizes, sliding_window=window)
    gaps = (torch.tensor(padding, dtype=torch.float64)[:, None] * length).long()
    place = torch.arange(length)
    real = (place >= gaps if side == "left" else place < length - gaps).long()
    near = "" if window is None else "sliding_window_"
    causal = getattr(library, f"create_{near}causal_mask")
    whole = getattr(library, f"create_bidirectional_{near}mask")
    for kernel, convert in (("eager", mask_from_additive), ("sdpa", torch.Tensor.bool)):
        config._attn_implementation = kernel
        embedded = torch.zeros(len(padding), length, 4, dtype=kind)
        past = causal(config, embedded, real, None, allow_is_causal_skip=False)
        both = whole(config, embedded, real, allow_is_bidirectional_skip=False)
        ours = mask_from_attention_mask(real)
        seen = ours & (
            causal_mask(length)
            if window is None
            else window_mask(length, radius=window - 1, causal=True)
        )
        assert torch.equal(convert(past)[:, 0], seen)
        # To both sides the library's window counts the neighbors alone.
        near = ours if window is None else ours & window_mask(length, radius=window)
        assert torch.equal(convert(both)[:, 0].expand(-1, length, -1), near.expand(-1, length, -1))


@pytest.mark.differential
@given(
    queries=st.integers(1, 9),
    keys=st.integers(1, 70),
    batch=st.integers(1, 3),
    seed=st.integers(0, 9999),
    kind=st.sampled_from([torch.float32, torch.float64]),
)
def test_every_converted_mask_lets_torchs_attention_see_the_same(queries, keys, batch, seed, kind):
    """One mask in the four ways in which torch's modules take it, and ours."""
    draws = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(batch, n, D_MODEL, generator=draws, dtype=kind) for n in (queries, keys))
    padding = torch.rand(batch, keys, generator=draws) < 0.3
    seen = torch.rand(queries, keys, generator=draws) < 0.7
    first = torch.randint(keys, (), generator=draws)
    padding[:, first], seen[:, first] = False, True  # of nothing torch makes NaN
    mask = mask_from_key_padding(padding) & seen
    expected = dot_product_attention(q, k, k, mask)
    layer = bare_multihead().to(kind)
    for hidden, unseen in (
        (padding, ignore_from_mask(seen)),
        (additive_from_mask(~padding, kind), additive_from_mask(seen, kind)),
        (None, ignore_from_mask(mask)),
        (None, additive_from_mask(mask, kind)),
    ):
        found, _ = layer(q, k, k, key_padding_mask=hidden, attn_mask=unseen)
        torch.testing.assert_close(found, expected)
        assert hidden is None or torch.equal(_back(hidden), ~padding)
        assert torch.equal(_back(unseen), seen if hidden is not None else mask)


def _back(mask: torch.Tensor) -> torch.Tensor:
    return mask_from_ignore(mask) if mask.dtype == torch.bool else mask_from_additive(mask)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_lowest_number_of_a_type_blocks(kind, mask):
    """Hugging Face fills with it; from a narrower type it is an ordinary number, and named."""
    lowest = torch.finfo(kind).min
    assert torch.equal(mask_from_additive((~mask).to(kind) * lowest), mask)
    with pytest.raises(ValueError, match="a bias, not a mask"):
        mask_from_additive((~mask).to(kind) * (lowest * 0.75))


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
