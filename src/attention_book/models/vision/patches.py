"""Patches: an image as a sequence of small squares."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention import sinusoids
from attention_book.foundations.checks import check_sizes

Images = Float[Tensor, "*batch height width"]
Patches = Float[Tensor, "*batch patch pixel"]


def patches(images: Images, size: int) -> Patches:
    """Cut images into squares of ``size`` by ``size`` pixels, and each square into a row.

    The squares come row by row as one reads, and so do the pixels in each.

    Raises:
        ValueError: if the squares don't fill the image.

    >>> patches(torch.arange(16.0).view(4, 4), 2)
    tensor([[ 0.,  1.,  4.,  5.],
            [ 2.,  3.,  6.,  7.],
            [ 8.,  9., 12., 13.],
            [10., 11., 14., 15.]])
    """
    *batch, height, width = images.shape
    check_sizes(size=size)
    if height % size or width % size:
        wanted = f"a height and a width divisible by size={size}"
        raise ValueError(f"images: expected {wanted}, got {height} by {width}")
    # (row of patches, row in patch, column of patches, column in patch)
    squares = images.reshape(*batch, height // size, size, width // size, size)
    return squares.transpose(-3, -2).flatten(-4, -3).flatten(-2, -1)


def from_patches(patches: Patches, *, width: int) -> Images:
    """Put patches together again: the inverse of :func:`patches`.

    Args:
        patches: The squares, row by row.
        width: Width of the image in pixels.

    Raises:
        ValueError: if the patches are no squares, or don't fill an image of this width.

    >>> image = torch.rand(8, 6)
    >>> torch.equal(from_patches(patches(image, 2), width=6), image)
    True
    """
    *batch, count, pixels = patches.shape
    size = round(pixels**0.5)
    if size * size != pixels:
        raise ValueError(f"patches: expected a square number of pixels in each, got {pixels}")
    columns = width // size
    if width % size or columns < 1 or count % columns:
        raise ValueError(
            f"width: expected one that {count} patches of {size} by {size} pixels fill, got {width}"
        )
    squares = patches.reshape(*batch, count // columns, columns, size, size)
    return squares.transpose(-3, -2).flatten(-4, -3).flatten(-2, -1)


def grid_sinusoids(num_rows: int, num_columns: int, d_model: int) -> Float[Tensor, "patch d_model"]:
    """Return the positions of patches in two dimensions, row by row.

    The first half of the features are the :func:`~attention_book.attention.sinusoids` of
    the patch's row, the others those of its column: the dot product of two patches
    depends on how far they are apart down and across.

    Args:
        num_rows: Rows of patches.
        num_columns: Columns of patches.
        d_model: Number of features.

    >>> grid = grid_sinusoids(2, 3, 8)
    >>> grid.shape
    torch.Size([6, 8])
    >>> torch.equal(grid[0, 4:], grid[3, 4:])  # above each other: the same column
    True
    """
    check_sizes(num_rows=num_rows, num_columns=num_columns, d_model=d_model)
    half = d_model // 2
    row, column = sinusoids(num_rows, half), sinusoids(num_columns, d_model - half)
    return torch.cat(
        [row.repeat_interleave(num_columns, dim=0), column.repeat(num_rows, 1)], dim=-1
    )
