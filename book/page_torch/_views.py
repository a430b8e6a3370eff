"""Other shapes of the same numbers: a view shares its tensor's list, as in PyTorch."""

import itertools
import math

from ._broadcast import sizes_of, wrap_dim
from ._dtypes import int64
from ._missing import missing
from ._tensor import Tensor, flat, new, places_in, spread, strides_of
from ._tensor import view as look


def _filled(x, sizes):
    """Return sizes with the one that is -1 worked out."""
    count = x.numel()
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        if known == 0 or count % known:
            raise RuntimeError(f"shape '{sizes}' is invalid for input of size {count}")
        sizes = [count // known if size == -1 else size for size in sizes]
    if math.prod(sizes) != count:
        raise RuntimeError(f"shape '{sizes}' is invalid for input of size {count}")
    return sizes


def _view_strides(x, sizes):
    """Return the strides of a view of another shape; None if there is no such view."""
    if x.numel() == 0:
        return strides_of(sizes)
    blocks, run = [], None  # runs of axes that lie one behind the other
    for size, stride in zip(reversed(x.shape), reversed(x._strides), strict=True):
        if size == 1:
            continue
        if run and stride == run[0] * run[1]:
            run[1] *= size
        else:
            run = [stride, size]
            blocks.append(run)
    strides, place, left, step = [], 0, None, 1
    for size in reversed(sizes):
        if size == 1:
            strides.append(step)
            continue
        if left is None:
            if place == len(blocks):
                return None
            step, left = blocks[place]
            place += 1
        if left % size:
            return None
        strides.append(step)
        step, left = step * size, left // size
        if left == 1:
            left = None
    return list(reversed(strides))


def view(x, *sizes):
    if len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list, Tensor)):
        return x.to(sizes[0]) if x.dtype is sizes[0] else _no_cast(x, sizes[0])
    sizes = _filled(x, sizes_of(sizes))
    strides = _view_strides(x, sizes)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one"
            " dimension"
            " spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    before = x.shape
    return look(x, sizes, strides, x._o, "ViewBackward0", lambda g: g.reshape(before))


def _no_cast(x, dtype):
    raise missing(f"torch.Tensor.view({dtype})")


def view_as(x, other):
    return view(x, *other.shape)


def reshape(x, *shape):
    shape = _filled(x, sizes_of(shape))
    if _view_strides(x, shape) is not None:
        return view(x, *shape)
    return view(x.clone(), *shape)


def reshape_as(x, other):
    return reshape(x, *other.shape)


def contiguous(x):
    return x if x.is_contiguous() else x.clone()


def flatten(x, start_dim=0, end_dim=-1):
    if x.dim() == 0:
        return reshape(x, 1)
    start, end = wrap_dim(start_dim, x.dim()), wrap_dim(end_dim, x.dim())
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return x
    return reshape(x, *x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :])


def ravel(x):
    return reshape(x, -1)


def unflatten(x, dim, sizes):
    if x.dim() == 0:
        raise RuntimeError(
            "unflatten got an unexpected error:\nDimension specified as 0 but tensor has no"
            " dimensions"
        )
    dim = wrap_dim(dim, x.dim())
    sizes = list(sizes)
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        if known == 0 or x.shape[dim] % known:
            raise RuntimeError(
                f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim}"
                f" ({x.shape[dim]}) in the input tensor"
            )
        sizes[sizes.index(-1)] = x.shape[dim] // known
    if math.prod(sizes) != x.shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim}"
            f" ({x.shape[dim]}) in the input tensor"
        )
    return view(x, *x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def permute(x, *dims):
    dims = [wrap_dim(dim, x.dim()) for dim in sizes_of(dims)]
    if len(dims) != x.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the"
            " length"
            f" of the desired ordering of dimensions i.e. input.dim() = {x.dim()} is not equal to"
            f" len(dims) = {len(dims)}"
        )
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    back = [dims.index(i) for i in range(len(dims))]
    return look(
        x,
        [x.shape[dim] for dim in dims],
        [x._strides[dim] for dim in dims],
        x._o,
        "PermuteBackward0",
        lambda g: permute(g, *back),
    )


def transpose(x, dim0, dim1):
    dim0, dim1 = wrap_dim(dim0, x.dim()), wrap_dim(dim1, x.dim())
    if dim0 == dim1:
        return x
    shape, strides = list(x.shape), list(x._strides)
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    return look(x, shape, strides, x._o, "TransposeBackward0", lambda g: transpose(g, dim0, dim1))


swapaxes = swapdims = transpose


def t(x):
    if x.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.dim()}D")
    return transpose(x, 0, 1) if x.dim() == 2 else x


def T(x):
    return permute(x, *range(x.dim() - 1, -1, -1)) if x.dim() != 2 else transpose(x, 0, 1)


def mT(x):
    if x.dim() == 0:
        return x
    if x.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {x.dim()}-D"
            " tensor."
        )
    return transpose(x, -2, -1)


def movedim(x, source, destination):
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    source = [wrap_dim(dim, x.dim()) for dim in source]
    destination = [wrap_dim(dim, x.dim()) for dim in destination]
    if x.dim() == 0:
        return x
    order = [dim for dim in range(x.dim()) if dim not in source]
    for place, dim in sorted(zip(destination, source, strict=True)):
        order.insert(place, dim)
    return permute(x, *order)


moveaxis = movedim


def unsqueeze(x, dim):
    most = x.dim() + 1
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got"
            f" {dim})"
        )
    dim %= most
    shape, strides = list(x.shape), list(x._strides)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    shape.insert(dim, 1)
    strides.insert(dim, step)
    return look(x, shape, strides, x._o, "UnsqueezeBackward0", lambda g: squeeze(g, dim))


def squeeze(x, dim=None):
    if dim is None:
        dims = range(x.dim())
    else:
        dims = [
            wrap_dim(each, x.dim()) for each in (dim if isinstance(dim, (tuple, list)) else [dim])
        ]
    kept = [i for i in range(x.dim()) if not (i in dims and x.shape[i] == 1)]
    before = x.shape
    return look(
        x,
        [x.shape[i] for i in kept],
        [x._strides[i] for i in kept],
        x._o,
        "SqueezeBackward0",
        lambda g: g.reshape(before),
    )


def _zeros_around(gradient, axis, rows, whole):
    """Return a gradient for a whole whose other rows got none."""
    inner = math.prod(whole[axis + 1 :])
    outer = math.prod(whole[:axis])
    size = whole[axis]
    places = [
        (o * size + row) * inner + i for o in range(outer) for row in rows for i in range(inner)
    ]
    return spread(gradient, places, whole)


def select(x, dim, index):
    if not x.shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or"
            " `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    dim = wrap_dim(dim, x.dim())
    size = x.shape[dim]
    index = index.__index__()
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    index %= size
    shape, strides = list(x.shape), list(x._strides)
    del shape[dim], strides[dim]
    whole = x.shape

    def back(g):
        return _zeros_around(g, dim, [index], whole)

    return look(x, shape, strides, x._o + index * x._strides[dim], "SelectBackward0", back)


def narrow(x, dim, start, length):
    if x.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, x.dim())
    start, length = int(start), int(length)
    if start < 0:
        start += x.shape[dim]
    if start + length > x.shape[dim] or start < 0 or length < 0:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({x.shape[dim]})."
        )
    return x[(slice(None),) * dim + (slice(start, start + length),)]


def split(x, split_size_or_sections, dim=0):
    if x.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, x.dim())
    size = x.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        sections = [min(step, size - start) for start in range(0, size, step)] or [0]
    else:
        sections = [int(each) for each in split_size_or_sections]
        if sum(sections) != size:
            raise RuntimeError(
                "split_with_sizes expects split_sizes to sum exactly to"
                f" {size} (input tensor's size at dimension {dim}), but got split_sizes={sections}"
            )
    starts = [sum(sections[:i]) for i in range(len(sections))]
    return tuple(
        narrow(x, dim, start, count) for start, count in zip(starts, sections, strict=True)
    )


def chunk(x, chunks, dim=0):
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if x.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    return split(x, max(1, -(-x.shape[wrap_dim(dim, x.dim())] // chunks)), dim)


def tensor_split(x, indices_or_sections, dim=0):
    size = x.shape[dim]
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        sections = [size // n + (i < size % n) for i in range(n)]
        return split(x, sections, dim)
    cuts = [0, *indices_or_sections, size]
    return split(x, [b - a for a, b in itertools.pairwise(cuts)], dim)


def unbind(x, dim=0):
    if x.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(select(x, dim, i) for i in range(x.shape[wrap_dim(dim, x.dim())]))


def diagonal(x, offset=0, dim1=0, dim2=1):
    dim1, dim2 = wrap_dim(dim1, x.dim()), wrap_dim(dim2, x.dim())
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = x.shape[dim1], x.shape[dim2]
    size = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset * x._strides[dim2] if offset >= 0 else -offset * x._strides[dim1]
    kept = [i for i in range(x.dim()) if i not in (dim1, dim2)]
    shape = [x.shape[i] for i in kept] + [size]
    strides = [x._strides[i] for i in kept] + [x._strides[dim1] + x._strides[dim2]]
    whole = x.shape
    made = look(x, shape, strides, x._o + (start if size else 0), "DiagonalBackward0", None)
    if made._node is not None:
        plain = new(list(range(math.prod(whole))), whole, int64)
        places = list(flat(diagonal(plain, offset, dim1, dim2)))
        made._node.backward = lambda g: spread(g, places, whole)
    return made


def unfold(x, dimension, size, step):
    """Return windows of an axis, in a new last axis."""
    dim = wrap_dim(dimension, x.dim())
    if x.dim() == 0:
        return unfold(x.reshape(1), 0, size, step)[0]
    if size > x.shape[dim]:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {x.shape[dim]} but size is {size}"
        )
    shape, strides = list(x.shape), list(x._strides)
    shape[dim] = (x.shape[dim] - size) // step + 1
    strides[dim] *= step
    whole, made = (
        x.shape,
        look(x, [*shape, size], [*strides, x._strides[dim]], x._o, "UnfoldBackward0", None),
    )
    if made._node is not None:
        plain = new(list(range(math.prod(whole))), whole, int64)
        places = list(flat(unfold(plain, dim, size, step)))
        made._node.backward = lambda g: spread(g, places, whole)
    return made


def as_strided(x, size, stride, storage_offset=None):
    offset = x._o if storage_offset is None else storage_offset
    made = look(x, list(size), list(stride), offset, "AsStridedBackward0", None)
    if made._node is not None:
        places, whole = places_in(x, made), x.shape
        made._node.backward = lambda g: spread(g, places, whole)
    return made
