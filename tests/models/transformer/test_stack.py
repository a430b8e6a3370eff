"""A stack of layers: its own sum of parts, and blind where the mask says so."""

import pytest
import torch

from attention_book.models import LayerConfig, LayerStack
from attention_book.models.transformer.layer_config import POSITION_KINDS


def make(**settings):
    torch.manual_seed(3)
    return LayerStack(LayerConfig(d_model=20, num_heads=2, num_layers=3, **settings)).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_is_positions_then_layers_then_norm(norm):
    stack, x = make(norm=norm), torch.randn(2, 7, 20)
    expected = stack.positions(x)
    for layer in stack.layers:
        expected = layer(expected)
    if norm == "pre":
        expected = torch.nn.functional.layer_norm(expected, (20,))
    torch.testing.assert_close(stack(x), expected)


@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_with_a_causal_mask_a_later_vector_moves_nothing_before_it(positions):
    stack, x = make(positions=positions), torch.randn(2, 7, 20)
    other = x.clone()
    other[:, 4] += 1
    before, after = stack(x, is_causal=True), stack(other, is_causal=True)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert (before[:, 4:] - after[:, 4:]).abs().amax(dim=(0, 2)).min() > 1e-3


def test_in_training_the_positions_are_dropped_with_the_vectors():
    """Dropout is applied to the sum (Vaswani et al. 2017, section 5.4)."""
    stack, nothing = make(dropout=0.5).train(), torch.zeros(2, 50, 20)
    placed, doubled = stack.place(nothing), 2 * stack.positions(nothing)
    kept = placed != 0
    torch.testing.assert_close(placed[kept], doubled[kept])
    assert 0.4 < kept.float().mean() < 0.6


def test_all_layers_share_the_positions():
    stack = make(positions="relative")
    assert all(layer.self_attention.positions is stack.positions for layer in stack.layers)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_steps_are_the_rows_of_a_call_with_the_causal_mask(positions, norm):
    stack, x = make(positions=positions, norm=norm), torch.randn(2, 7, 20)
    cache, rows = stack.new_cache(2), []
    for place, piece in enumerate(x.split([1, 1, 3, 2], dim=1)):
        before = cache.fork()
        rows.append(stack(piece, cache=cache))
        assert torch.equal(stack(piece, cache=before), rows[-1])
        assert cache.position == [1, 2, 5, 7][place]
    torch.testing.assert_close(torch.cat(rows, dim=1), stack(x, is_causal=True))
