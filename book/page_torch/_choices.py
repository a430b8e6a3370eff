"""Which numbers are taken: where, masked_fill, gather, scatter, nonzero."""

import math
import operator

from . import _graph
from ._arithmetic import _spread_out, result_type
from ._broadcast import broadcast_shape, expand_to, sum_to, wrap_dim
from ._creation import as_tensor
from ._dtypes import C_NAMES, TITLES, bool_, finfo, int64
from ._graph import record
from ._tensor import Tensor, collect, flat, make, new


def where(condition, input=None, other=None):
    if input is None:
        return condition.nonzero().unbind(1)
    if not isinstance(condition, Tensor) or condition.dtype is not bool_:
        got = (
            TITLES[condition.dtype].lower()
            if isinstance(condition, Tensor)
            else type(condition).__name__
        )
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype"
            f" {got.capitalize()}"
        )
    dtype = result_type(input, other)
    a, b = (each.to(dtype) if isinstance(each, Tensor) else each for each in (input, other))
    columns, shape = _spread_out(condition, a, b)
    made = make([x if c else y for c, x, y in zip(*columns, strict=True)], shape, dtype)
    if not _graph._enabled[-1]:
        return made
    inputs = [each for each in (a, b) if isinstance(each, Tensor)]

    def back(g):
        got = []
        if isinstance(a, Tensor):
            got.append(sum_to(where(condition, g, 0.0), a.shape))
        if isinstance(b, Tensor):
            got.append(sum_to(where(condition, 0.0, g), b.shape))
        return got

    return record(made, "WhereBackward0", inputs, back)


def masked_fill(x, mask, value):
    if not isinstance(mask, Tensor):
        kinds = [type(each).__name__ for each in (mask, value)]
        marked = ", ".join(f"!{kind}!" for kind in kinds)
        unlike = (
            f"      didn't match because some of the arguments have invalid types: ({marked})\n"
        )
        raise TypeError(
            "masked_fill() received an invalid combination of arguments - got"
            f" ({', '.join(kinds)}), but expected one of:\n * (Tensor mask, Tensor value)\n{unlike}"
            f" * (Tensor mask, Number value)\n{unlike}"
        )
    if mask.dtype is not bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype"
            f" {C_NAMES[mask.dtype]}"
        )
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value.dim()} dimension(s)."
            )
    elif x.dtype.kind == 2:
        _check_fits(value, x.dtype)
    elif isinstance(value, float):
        if (
            x.dtype is not bool_
            and not (math.isfinite(value) and value == int(value))
            and not math.isfinite(value)
        ):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        value = int(value) if math.isfinite(value) else value
    numbers, shape = _spread_out(x, mask)
    fill = value.item() if isinstance(value, Tensor) else value
    fill = x.dtype.fit([fill])[0]
    made = new(
        [fill if hidden else each for each, hidden in zip(*numbers, strict=True)], shape, x.dtype
    )
    if not _graph._enabled[-1]:
        return made
    inputs = [x, value] if isinstance(value, Tensor) else [x]

    def back(g):
        got = [sum_to(masked_fill(g, mask, 0.0), x.shape)]
        if isinstance(value, Tensor):
            got.append(where(mask, g, 0.0).sum())
        return got

    return record(made, "MaskedFillBackward0", inputs, back)


def _check_fits(value, dtype):
    """Reject a number that the type cannot hold, as PyTorch does for the narrow ones."""
    if math.isfinite(value) and abs(value) > finfo(dtype).max:
        name = {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float"}.get(
            dtype.name, "double"
        )
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def masked_select(x, mask):
    shape = broadcast_shape(x.shape, mask.shape)
    return expand_to(x, shape)[expand_to(mask, shape)]


def masked_scatter(x, mask, source):
    numbers, shape = _spread_out(x, mask)
    supply = iter(flat(source))
    return new(
        [next(supply) if put else each for each, put in zip(*numbers, strict=True)], shape, x.dtype
    )


def _along(x, dim, index):
    """Return where ``gather`` reads: a place in x for each number of the index."""
    if index.dtype is not int64 and index.dtype.kind != 1:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if index.dim() != x.dim() and not (x.dim() == 0 or index.dim() == 0):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    steps, stride = [], 1
    for size in reversed(x.shape):
        steps.append(stride)
        stride *= size
    steps.reverse()
    places = [0]
    for axis, size in enumerate(index.shape):
        if axis != dim and size > x.shape[axis]:
            raise RuntimeError(
                f"Size does not match at dimension {axis} expected index {list(index.shape)} to"
                " be no"
                f" larger than self {list(x.shape)} apart from dimension {dim}"
            )
        step = 0 if axis == dim else steps[axis]
        places = [place + i * step for place in places for i in range(size)]
    size = x.shape[dim] if x.shape else 1
    for place, number in enumerate(flat(index)):
        if not 0 <= number < size:
            raise RuntimeError(
                f"index {number} is out of bounds for dimension {dim} with size {size}"
            )
        places[place] += number * (steps[dim] if x.shape else 0)
    return places


def gather(x, dim, index):
    dim = wrap_dim(dim, x.dim())
    return collect(x, _along(x, dim, index), index.shape)


def take_along_dim(x, indices, dim=None):
    if dim is None:
        return gather(x.flatten(), 0, indices.flatten())
    dim = wrap_dim(dim, x.dim())
    xs, ns = list(x.shape), list(indices.shape)
    xs[dim] = ns[dim] = 1
    shape = broadcast_shape(xs, ns)
    wide = [x.shape[dim] if i == dim else size for i, size in enumerate(shape)]
    index = [indices.shape[dim] if i == dim else size for i, size in enumerate(shape)]
    return gather(expand_to(x, wide), dim, expand_to(indices, index))


def take(x, index):
    return x.flatten()[index]


def _scattered(x, dim, index, src, combine):
    dim = wrap_dim(dim, x.dim())
    if isinstance(src, Tensor):
        if src.dtype is not x.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        source = src[tuple(slice(0, size) for size in index.shape)]
        values = flat(source)
    else:
        source, values = None, [x.dtype.fit([src])[0]] * index.numel()
    places = _along(x, dim, index)
    numbers = list(flat(x))
    for place, value in zip(places, values, strict=True):
        numbers[place] = combine(numbers[place], value)
    made = make(numbers, x.shape, x.dtype)
    return made, places, source


def scatter(x, dim, index, src=None, value=None, *, reduce=None):
    src = value if src is None else src
    combine = {None: lambda old, put: put, "add": operator.add, "multiply": operator.mul}[reduce]
    made, places, source = _scattered(x, dim, index, src, combine)
    if reduce is not None:
        return made
    written, size = set(places), index.shape

    def back(g):
        kept = [0.0 if i in written else each for i, each in enumerate(flat(g))]
        got = [new(kept, g.shape, g.dtype)]
        return [*got, collect(g, places, size)] if source is not None else got

    return record(made, "ScatterBackward0", [x] if source is None else [x, source], back)


def scatter_add(x, dim, index, src):
    made, places, source = _scattered(x, dim, index, src, operator.add)
    size = index.shape
    return record(made, "ScatterAddBackward0", [x, source], lambda g: [g, collect(g, places, size)])


def index_add(x, dim, index, source, *, alpha=1):
    dim = wrap_dim(dim, x.dim())
    size = [1] * x.dim()
    size[dim] = index.numel()
    return scatter_add(x, dim, expand_to(index.reshape(size), source.shape), source * alpha)


def index_fill(x, dim, index, value):
    key = (slice(None),) * wrap_dim(dim, x.dim()) + (index,)
    made = x.clone()
    made[key] = value
    return made


def index_copy(x, dim, index, source):
    key = (slice(None),) * wrap_dim(dim, x.dim()) + (index,)
    made = x.clone()
    made[key] = source
    return made


def index_put(x, indices, values, accumulate=False):
    made = x.clone()
    if accumulate:
        values = as_tensor(values) if not isinstance(values, Tensor) else values
        plain = new(list(range(x.numel())), x.shape, int64)
        places = plain[tuple(indices)]
        flat_made = made.reshape(-1)
        return scatter_add(
            flat_made, 0, places.flatten(), expand_to(values, places.shape).flatten()
        ).reshape(x.shape)
    made[tuple(indices)] = values
    return made


def nonzero(x, *, as_tuple=False):
    if as_tuple:
        return nonzero(x).unbind(1)
    rows, places = [], [()]
    for size in x.shape:
        places = [(*place, i) for place in places for i in range(size)]
    rows = [place for place, each in zip(places, flat(x), strict=True) if each]
    return new([i for row in rows for i in row], (len(rows), x.dim()), int64)


argwhere = nonzero
