"""The same numbers in another order, in a list of their own: cat, repeat, flip, tril ..."""

import math

from ._broadcast import expand, sizes_of, wrap_dim
from ._dtypes import bool_, int64, promote_types
from ._graph import record
from ._tensor import Tensor, collect, flat, new
from ._views import diagonal, split, transpose, unsqueeze


def cat(tensors, dim=0):
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    for place, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(each).__name__}"
            )
        if each.dim() == 0:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {place}) cannot be concatenated"
            )
    dtype = tensors[0].dtype
    for each in tensors[1:]:
        dtype = promote_types(dtype, each.dtype)
    parts = [each.to(dtype) for each in tensors if tuple(each.shape) != (0,)]
    if not parts:
        return new([], (0,), dtype)
    dim = wrap_dim(dim, parts[0].dim())
    first = parts[0]
    for place, each in enumerate(parts):
        if each.dim() != first.dim():
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.dim()} and {each.dim()}"
            )
        for axis in range(first.dim()):
            if axis != dim and each.shape[axis] != first.shape[axis]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size"
                    f" {first.shape[axis]} but got size {each.shape[axis]} for tensor number"
                    f" {place}"
                    " in the list."
                )
    inner = math.prod(first.shape[dim + 1 :])
    outer = math.prod(first.shape[:dim])
    runs = [(flat(each), each.shape[dim] * inner) for each in parts]
    numbers = []
    for o in range(outer):
        for values, run in runs:
            numbers.extend(values[o * run : (o + 1) * run])
    sections = [each.shape[dim] for each in parts]
    shape = list(first.shape)
    shape[dim] = sum(sections)
    made = new(numbers, shape, dtype)
    return record(made, "CatBackward0", parts, lambda g: split(g, sections, dim))


concat = concatenate = cat


def stack(tensors, dim=0):
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for place, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(each).__name__}"
            )
        if each.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at"
                f" entry 0 and {list(each.shape)} at entry {place}"
            )
    dim = wrap_dim(dim, tensors[0].dim() + 1)
    return cat([unsqueeze(each, dim) for each in tensors], dim)


def hstack(tensors):
    tensors = [each.reshape(1) if each.dim() == 0 else each for each in tensors]
    return cat(tensors, 0 if tensors[0].dim() == 1 else 1)


def vstack(tensors):
    return cat([each.reshape(1, -1) if each.dim() < 2 else each for each in tensors], 0)


def column_stack(tensors):
    return cat([each.reshape(-1, 1) if each.dim() < 2 else each for each in tensors], 1)


def repeat(x, *repeats):
    repeats = sizes_of(repeats)
    if len(repeats) < x.dim():
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions"
            " of tensor"
        )
    x = x.reshape([1] * (len(repeats) - x.dim()) + list(x.shape))
    wide, shape = [], []
    for times, size in zip(repeats, x.shape, strict=True):
        wide += [times, size]
        shape.append(times * size)
    inserted = x.reshape([n for size in x.shape for n in (1, size)])
    return expand(inserted, *wide).clone().reshape(shape)


def tile(x, *dims):
    dims = sizes_of(dims)
    return repeat(x, *[1] * (x.dim() - len(dims)), *dims)


def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    if dim is None:
        x, dim = x.flatten(), 0
    dim = wrap_dim(dim, x.dim())
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = int(repeats.item())
    counts = [repeats] * x.shape[dim] if isinstance(repeats, int) else list(flat(repeats))
    if len(counts) != x.shape[dim]:
        raise RuntimeError("repeats must have the same size as input along dim")
    return pick(x, dim, [i for i, count in enumerate(counts) for _ in range(count)])


def pick(x, dim, rows):
    """Return some rows of an axis, in this order."""
    inner, outer, size = math.prod(x.shape[dim + 1 :]), math.prod(x.shape[:dim]), x.shape[dim]
    places = [
        (o * size + row) * inner + i for o in range(outer) for row in rows for i in range(inner)
    ]
    shape = list(x.shape)
    shape[dim] = len(rows)
    return collect(x, places, shape)


def index_select(x, dim, index):
    dim = wrap_dim(dim, x.dim())
    if x.dim() == 0:
        if index.numel() != 1:
            raise RuntimeError(
                "index_select(): Index to scalar can have only 1 value, got"
                f" {index.numel()} value(s)"
            )
        return index_select(x.reshape(1), 0, index.reshape(1)).reshape(())
    for each in flat(index):
        if not 0 <= each < x.shape[dim]:
            raise IndexError("index out of range in self")
    return pick(x, dim, list(flat(index)))


def flip(x, *dims):
    for dim in sizes_of(dims):
        dim = wrap_dim(dim, x.dim())
        x = pick(x, dim, range(x.shape[dim] - 1, -1, -1)) if x.dim() else x.clone()
    return x


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def roll(x, shifts, dims=None):
    if dims is None:
        return roll(x.flatten(), shifts, 0).reshape(x.shape)
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    for shift, dim in zip(shifts, dims, strict=True):
        if x.dim() == 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        dim = wrap_dim(dim, x.dim())
        size = x.shape[dim]
        x = pick(x, dim, [(i - shift) % size for i in range(size)])
    return x


def rot90(x, k=1, dims=(0, 1)):
    for _ in range(k % 4):
        x = flip(transpose(x, *dims), dims[0])
    return x


def tril(x, diagonal=0):
    return _triangle("tril", x, lambda row, column: column - row <= diagonal)


def triu(x, diagonal=0):
    return _triangle("triu", x, lambda row, column: column - row >= diagonal)


def _triangle(name, x, kept):
    if x.dim() < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = x.shape[-2:]
    once = [kept(row, column) for row in range(rows) for column in range(columns)]
    mask = new(once, (rows, columns), bool_)
    return x.masked_fill(~mask, 0) if x.dtype is not bool_ else x & mask


def diag(x, diagonal=0):
    if x.dim() == 1:
        return diag_embed(x, diagonal)
    if x.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.dim()}D")
    return globals()["diagonal"](x, diagonal).clone()


def diag_embed(x, offset=0):
    size = x.shape[-1] + abs(offset)
    made = x.new_zeros(*x.shape[:-1], size, size)
    _down, _right = max(0, -offset), max(0, offset)

    plain = new(list(range(math.prod(made.shape))), made.shape, int64)
    places = list(flat(diagonal(plain, offset, -2, -1)))
    whole, part = made.shape, x.shape
    numbers = list(made._s)
    for place, number in zip(places, flat(x), strict=True):
        numbers[place] = number
    return record(
        new(numbers, whole, x.dtype), "DiagEmbedBackward0", (x,), lambda g: collect(g, places, part)
    )
