"""Tensors out of nothing: from Python's numbers, filled, counted, drawn."""

import itertools
import math

from ._copies import stack
from ._dtypes import dtype_of, float64, get_default_dtype, int64, on_cpu, promote_types
from ._missing import missing
from ._random import generator_of
from ._tensor import Tensor, flat, make, new


def _nested(data, depth=0):
    """Return the numbers of nested sequences in one list, and their shape."""
    if isinstance(data, Tensor):
        if data.dim() == 0 or depth == 0:
            return list(flat(data)), tuple(data.shape), data.dtype
        if data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return list(flat(data)), (), data.dtype
    if isinstance(data, (list, tuple, range)):
        if not len(data):
            return [], (0,), None
        numbers, shape, dtype = [], None, None
        for each in data:
            got, size, kind = _nested(each, depth + 1)
            if shape is not None and size != shape:
                if len(size) and len(shape):
                    raise ValueError(
                        f"expected sequence of length {shape[0]} at dim {depth + 1} (got {size[0]})"
                    )
                raise TypeError(
                    "not a sequence"
                    if len(shape) > len(size)
                    else f"must be real number, not {type(each).__name__}"
                )
            shape = size
            numbers += got
            dtype = kind if dtype is None else dtype if kind is None else promote_types(dtype, kind)
        return numbers, (len(data), *shape), dtype
    kind = dtype_of(data)
    if kind is None:
        if hasattr(data, "item") and hasattr(data, "shape"):
            raise missing("numpy.ndarray")
        if isinstance(data, complex):
            raise missing("torch.complex64")
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        if data is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    return [data], (), kind


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    on_cpu(device)
    numbers, shape, kind = _nested(data)
    made = make(numbers, shape, dtype or kind or get_default_dtype())
    return made.requires_grad_() if requires_grad else made


def as_tensor(data, dtype=None, device=None):
    on_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return tensor(data, dtype=dtype)


def asarray(data, *, dtype=None, device=None, copy=None, requires_grad=False):
    return as_tensor(data, dtype)


scalar_tensor = tensor


def _sizes(size, name):
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    for place, each in enumerate(size):
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(
                f"{name}(): argument 'size' (position 1) must be tuple of ints, not"
                f" {type(each).__name__}"
                if place == 0
                else f"{name}(): argument 'size' failed to unpack the object at pos {place + 1}"
                f' with error "type must be tuple of ints,but got {type(each).__name__}"'
            )
    size = [each.__index__() for each in size]
    for each in size:
        if each < 0:
            raise RuntimeError(
                "zeros: Dimension size must be non-negative."
                if name == "zeros"
                else f"Trying to create tensor with negative dimension {each}: {size}"
            )
    return size


def _constant(name, value):
    def create(*size, dtype=None, device=None, requires_grad=False, **ignored):
        if "size" in ignored:
            size = (ignored.pop("size"),)
        if ignored.keys() - {"layout", "pin_memory", "memory_format", "names", "out"}:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(ignored))}'")
        on_cpu(device)
        size = _sizes(size, name)
        dtype = dtype or get_default_dtype()
        made = new(dtype.fit([value]) * math.prod(size), size, dtype)
        return made.requires_grad_() if requires_grad else made

    create.__name__ = name
    return create


zeros, ones, empty = _constant("zeros", 0), _constant("ones", 1), _constant("empty", 0)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False, **ignored):
    on_cpu(device)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"full(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}"
        )
    dtype = dtype or (fill_value.dtype if isinstance(fill_value, Tensor) else dtype_of(value))
    size = _sizes((size,), "full")
    made = new(dtype.fit([value]) * math.prod(size), size, dtype)
    return made.requires_grad_() if requires_grad else made


def _like(create):
    def like(x, *args, dtype=None, device=None, requires_grad=False, **ignored):
        on_cpu(device)
        return create(x.shape, *args, dtype=dtype or x.dtype, requires_grad=requires_grad)

    return like


zeros_like, ones_like, empty_like, full_like = map(_like, (zeros, ones, empty, full))


def _number(value, name, position, argument):
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Number, not Tensor"
            )
        return value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Number, not"
            f" {type(value).__name__}"
        )
    return value


def arange(
    *bounds, start=None, end=None, step=1, dtype=None, device=None, requires_grad=False, **ignored
):
    on_cpu(device)
    bounds = [_number(each, "arange", place + 1, "end") for place, each in enumerate(bounds)]
    if len(bounds) == 1:
        start, end = start or 0, bounds[0]
    elif len(bounds) >= 2:
        start, end = bounds[:2]
        step = bounds[2] if len(bounds) == 3 else step
    start = 0 if start is None else start
    end, step = _number(end, "arange", 1, "end"), _number(step, "arange", 3, "step")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(each, int) for each in (start, end, step))
    dtype = dtype or (int64 if whole else get_default_dtype())
    count = math.ceil((end - start) / step)
    made = make([start + i * step for i in range(count)], (count,), dtype)
    return made.requires_grad_() if requires_grad else made


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False, **ignored):
    on_cpu(device)
    start, end = float(start), float(end)
    dtype = dtype or get_default_dtype()
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    half = steps // 2
    numbers = [start + i * step if i < half else end - (steps - 1 - i) * step for i in range(steps)]
    if steps == 1:
        numbers = [start]
    made = make(numbers, (steps,), dtype)
    return made.requires_grad_() if requires_grad else made


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None):
    exponents = flat(linspace(start, end, steps, dtype=float64))
    return make([base**each for each in exponents], (steps,), dtype or get_default_dtype())


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False, **ignored):
    on_cpu(device)
    m = n if m is None else m
    dtype = dtype or get_default_dtype()
    made = make([i == j for i in range(n) for j in range(m)], (n, m), dtype)
    return made.requires_grad_() if requires_grad else made


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    return nonzero_of(row, col, lambda i, j: j - i <= offset)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    return nonzero_of(row, col, lambda i, j: j - i >= offset)


def nonzero_of(rows, columns, kept):
    found = [(i, j) for i in range(rows) for j in range(columns) if kept(i, j)]
    return new([i for i, _ in found] + [j for _, j in found], (2, len(found)), int64)


def meshgrid(*tensors, indexing="ij"):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if indexing == "xy" and len(tensors) > 1:
        grids = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return (grids[1], grids[0], *grids[2:])
    sizes = [each.numel() for each in tensors]
    return tuple(
        each.reshape([-1 if i == j else 1 for j in range(len(sizes))]).expand(*sizes)
        for i, each in enumerate(tensors)
    )


def cartesian_prod(*tensors):
    grids = meshgrid(*tensors)
    return stack([grid.flatten() for grid in grids], 1)


def combinations(x, r=2, with_replacement=False):
    draw = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(draw(flat(x), r))
    return new([each for row in rows for each in row], (len(rows), r), x.dtype)


# --- drawn at random -------------------------------------------------------------------------


def rand(*size, generator=None, dtype=None, device=None, requires_grad=False, **ignored):
    on_cpu(device)
    size = _sizes((ignored.pop("size"),) if "size" in ignored else size, "rand")
    dtype = dtype or get_default_dtype()
    made = make(generator_of(generator).uniform(math.prod(size), dtype), size, dtype)
    return made.requires_grad_() if requires_grad else made


def randn(*size, generator=None, dtype=None, device=None, requires_grad=False, **ignored):
    on_cpu(device)
    size = _sizes((ignored.pop("size"),) if "size" in ignored else size, "randn")
    dtype = dtype or get_default_dtype()
    made = make(generator_of(generator).normal(math.prod(size), dtype), size, dtype)
    return made.requires_grad_() if requires_grad else made


def randint(
    *bounds, size=None, low=None, high=None, generator=None, dtype=None, device=None, **ignored
):
    on_cpu(device)
    bounds = list(bounds)
    if size is None:
        size = bounds.pop()
    if high is None:
        high = bounds.pop()
    low = bounds.pop() if bounds else low or 0
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    size = _sizes((size,), "randint")
    dtype = dtype or int64
    return make(generator_of(generator).integers(low, high, math.prod(size)), size, dtype)


def randperm(n, *, generator=None, dtype=None, device=None, **ignored):
    on_cpu(device)
    return make(generator_of(generator).permutation(n), (n,), dtype or int64)


rand_like, randn_like = _like(rand), _like(randn)


def randint_like(x, *bounds, dtype=None, **ignored):
    return randint(*bounds, size=x.shape, dtype=dtype or x.dtype)


def bernoulli(x, p=None, *, generator=None):
    numbers = generator_of(generator).uniform(x.numel(), float64)
    chances = flat(x) if p is None else [p] * x.numel()
    return make(
        [draw < chance for draw, chance in zip(numbers, chances, strict=True)], x.shape, x.dtype
    )


def normal(mean=0.0, std=1.0, size=None, *, generator=None, **ignored):
    if size is None:
        size = (mean if isinstance(mean, Tensor) else std).shape
    return randn(*size, generator=generator) * std + mean


def multinomial(x, num_samples, replacement=False, *, generator=None):
    """Draw places by their weights. Not the numbers that PyTorch draws, but as likely."""
    draws = generator_of(generator)
    rows = x.reshape(-1, x.shape[-1]).tolist()
    chosen = []
    for row in rows:
        if any(each < 0 or not math.isfinite(each) for each in row):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not sum(row) > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if not replacement and num_samples > sum(each > 0 for each in row):
            raise RuntimeError(
                "invalid multinomial distribution (with replacement=False, not enough non-negative"
                " category to sample)"
            )
        row = list(row)
        for _ in range(num_samples):
            point, total = draws.uniform(1, float64)[0] * sum(row), 0.0
            last = max(i for i, each in enumerate(row) if each > 0)
            for place, weight in enumerate(row):
                total += weight
                if (weight > 0 and point < total) or place == last:
                    chosen.append(place)
                    break
            if not replacement:
                row[place] = 0.0
    return new(chosen, (*x.shape[:-1], num_samples), int64)
