"""Axes, sizes and broadcasting: how shapes meet."""

from ._dtypes import TITLES, Size
from ._tensor import view as look


def wrap_dim(dim, count):
    """Return an axis counted from the front."""
    dim = dim.__index__()
    most = max(count, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got"
            f" {dim})"
        )
    return dim % most


def sizes_of(sizes):
    """Return sizes handed over one by one or as one sequence."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    return [size.__index__() for size in sizes]


def broadcast_shape(*shapes):
    """Return the shape that all are broadcast to."""
    shape = []
    longest = max((len(each) for each in shapes), default=0)
    for place in range(1, longest + 1):
        size = 1
        for each in shapes:
            if place <= len(each) and each[-place] != 1:
                if size != 1 and size != each[-place]:
                    raise RuntimeError(
                        f"The size of tensor a ({size}) must match the size of tensor b"
                        f" ({each[-place]}) at non-singleton dimension {longest - place}"
                    )
                size = each[-place]
        shape.append(size)
    return Size(reversed(shape))


def broadcast_shapes(*shapes):
    return broadcast_shape(*[(each,) if isinstance(each, int) else each for each in shapes])


def expand_to(x, shape):
    """Return a tensor expanded to a shape."""
    return x if x.shape == tuple(shape) else expand(x, *shape)


def sum_to(gradient, shape):
    """Add up a gradient over the axes along which a tensor was expanded."""
    if gradient.shape == tuple(shape):
        return gradient
    extra = gradient.dim() - len(shape)
    axes = list(range(extra)) + [
        i + extra for i, size in enumerate(shape) if size == 1 and gradient.shape[i + extra] != 1
    ]
    if axes:
        gradient = gradient.sum(dim=axes, keepdim=True)
    return gradient.reshape(shape)


def expand(x, *sizes):
    sizes = sizes_of(sizes)
    extra = len(sizes) - x.dim()
    called = f"expand(torch.{TITLES[x.dtype]}Tensor{{{list(x.shape)}}}, size={sizes})"
    if extra < 0:
        raise RuntimeError(
            f"{called}: the number of sizes provided ({len(sizes)}) must be greater or equal"
            f" to the number of dimensions in the tensor ({x.dim()})"
        )
    shape, strides = [], []
    for i, size in enumerate(sizes):
        have, stride = (x.shape[i - extra], x._strides[i - extra]) if i >= extra else (1, 0)
        if size == -1:
            if i < extra:
                raise RuntimeError(
                    f"{called}: -1 is not allowed in a leading, non-existing dimension"
                )
            size = have
        elif size != have:
            if have != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) must match the existing size"
                    f" ({have})"
                    f" at non-singleton dimension {i}.  Target sizes: {sizes}.  Tensor sizes:"
                    f" {list(x.shape)}"
                )
            stride = 0
        shape.append(size)
        strides.append(stride)
    before = x.shape
    return look(x, shape, strides, x._o, "ExpandBackward0", lambda g: sum_to(g, before))


def expand_as(x, other):
    return expand(x, *other.shape)


def broadcast_to(x, size):
    return expand(x, *size)


def broadcast_tensors(*tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = broadcast_shape(*(each.shape for each in tensors))
    return tuple(expand(each, *shape) for each in tensors)
