"""The small CNN: local by construction, and as large as the formula says."""

import pytest
import torch

from attention_book.course.models import SmallCNN
from attention_book.models import VisionTransformer, VisionTransformerConfig


@pytest.fixture
def model():
    torch.manual_seed(3)
    return SmallCNN(channels=3, image_size=12, num_classes=7).double()


def test_a_pixel_moves_its_neighbors_only(model):
    images = torch.rand(2, 12, 12, dtype=torch.float64)
    other = images.clone()
    other[:, 0, 0] += 1
    moved = (model.layers(other[:, None]) - model.layers(images[:, None])).abs().amax(dim=(0, 1))
    # Two convolutions reach 2 pixels: cell (0, 0), (0, 1), … after halving; the third one more.
    assert moved[0, 0] > 0
    assert moved[2].max() == moved[:, 2].max() == 0


def test_the_same_filters_everywhere(model):
    images = torch.zeros(1, 12, 12, dtype=torch.float64)
    images[:, 3:6, 3:6] = torch.rand(3, 3)
    moved = images.roll((1, 1), dims=(-2, -1))
    first, later = model.layers[:4](images[:, None]), model.layers[:4](moved[:, None])
    torch.testing.assert_close(later[..., 2:-1, 2:-1], first[..., 1:-2, 1:-2])


def test_the_number_of_parameters(model):
    c = 3
    expected = (9 * c + c) + (9 * c * 2 * c + 2 * c) + (9 * 4 * c * c + 2 * c) + (7 * 2 * c * 9 + 7)
    assert sum(p.numel() for p in model.parameters()) == expected


def test_it_is_as_large_as_the_transformer_of_the_chapter():
    config = VisionTransformerConfig(d_model=48, num_heads=8, d_ff=96, num_layers=2)
    sizes = [
        sum(p.numel() for p in model.parameters())
        for model in (VisionTransformer(config), SmallCNN(channels=26))
    ]
    assert abs(sizes[1] / sizes[0] - 1) < 0.02


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="channels: expected at least 1, got 0"):
        SmallCNN(channels=0)
    with pytest.raises(ValueError, match="image_size: expected a multiple of 4, got 6"):
        SmallCNN(channels=2, image_size=6)
