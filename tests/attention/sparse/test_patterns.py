"""Sparse patterns, and what is seen through layers of them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.attention import (
    SelfAttention,
    block_mask,
    causal_mask,
    density,
    dilated_mask,
    global_mask,
    random_mask,
    reach,
    strided_mask,
    window_mask,
)
from attention_book.inspection import information_flow, jacobian_norms, path_length

lengths = st.integers(1, 23)
sizes = st.integers(1, 25)
layers = st.integers(0, 6)


def pairs(length, sees):
    """A mask from its rule, pair by pair: slow, and hard to get wrong."""
    return torch.tensor([[sees(i, j) for j in range(length)] for i in range(length)])


def walk(masks, length):
    """Walk backwards from each output, layer by layer: the oracle of reach."""
    rows = []
    for output in range(length):
        known = {output}
        for mask in reversed(masks):
            known |= {j for i in known for j in range(length) if mask[i, j]}
        rows.append([j in known for j in range(length)])
    return torch.tensor(rows)


# --- patterns --------------------------------------------------------------------------------


@given(length=lengths, stride=sizes)
def test_a_stride_is_its_rule(length, stride):
    expected = pairs(length, lambda i, j: (i - j) % stride == 0)
    assert torch.equal(strided_mask(length, stride=stride), expected)


@given(length=lengths, radius=st.integers(0, 9), dilation=st.integers(1, 7))
def test_a_dilated_window_is_its_rule(length, radius, dilation):
    expected = pairs(
        length, lambda i, j: any(abs(i - j) == step * dilation for step in range(radius + 1))
    )
    mask = dilated_mask(length, radius=radius, dilation=dilation)
    assert torch.equal(mask, expected)
    if dilation == 1:
        assert torch.equal(mask, window_mask(length, radius=radius))


@given(length=lengths, block_size=sizes)
def test_a_block_is_its_rule(length, block_size):
    expected = pairs(length, lambda i, j: i // block_size == j // block_size)
    assert torch.equal(block_mask(length, block_size=block_size), expected)


@given(length=lengths, data=st.data())
def test_global_positions_see_all_and_are_seen_by_all(length, data):
    positions = data.draw(st.lists(st.integers(-length, length - 1)))
    chosen = {position % length for position in positions}
    expected = pairs(length, lambda i, j: i in chosen or j in chosen)
    assert torch.equal(global_mask(length, positions=positions), expected)


@given(length=lengths, data=st.data(), seed=st.integers(0, 99))
def test_a_random_pattern_gives_each_query_so_many_keys(length, data, seed):
    num_keys = data.draw(st.integers(0, length))
    draws = [
        random_mask(length, num_keys=num_keys, generator=torch.Generator().manual_seed(seed))
        for _ in range(2)
    ]
    assert torch.equal(*draws)
    assert (draws[0].sum(dim=1) == num_keys).all()


def test_random_keys_are_drawn_evenly():
    generator = torch.Generator().manual_seed(0)
    masks = torch.stack([random_mask(7, num_keys=3, generator=generator) for _ in range(2000)])
    # A share of 3/7 in 2000 draws has a standard deviation of 0.011.
    assert (masks.float().mean(dim=0) - 3 / 7).abs().max() < 5 * 0.011


def test_without_a_generator_the_global_one_draws():
    masks = []
    for seed in (1, 1, 2):
        set_seed(seed)
        masks.append(random_mask(13, num_keys=5))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])


# --- density ---------------------------------------------------------------------------------


@given(length=lengths, radius=st.integers(0, 25))
def test_the_density_of_a_window_is_counted(length, radius):
    visible = sum(min(i, radius) + min(length - 1 - i, radius) + 1 for i in range(length))
    mask = window_mask(length, radius=radius)
    assert density(mask) == pytest.approx(visible / length**2)
    causal = sum(min(i, radius) + 1 for i in range(length))
    share = causal / (length * (length + 1) / 2)
    assert density(mask, among=causal_mask(length)) == pytest.approx(share)


def test_density_counts_masks_that_broadcast():
    some = torch.tensor([[[True, False, True, True]], [[True, True, False, False]]])
    whole = density(some.expand(2, 4, 4), among=causal_mask(4).expand(2, 4, 4))
    assert density(some, among=causal_mask(4)) == whole
    assert density(causal_mask(4), among=torch.ones(2, 4, 4, dtype=torch.bool)) == 10 / 16


# --- reach -----------------------------------------------------------------------------------


@given(length=lengths, num_layers=layers, data=st.data())
def test_reach_is_a_walk_through_the_layers(length, num_layers, data):
    count = data.draw(st.integers(1, 3))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    masks = [
        random_mask(length, num_keys=min(2, length), generator=generator) for _ in range(count)
    ]
    walked = [masks[layer % count] for layer in range(num_layers)]
    assert torch.equal(reach(masks, num_layers), walk(walked, length))


@pytest.mark.parametrize(("num_layers", "residual"), [(1, 0.0), (2, 0.0), (3, 1.0)])
def test_reach_is_what_moves_in_real_layers(num_layers, residual):
    """Even without a residual connection, for what a position knows is also what it asks."""
    set_seed(0)
    mask = dilated_mask(13, radius=1, dilation=3) | global_mask(13, positions=[0, 6])
    mask = mask & ~torch.eye(13).bool()
    stack = [SelfAttention(d_model=7).double() for _ in range(num_layers)]

    def run(x):
        for layer in stack:
            x = layer(x, mask) + residual * x
        return x

    x = torch.randn(1, 13, 7).double()
    assert (mask.sum(dim=1) > 1).all()  # who sees a single key takes it whatever it asks
    assert torch.equal(jacobian_norms(run, x) > 0, reach(mask, num_layers))
    assert torch.equal(information_flow(run, x), reach(mask, num_layers))


def test_reach_counts_the_layers_of_path_length():
    mask = window_mask(11, radius=2)
    layer = SelfAttention(d_model=5).double()
    layers = path_length(lambda x: x + layer(x, mask), torch.randn(1, 11, 5).double())
    assert layers == math.ceil(10 / 2)
    assert reach(mask, layers).all()
    assert not reach(mask, layers - 1).all()


FLOAT = torch.ones(3, 3)

# --- errors ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: strided_mask(5, stride=0), ValueError, "stride: expected at least 1, got 0"),
        (lambda: strided_mask(0, stride=1), ValueError, "num_positions: expected at least 1"),
        (lambda: dilated_mask(5, radius=-1, dilation=1), ValueError, "radius: .* or more, got -1"),
        (lambda: dilated_mask(5, radius=1, dilation=0), ValueError, "dilation: expected at least"),
        (lambda: block_mask(5, block_size=0), ValueError, "block_size: expected at least 1, got 0"),
        (lambda: global_mask(5, positions=[5]), ValueError, "positions: .* among 5, got 5"),
        (lambda: global_mask(5, positions=[-6]), ValueError, "got -6"),
        (lambda: global_mask(5, positions=0), TypeError, r"a list such as \[0\], got 0"),
        (lambda: random_mask(5, num_keys=6), ValueError, "num_keys: .* from 0 to 5, got 6"),
        (lambda: density(FLOAT), TypeError, "mask: expected a boolean tensor"),
        (lambda: density(causal_mask(3), among=FLOAT), TypeError, "among: expected a boolean"),
        (lambda: density(causal_mask(3), among=FLOAT > 1), ValueError, "among: .* one pair"),
        (lambda: reach(FLOAT, 1), TypeError, "mask: expected a boolean tensor"),
        (lambda: reach(causal_mask(3, 4), 1), ValueError, "mask: expected square masks of one"),
        (lambda: reach([causal_mask(3), causal_mask(4)], 1), ValueError, "square masks of one"),
        (lambda: reach([], 1), ValueError, "square masks of one size"),
        (lambda: reach(causal_mask(3), -1), ValueError, "num_layers: expected 0 or more, got -1"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
