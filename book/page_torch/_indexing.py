"""What stands between square brackets: integers, slices, None, ..., masks, lists, tensors."""

import math

from . import _graph
from ._broadcast import broadcast_shape, expand_to
from ._creation import as_tensor, tensor
from ._dtypes import TITLES, bool_, int64
from ._graph import edge_of
from ._tensor import (
    Tensor,
    _rebase,
    assign,
    check_writable,
    collect,
    flat,
    index,
    new,
    view,
)
from ._views import _zeros_around


def got(x, key):
    """Return ``x[key]``."""
    part, picked = _basic(x, key)
    if not picked:
        return (
            part
            if part is not x
            else view(x, x.shape, x._strides, x._o, "AliasBackward0", lambda g: g)
        )
    places, shape = _picked(part, picked)
    return collect(part, places, shape)


def put(x, key, value):
    """Do ``x[key] = value``."""
    part, picked = _basic(x, key)
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=x.dtype)
    if not picked:
        target = (
            part
            if part is not x
            else view(x, x.shape, x._strides, x._o, "AliasBackward0", lambda g: g)
        )
        value = _shrunk(value, target.shape)
        assign(target, _as_type(expand_to(value, target.shape), x.dtype))
        if part is x and x._base is None:
            x._sync()
        return
    check_writable(x)
    places, shape = _picked(part, picked)
    masks = [
        each
        for each in (key if isinstance(key, tuple) else (key,))
        if isinstance(each, (Tensor, list))
    ]
    filled = len(masks) == 1 and value.numel() == 1 and as_tensor(masks[0]).dtype is bool_
    try:
        value = expand_to(_shrunk(value, shape), shape)
    except RuntimeError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to"
            f" indexing result of shape {list(shape)}"
        ) from None
    if value.dtype is not x.dtype and not filled:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got"
            f" {TITLES[x.dtype]} for the destination and {TITLES[value.dtype]} for the source."
        )
    value = _as_type(value, x.dtype)
    where = index(part)
    if _graph._enabled[-1] and (x.requires_grad or value.requires_grad):
        # the history of a scattered write is that of a sum of what is kept and what is put
        old_edge, put_edge = edge_of(part), edge_of(value)
        written = set(places)

        def back(g):
            kept = [0.0 if i in written else n for i, n in enumerate(flat(g))]
            return new(kept, g.shape, g.dtype), collect(g, places, shape)

        _write(x._s, where, places, flat(value))
        made = new(list(flat(part)), part.shape, part.dtype)
        made._node = _graph.Node("IndexPutBackward0", [old_edge, put_edge], back)
        _rebase(part, edge_of(made))
        return
    _write(x._s, where, places, flat(value))


def _write(store, where, places, numbers):
    for place, number in zip(places, numbers, strict=True):
        store[where[place]] = number


def _as_type(value, dtype):
    return value if value.dtype is dtype else value.to(dtype)


def _shrunk(value, shape):
    """Drop leading axes of size 1 that the target does not have."""
    while value.dim() > len(shape) and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def _basic(x, key):
    """Apply what gives a view; return it and the index tensors, by axis of the view."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [_prepared(each) for each in keys]
    used = sum(
        0
        if each is None or each is Ellipsis or isinstance(each, bool)
        else each.dim()
        if isinstance(each, Tensor) and each.dtype is bool_
        else 1
        for each in keys
    )
    if used > x.dim():
        if x.dim() == 0 and len(keys) == 1 and isinstance(keys[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {x.dim()}")
    if not any(each is Ellipsis for each in keys):
        keys.append(Ellipsis)
    part, axis, picked = x, 0, {}
    gone = 0  # how many axes integers have taken away
    for each in keys:
        if each is Ellipsis:
            axis += x.dim() - used
        elif each is None:
            part, axis = part.unsqueeze(axis), axis + 1
        elif isinstance(each, bool):
            part = part.unsqueeze(axis)
            picked[axis] = tensor([0] if each else [], dtype=int64)
            axis += 1
        elif isinstance(each, slice):
            part, axis = _sliced(part, axis, each), axis + 1
        elif isinstance(each, Tensor):
            if each.dtype is bool_:
                if tuple(each.shape) != tuple(part.shape[axis : axis + each.dim()]):
                    wrong = next(
                        i for i in range(each.dim()) if each.shape[i] != part.shape[axis + i]
                    )
                    raise IndexError(
                        f"The shape of the mask {list(each.shape)} at index {wrong} does not"
                        " match the"
                        f" shape of the indexed tensor {list(x.shape)} at index {axis + wrong}"
                    )
                if each.dim() == 0:
                    part = part.unsqueeze(axis)
                    picked[axis] = tensor([0] if each.item() else [], dtype=int64)
                    axis += 1
                for column in each.nonzero().unbind(1) if each.dim() else ():
                    picked[axis] = column
                    axis += 1
            else:
                picked[axis] = each
                axis += 1
        else:
            size = part.shape[axis]
            if not -size <= each < size:
                raise IndexError(
                    f"index {each} is out of bounds for dimension {axis + gone} with size {size}"
                )
            part, gone = part.select(axis, each), gone + 1
    return part, picked


def _prepared(each):
    if isinstance(each, (list, range, tuple)):
        each = as_tensor(list(each))
        return each if each.numel() or each.dtype.kind < 2 else each.to(int64)
    if isinstance(each, Tensor):
        if each.dtype.kind == 2:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if each.dim() == 0 and each.dtype.kind == 1:
            return int(each.item())
        return each
    if each is None or each is Ellipsis or isinstance(each, (bool, slice, int)):
        return each
    if hasattr(each, "__index__"):
        return each.__index__()
    if isinstance(each, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid"
        f" indices (got {type(each).__name__})"
    )


def _sliced(part, axis, each):
    size = part.shape[axis]
    start, stop, step = (
        None if bound is None else bound.__index__() for bound in (each.start, each.stop, each.step)
    )
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(start, stop, step).indices(size)
    count = max(0, -(-(stop - start) // step))
    if count == size and step == 1:
        return part
    shape, strides = list(part.shape), list(part._strides)
    offset = part._o + start * strides[axis]
    shape[axis], strides[axis] = count, strides[axis] * step
    whole = part.shape

    def back(g):
        return _zeros_around(g, axis, range(start, start + count * step, step), whole)

    return view(part, shape, strides, offset, "SliceBackward0", back)


def _picked(part, picked):
    """Return which numbers of a view the index tensors pick, and the shape of the result."""
    axes = sorted(picked)
    try:
        shape = broadcast_shape(*(each.shape for each in picked.values()))
    except RuntimeError:
        shapes = ", ".join(str(list(picked[axis].shape)) for axis in axes)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    count = math.prod(shape)
    steps = []
    stride = 1
    for size in reversed(part.shape):
        steps.append(stride)
        stride *= size
    steps.reverse()
    chosen = [0] * count
    # As in PyTorch: of what holds no number, none can be out of bounds.
    empty = any(not size for axis, size in enumerate(part.shape) if axis not in picked)
    for axis in axes:
        size, step = part.shape[axis], steps[axis]
        for i, number in enumerate(flat(expand_to(picked[axis], shape))):
            if not (empty or -size <= number < size):
                raise IndexError(
                    f"index {number} is out of bounds for dimension {axis} with size {size}"
                )
            chosen[i] += (number % size if size else 0) * step
    together = axes == list(range(axes[0], axes[-1] + 1))
    first = axes[0] if together else 0
    rest = [axis for axis in range(part.dim()) if axis not in picked]
    before, after = [a for a in rest if a < first], [a for a in rest if a >= first]
    if not together:
        before, after = [], rest

    def offsets(which):
        places = [0]
        for axis in which:
            places = [p + i * steps[axis] for p in places for i in range(part.shape[axis])]
        return places

    tail = offsets(after)
    places = [b + c + a for b in offsets(before) for c in chosen for a in tail]
    size = [part.shape[a] for a in before] + list(shape) + [part.shape[a] for a in after]
    return places, size
