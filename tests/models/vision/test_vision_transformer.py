"""The Vision Transformer: a set of patches without positions, and one token that answers."""

import re

import pytest
import torch
from torch import nn

from attention_book.models import (
    VisionTransformer,
    VisionTransformerConfig,
    from_patches,
    patches,
    visible_tokens,
)


def make(**settings):
    torch.manual_seed(3)
    sizes = {"d_model": 20, "num_heads": 2, "d_ff": 13, "image_size": 6, "num_classes": 7}
    return VisionTransformer(VisionTransformerConfig(**(sizes | settings))).double().eval()


@pytest.fixture
def images():
    return torch.randn(5, 6, 6, dtype=torch.float64)


@pytest.fixture
def order():
    return torch.randperm(9)


def scrambled(images, order):
    return from_patches(patches(images, 2)[:, order], width=6)


def test_it_is_the_formula(images):
    model = make()
    squares = nn.functional.unfold(images[:, None], kernel_size=2, stride=2).mT
    embedded = squares @ model.embedding.weight.T + model.embedding.bias
    z = torch.cat([model.class_token.expand(5, 1, 20), embedded], dim=1)
    z = z + model.encoder.positions.table
    for layer in model.encoder.layers:
        z = layer(z)
    z = nn.functional.layer_norm(z, (20,))
    torch.testing.assert_close(model(images), model.classifier(z[:, 0]))


def test_without_positions_the_order_of_the_patches_is_nothing(images, order):
    model = make(positions="none")
    torch.testing.assert_close(model(scrambled(images, order)), model(images))


@pytest.mark.parametrize(
    "settings",
    [{"positions": kind} for kind in ("learned", "sinusoidal", "relative", "rotary", "alibi")]
    + [{"positions": "none", "grid": True}],
    ids=str,
)
def test_with_positions_it_matters(settings, images, order):
    model = make(**settings)
    assert (model(scrambled(images, order)) - model(images)).abs().max() > 1e-3


def test_patches_that_take_their_positions_along_may_be_scrambled(images, order):
    model, other = make(), make()
    with torch.no_grad():
        other.encoder.positions.table[1:] = model.encoder.positions.table[1:][order]
    torch.testing.assert_close(other(scrambled(images, order)), model(images))


def test_the_grid_is_added_to_the_patches_and_not_to_the_class_token(images):
    plain, grid = make(positions="none"), make(positions="none", grid=True)
    added = grid.tokens(images) - plain.tokens(images)
    assert added[:, 0].abs().max() == 0
    torch.testing.assert_close(added[2, 1:], grid.grid)
    assert "grid" in grid.state_dict()
    assert "grid" not in plain.state_dict()


def test_a_hidden_patch_moves_nothing(images):
    model, visible = make(), torch.ones(5, 9, dtype=torch.bool)
    visible[:, 4] = False
    other = images.clone()
    other[:, 2:4, 2:4] += 1  # the patch in the middle
    torch.testing.assert_close(model(other, visible), model(images, visible))
    assert (model(other) - model(images)).abs().amax(dim=1).min() > 1e-3
    assert (model(images, visible) - model(images)).abs().amax(dim=1).min() > 1e-3


def test_what_is_hidden_may_differ_from_image_to_image(images):
    model, visible = make(), torch.rand(5, 9) > 0.4
    together = model(images, visible)
    for i in range(5):
        torch.testing.assert_close(model(images[i : i + 1], visible[i : i + 1])[0], together[i])
    everything, nothing = torch.ones_like(visible), torch.zeros_like(visible)
    assert visible_tokens(everything).all()
    torch.testing.assert_close(model(images, everything), model(images))
    logits = model(images, nothing)
    torch.testing.assert_close(logits, logits[:1].expand(5, 7))
    assert logits.isfinite().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"patch_size": 4}, "patch_size: expected a divisor of image_size=6, got 4"),
        ({"image_size": 0}, "image_size: expected at least 1, got 0"),
        ({"patch_size": 0}, "patch_size: expected at least 1, got 0"),
        ({"num_classes": 0}, "num_classes: expected at least 1, got 0"),
        ({"num_heads": 3}, "num_heads"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(2, 6, 8), (2, 8, 6), (6, 6), (2, 1, 6, 6), (6,), ()], ids=str)
def test_images_of_another_shape_are_named(shape):
    expected = (
        r"images: expected the axes \(image, height, width\) with 6 by 6 pixels, got the shape "
    )
    with pytest.raises(ValueError, match=expected + re.escape(str(shape))):
        make()(torch.zeros(shape, dtype=torch.float64))
