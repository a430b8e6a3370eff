"""What is computed row by row along one axis: softmax, running sums, sorting, counting."""

import bisect
import math
import operator

from ._arithmetic import _quotient
from ._broadcast import wrap_dim
from ._choices import gather
from ._copies import stack
from ._creation import as_tensor
from ._dtypes import TITLES, bool_, int64, nan
from ._graph import record
from ._missing import missing
from ._pointwise import exp
from ._reductions import Pair, _groups, _total
from ._tensor import flat, make, new
from ._views import permute

_in_order = sorted  # arguments are called `sorted`, too


def _row_by_row(x, dim, function, dtype):
    """Apply something that keeps its length to the numbers along an axis."""
    dim = wrap_dim(dim, x.dim())
    if x.dim() == 0:
        return make(function(flat(x)), (), dtype)
    numbers = [each for row in _groups(x, [dim]) for each in function(row)]
    order = [i for i in range(x.dim()) if i != dim] + [dim]
    made = make(numbers, [x.shape[i] for i in order], dtype)
    if dim == x.dim() - 1:
        return made
    turned = permute(made, *[order.index(i) for i in range(x.dim())])
    return new(list(flat(turned)), turned.shape, dtype)


def _floating(x, dtype, name):
    if dtype is not None:
        return x.to(dtype)
    if x.dtype.kind < 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{TITLES[x.dtype]}'")
    return x


def _softmax_row(row):
    if any(each != each for each in row):
        return [nan] * len(row)
    most = max(row) if row else 0.0
    shifted = [math.exp(each - most) for each in row]
    total = _total(shifted)
    return [_quotient(each, total) for each in shifted]


def softmax(x, dim=None, dtype=None, *, axis=None, _stacklevel=3):
    dim = axis if dim is None else dim
    if dim is None:
        raise TypeError('softmax() missing 1 required positional arguments: "dim"')
    wrap_dim(dim, x.dim())
    last = "_lastdim" if dim in (-1, x.dim() - 1) else ""
    x = _floating(x, dtype, f"softmax{last}_kernel_impl")
    made = _row_by_row(x, wrap_dim(dim, x.dim()), _softmax_row, x.dtype)
    return record(
        made, "SoftmaxBackward0", (x,), lambda g: made * (g - (g * made).sum(dim, keepdim=True))
    )


def softmin(x, dim=None):
    return softmax(-x, dim)


def _log_softmax_row(row):
    if any(each != each for each in row):
        return [nan] * len(row)
    most = max(row) if row else 0.0
    if math.isinf(most):
        return [nan] * len(row)
    total = _total(math.exp(each - most) if each == each else nan for each in row)
    rest = math.log(total) if total == total else nan
    return [each - most - rest for each in row]


def log_softmax(x, dim=None, dtype=None, *, axis=None, _stacklevel=3):
    dim = axis if dim is None else dim
    if dim is None:
        raise TypeError('log_softmax() missing 1 required positional arguments: "dim"')
    wrap_dim(dim, x.dim())
    x = _floating(
        x,
        dtype,
        "log_softmax_lastdim_kernel_impl"
        if dim in (-1, x.dim() - 1)
        else "log_softmax_kernel_impl",
    )
    made = _row_by_row(x, wrap_dim(dim, x.dim()), _log_softmax_row, x.dtype)
    return record(
        made, "LogSoftmaxBackward0", (x,), lambda g: g - made.exp() * g.sum(dim, keepdim=True)
    )


def _running(row):
    total, sums = 0, []
    for each in row:
        total += each
        sums.append(total)
    return sums


def cumsum(x, dim, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    made = _row_by_row(x, dim, _running, int64 if x.dtype.kind < 2 else x.dtype)
    return record(
        made,
        "CumsumBackward0",
        (x,),
        lambda g: g.flip(dim).cumsum(dim).flip(dim) if x.dim() else g,
    )


def cumprod(x, dim, *, dtype=None):
    x = x if dtype is None else x.to(dtype)

    def running(row):
        total, products = 1, []
        for each in row:
            total *= each
            products.append(total)
        return products

    made = _row_by_row(x, dim, running, int64 if x.dtype.kind < 2 else x.dtype)

    def back(g):
        """Sum over the products that a factor stands in, each without that factor."""
        if x.dim() == 0:
            return g
        size, got = x.shape[dim], []
        for i in range(size):
            others = x.clone()
            others.select(dim, i).fill_(1.0)
            later = (g * others.cumprod(dim)).narrow(dim, i, size - i)
            got.append(later.sum(dim))
        return stack(got, dim)

    return record(made, "CumprodBackward0", (x,), back)


def _running_best(name, better):
    def find(x, dim):
        dim = wrap_dim(dim, x.dim())

        def places(row):
            best, found = 0, []
            for i, each in enumerate(row):
                if i and (each != each or not better(row[best], each)):
                    best = i
                found.append(best)
            return found

        indices = _row_by_row(x, dim, places, int64)
        return Pair(gather(x, dim, indices), indices, name)

    return find


cummax = _running_best("cummax", operator.gt)
cummin = _running_best("cummin", operator.lt)


def logcumsumexp(x, dim):
    return cumsum(exp(x - x.detach().amax()), dim).log() + x.detach().amax()


def diff(x, n=1, dim=-1):
    for _ in range(n):
        x = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    return x


def _ranked(descending):
    def places(row):
        # nan counts as the largest
        return (
            sorted(
                range(len(row)),
                key=lambda i: (row[i] != row[i], row[i] if row[i] == row[i] else 0),
                reverse=descending,
            )
            if not descending
            else sorted(
                range(len(row)),
                key=lambda i: (row[i] == row[i], -row[i] if row[i] == row[i] else 0),
            )
        )

    return places


def argsort(x, dim=-1, descending=False, *, stable=False):
    return _row_by_row(x, dim, _ranked(descending), int64)


def sort(x, dim=-1, descending=False, *, stable=False):
    indices = argsort(x, dim, descending)
    return Pair(gather(x, dim, indices) if x.dim() else x.clone(), indices, "sort")


def msort(x):
    return sort(x, 0).values


def topk(x, k, dim=-1, largest=True, sorted=True):
    dim = wrap_dim(dim, x.dim())
    if k > (x.shape[dim] if x.dim() else 1):
        raise RuntimeError("selected index k out of range")
    if x.dim() == 0:
        return Pair(x.clone(), new([0] * k, () if k else (0,), int64), "topk")
    indices = argsort(x, dim, largest).narrow(dim, 0, k)
    return Pair(gather(x, dim, indices), indices, "topk")


def kthvalue(x, k, dim=-1, keepdim=False):
    if not 1 <= k <= (x.shape[dim] if x.dim() else 1):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, x.dim())}"
        )
    if x.dim() == 0:
        return Pair(x.clone(), new([0], (), int64), "kthvalue")
    values, indices = sort(x, dim)
    return Pair(values.select(dim, k - 1), indices.select(dim, k - 1), "kthvalue")


def median(x, dim=None, keepdim=False):
    if dim is None:
        numbers = flat(x)
        if any(each != each for each in numbers):
            return new([nan], (), x.dtype)
        return sort(x.flatten()).values[(x.numel() - 1) // 2]
    if x.dim() == 0:
        return Pair(x.clone(), new([0], (), int64), "median")
    values, indices = sort(x, dim)
    middle = (x.shape[dim] - 1) // 2
    values, indices = values.narrow(dim, middle, 1), indices.narrow(dim, middle, 1)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return Pair(values, indices, "median")


def quantile(x, q, dim=None, keepdim=False):
    if dim is None:
        x, dim = x.flatten(), 0
    share = float(q) * (x.shape[dim] - 1)
    low = math.floor(share)
    values = sort(x, dim).values
    a, b = values.select(dim, low), values.select(dim, min(low + 1, x.shape[dim] - 1))
    found = a + (share - low) * (b - a)
    return found.unsqueeze(dim) if keepdim else found


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        raise missing("torch.unique(dim=...)")
    numbers = flat(x)
    told = _in_order({each for each in numbers if each == each})
    seen = told + [nan] * (len([each for each in numbers if each != each]))

    def no_slope(g):
        raise NotImplementedError("the derivative for '_unique2' is not implemented.")

    made = [record(new(list(seen), (len(seen),), x.dtype), "NotImplemented", (x,), no_slope)]
    if return_inverse:
        where_ = {each: i for i, each in enumerate(seen)}
        made.append(new([where_[each] for each in numbers], x.shape, int64))
    if return_counts:
        made.append(new([list(numbers).count(each) for each in seen], (len(seen),), int64))
    return made[0] if len(made) == 1 else tuple(made)


def bincount(x, weights=None, minlength=0):
    size = max([minlength, *(each + 1 for each in flat(x))])
    counts = [0] * size
    for each, weight in zip(
        flat(x), flat(weights) if weights is not None else [1] * x.numel(), strict=True
    ):
        counts[each] += weight
    return make(counts, (size,), int64 if weights is None else weights.dtype)


def searchsorted(sorted_sequence, values, *, right=False, side=None):
    find = bisect.bisect_right if right or side == "right" else bisect.bisect_left
    numbers = flat(sorted_sequence)
    values = as_tensor(values)
    return new([find(numbers, each) for each in flat(values)], values.shape, int64)


def bucketize(values, boundaries, *, right=False):
    return searchsorted(boundaries, values, right=right)


def isin(elements, test_elements):
    wanted = set(flat(as_tensor(test_elements)))
    elements = as_tensor(elements)
    return new([each in wanted for each in flat(elements)], elements.shape, bool_)
