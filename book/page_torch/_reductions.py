"""Along axes: sums, means, variances, extremes, norms.

Sums are taken in double precision one by one and rounded once: PyTorch, which adds in its own
type and in blocks, may differ in the last digit.
"""

import math
import operator

from ._arithmetic import _power, _quotient, maximum, minimum
from ._broadcast import expand_to, wrap_dim
from ._choices import gather, masked_fill, where
from ._dtypes import TITLES, bool_, get_default_dtype, inf, int64, nan
from ._graph import record
from ._pointwise import isnan, sqrt
from ._tensor import Tensor, flat, make, new
from ._views import permute


def _axes(x, dim):
    if dim is None:
        return list(range(x.dim()))
    if x.dim() == 0:
        for each in dim if isinstance(dim, (tuple, list)) else (dim,):
            wrap_dim(each, 0)
        return []
    if isinstance(dim, (tuple, list)):
        axes = [wrap_dim(each, x.dim()) for each in dim] if dim else list(range(x.dim()))
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
        return axes
    return [wrap_dim(dim, x.dim())]


def _groups(x, axes):
    """Return the numbers along axes, one list for each place of the other axes."""
    kept = [i for i in range(x.dim()) if i not in axes]
    size = math.prod(x.shape[i] for i in axes)
    moved = x if kept + list(axes) == list(range(x.dim())) else permute(x.detach(), *kept, *axes)
    numbers = flat(moved)
    count = math.prod(x.shape[i] for i in kept)
    return [numbers[i * size : (i + 1) * size] for i in range(count)]


def _reduced(x, axes, keepdim):
    if keepdim:
        return [1 if i in axes else size for i, size in enumerate(x.shape)]
    return [size for i, size in enumerate(x.shape) if i not in axes]


def _back_to(g, x, axes, keepdim):
    """Return something of the reduced shape, expanded to the shape that was reduced."""
    if not keepdim:
        g = g.reshape([1 if i in axes else size for i, size in enumerate(x.shape)])
    return expand_to(g, x.shape)


def _named(dim, axis, keepdim, keepdims):
    return (axis if dim is None else dim), (keepdim or bool(keepdims))


def sum_(x, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    dim, keepdim = _named(dim, axis, keepdim, keepdims)
    if dtype is not None:
        x = x.to(dtype)
    dtype = int64 if x.dtype.kind < 2 else x.dtype
    axes = _axes(x, dim)
    made = make([_total(each) for each in _groups(x, axes)], _reduced(x, axes, keepdim), dtype)
    return record(
        made,
        "SumBackward1" if dim is not None else "SumBackward0",
        (x,),
        lambda g: _back_to(g, x, axes, keepdim),
    )


def _total(numbers):
    total = 0
    for each in numbers:
        total += each
    return total


def nansum(x, dim=None, keepdim=False):
    return where(isnan(x), 0.0, x).sum(dim, keepdim)


def mean(x, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    dim, keepdim = _named(dim, axis, keepdim, keepdims)
    if dtype is not None:
        x = x.to(dtype)
    if x.dtype.kind < 2:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or"
            f" complex dtype. Got: {TITLES[x.dtype]}"
        )
    axes = _axes(x, dim)
    size = math.prod(x.shape[i] for i in axes)
    made = make(
        [_quotient(float(_total(each)), size) for each in _groups(x, axes)],
        _reduced(x, axes, keepdim),
        x.dtype,
    )
    return record(
        made,
        "MeanBackward1" if dim is not None else "MeanBackward0",
        (x,),
        lambda g: _back_to(g, x, axes, keepdim) / size,
    )


def nanmean(x, dim=None, keepdim=False):
    return nansum(x, dim, keepdim) / (~isnan(x)).sum(dim, keepdim)


def prod(x, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        x = x.to(dtype)
    axes = _axes(x, dim)
    made = make(
        [math.prod(each) for each in _groups(x, axes)],
        _reduced(x, axes, keepdim),
        int64 if x.dtype.kind < 2 else x.dtype,
    )

    def back(g):
        others = []
        for each in _groups(x, axes):
            others += [math.prod(each[:i] + each[i + 1 :]) for i in range(len(each))]
        kept = [i for i in range(x.dim()) if i not in axes]
        order = kept + axes
        grid = make(others, [x.shape[i] for i in order], x.dtype)
        return _back_to(g, x, axes, keepdim) * permute(
            grid, *[order.index(i) for i in range(x.dim())]
        )

    return record(made, "ProdBackward0", (x,), back)


def var(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dim, keepdim = _named(dim, axis, keepdim, keepdims)
    if x.dtype.kind < 2:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    axes = _axes(x, dim)
    size = math.prod(x.shape[i] for i in axes)
    left = max(0, size - correction)

    def one(numbers):
        middle = _quotient(math.fsum(numbers), len(numbers)) if _all_finite(numbers) else nan
        return _quotient(_total((each - middle) ** 2 for each in numbers), left)

    made = make([one(each) for each in _groups(x, axes)], _reduced(x, axes, keepdim), x.dtype)

    def back(g):
        middle = x.mean(dim=axes, keepdim=True)
        return _back_to(g, x, axes, keepdim) * (x - middle) * _quotient(2.0, left)

    return record(made, "VarBackward0", (x,), back)


def _all_finite(numbers):
    return all(map(math.isfinite, numbers))


def std(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dim, keepdim = _named(dim, axis, keepdim, keepdims)
    variance = var(x, dim, unbiased, keepdim, correction=correction)
    made = sqrt(variance.detach())
    if variance.requires_grad:
        slope = variance._node.backward
        record(
            made, "StdBackward0", (x,), lambda g: slope(masked_fill(g / (2 * made), made == 0, 0.0))
        )
    return made


def var_mean(x, dim=None, keepdim=False, *, correction=1):
    return var(x, dim, keepdim=keepdim, correction=correction), mean(x, dim, keepdim)


def std_mean(x, dim=None, keepdim=False, *, correction=1):
    return std(x, dim, keepdim=keepdim, correction=correction), mean(x, dim, keepdim)


class Pair(tuple[Tensor, Tensor]):
    """What `max`, `min`, `sort` and `topk` return."""

    def __new__(cls, values, indices, name):
        self = tuple.__new__(cls, (values, indices))
        self.name = name
        return self

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        return f"torch.return_types.{self.name}(\nvalues={self[0]!r},\nindices={self[1]!r})"


def _best(numbers, better):
    place, found = 0, numbers[0]
    for i, each in enumerate(numbers):
        if each != each:
            return i
        if better(each, found):
            place, found = i, each
    return place


def _extreme(name, better):
    def find(x, dim=None, keepdim=False, *, axis=None, keepdims=None):
        if isinstance(dim, Tensor):
            return (maximum if name == "max" else minimum)(x, dim)
        dim, keepdim = _named(dim, axis, keepdim, keepdims)
        if dim is None:
            if x.numel() == 0:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
                    " Specify the reduction dim with the 'dim' argument."
                )
            return _flat_extreme(x, better)
        if x.dim() == 0:
            return Pair(x.clone(), new([0], (), int64), name)
        dim = wrap_dim(dim, x.dim())
        if x.shape[dim] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        indices = new(
            [_best(each, better) for each in _groups(x, [dim])], _reduced(x, [dim], True), int64
        )
        values = gather(x, dim, indices)
        if not keepdim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        return Pair(values, indices, name)

    return find


def _flat_extreme(x, better):
    numbers = flat(x)
    found = numbers[_best(numbers, better)]
    made = new([found], (), x.dtype)

    def back(g):
        alike = [each == found for each in numbers]
        return expand_to(g, x.shape) * new(alike, x.shape, bool_) / max(1, alike.count(True))

    return record(made, "MaxBackward1", (x,), back)


max_ = _extreme("max", operator.gt)
min_ = _extreme("min", operator.lt)


def _shared(better):
    def find(x, dim=(), keepdim=False, *, axis=None, keepdims=None):
        dim, keepdim = _named(None if dim == () else dim, axis, keepdim, keepdims)
        axes = _axes(x, dim)
        made = new(
            [each[_best(each, better)] for each in _groups(x, axes)],
            _reduced(x, axes, keepdim),
            x.dtype,
        )

        def back(g):
            alike = (x == _back_to(made.detach(), x, axes, keepdim)).to(x.dtype)
            return _back_to(g, x, axes, keepdim) * alike / alike.sum(dim=axes, keepdim=True)

        return record(made, "AmaxBackward0", (x,), back)

    return find


amax = _shared(operator.gt)
amin = _shared(operator.lt)


def aminmax(x, *, dim=None, keepdim=False):
    return amin(x, dim or (), keepdim), amax(x, dim or (), keepdim)


def _position(better):
    def find(x, dim=None, keepdim=False, *, axis=None):
        dim = axis if dim is None else dim
        if x.numel() == 0 and dim is None:
            raise IndexError("Expected reduction dim to be specified for input.numel() == 0.")
        axes = _axes(x, dim)
        return new(
            [_best(each, better) for each in _groups(x, axes)],
            _reduced(x, axes, keepdim and dim is not None),
            int64,
        )

    return find


argmax = _position(operator.gt)
argmin = _position(operator.lt)


def all_(x, dim=None, keepdim=False, *, axis=None):
    dim = axis if dim is None else dim
    axes = _axes(x, dim)
    return new(
        [all(map(bool, each)) for each in _groups(x, axes)], _reduced(x, axes, keepdim), bool_
    )


def any_(x, dim=None, keepdim=False, *, axis=None):
    dim = axis if dim is None else dim
    axes = _axes(x, dim)
    return new(
        [any(map(bool, each)) for each in _groups(x, axes)], _reduced(x, axes, keepdim), bool_
    )


def count_nonzero(x, dim=None):
    return (x != 0).sum(dim)


def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    x = x if dtype is None else x.to(dtype)
    p = 2 if p in ("fro", None) else p
    if x.dtype.kind < 2:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got"
            f" {TITLES[x.dtype]}"
        )
    axes = _axes(x, dim)
    if p in (inf, "inf"):
        return x.abs().amax(dim=axes, keepdim=keepdim)
    if p == -inf:
        return x.abs().amin(dim=axes, keepdim=keepdim)
    if p == 0:
        return (x != 0).sum(dim=axes, keepdim=keepdim).to(x.dtype)
    if p == 1:
        return x.abs().sum(dim=axes, keepdim=keepdim)

    def one(numbers):
        return _power(_total(abs(each) ** p for each in numbers), 1 / p)

    made = make([one(each) for each in _groups(x, axes)], _reduced(x, axes, keepdim), x.dtype)

    def back(g):
        whole, length = _back_to(g, x, axes, keepdim), _back_to(made, x, axes, keepdim)
        if p == 2:
            return masked_fill(whole * x / length, length == 0, 0.0)
        return masked_fill(
            whole * x.sign() * x.abs() ** (p - 1) / length ** (p - 1), length == 0, 0.0
        )

    return record(made, "LinalgVectorNormBackward0", (x,), back)


def logsumexp(x, dim, keepdim=False):
    axes = _axes(x, dim)

    def one(numbers):
        most = max(numbers)
        if any(each != each for each in numbers):
            return nan
        if math.isinf(most):
            return most
        return most + math.log(_total(math.exp(each - most) for each in numbers))

    dtype = x.dtype if x.dtype.kind == 2 else get_default_dtype()
    made = make([one(each) for each in _groups(x, axes)], _reduced(x, axes, keepdim), dtype)

    def back(g):
        lse = _back_to(made, x, axes, keepdim)
        return _back_to(g, x, axes, keepdim) * masked_fill((x - lse).exp(), lse == -inf, 0.0)

    return record(made, "LogsumexpBackward0", (x,), back)
