"""Patches: what torch's unfold cuts, put together again, and where they stand."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attention_book.attention import sinusoids
from attention_book.models import from_patches, grid_sinusoids, patches

sizes = st.integers(1, 4)


@given(batch=st.integers(1, 3), rows=sizes, columns=sizes, size=sizes)
def test_patches_are_what_unfold_cuts(batch, rows, columns, size):
    images = torch.randn(batch, rows * size, columns * size)
    expected = F.unfold(images[:, None], kernel_size=size, stride=size).mT
    assert torch.equal(patches(images, size), expected)


@given(batch=st.lists(st.integers(1, 3), max_size=2), rows=sizes, columns=sizes, size=sizes)
def test_put_together_they_are_the_image(batch, rows, columns, size):
    images = torch.randn(*batch, rows * size, columns * size)
    assert torch.equal(from_patches(patches(images, size), width=columns * size), images)


def test_a_pixel_is_in_one_patch_and_moves_no_other():
    image = torch.zeros(6, 9)
    image[4, 2] = 1.0  # second row of patches, first column; second row in it, third column
    found = patches(image, 3)
    assert found.shape == (6, 9)
    assert found.nonzero().tolist() == [[3, 5]]


def test_grid_positions_are_those_of_the_row_beside_those_of_the_column():
    grid = grid_sinusoids(3, 5, 14).view(3, 5, 14)
    for row in range(3):
        for column in range(5):
            expected = torch.cat([sinusoids(3, 7)[row], sinusoids(5, 7)[column]])
            assert torch.equal(grid[row, column], expected)


def test_likeness_in_the_grid_depends_on_the_distance_down_and_across():
    grid = grid_sinusoids(4, 4, 16).view(4, 4, 16)
    likeness = torch.einsum("abd,xyd->abxy", grid, grid)
    torch.testing.assert_close(likeness[0, 1, 2, 2], likeness[1, 2, 3, 3])
    torch.testing.assert_close(likeness[0, 1, 2, 2], likeness[3, 3, 1, 2])
    assert (likeness[0, 0, 1, 0] - likeness[0, 0, 0, 2]).abs() > 0.1


@pytest.mark.parametrize(("shape", "size"), [((6, 8), 4), ((8, 6), 4), ((8, 8), 3)])
def test_patches_that_do_not_fill_the_image_are_named(shape, size):
    with pytest.raises(ValueError, match=f"divisible by size={size}, got {shape[0]} by {shape[1]}"):
        patches(torch.zeros(shape), size)


def test_other_mistakes_are_named():
    with pytest.raises(ValueError, match="size: expected at least 1, got 0"):
        patches(torch.zeros(4, 4), 0)
    with pytest.raises(ValueError, match="a square number of pixels in each, got 6"):
        from_patches(torch.zeros(4, 6), width=4)
    for width in (3, 10, 0):
        with pytest.raises(ValueError, match=f"that 6 patches of 2 by 2 pixels fill, got {width}"):
            from_patches(torch.zeros(6, 4), width=width)
    with pytest.raises(ValueError, match="num_rows: expected at least 1, got 0"):
        grid_sinusoids(0, 3, 8)
