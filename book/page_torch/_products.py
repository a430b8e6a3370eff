"""Products of matrices: matmul and its kin, einsum."""

import math
import operator

from . import _graph
from ._arithmetic import mul
from ._broadcast import broadcast_shape, expand_to, wrap_dim
from ._copies import stack
from ._dtypes import C_NAMES, TITLES, bool_
from ._graph import record
from ._tensor import Tensor, flat, make
from ._views import mT, unsqueeze

_in_order = sorted  # arguments are called `sorted`, too
_sumprod = getattr(math, "sumprod", None) or (lambda a, b: sum(map(operator.mul, a, b)))


def _product(a, b):
    """Multiply batches of matrices of one shape; both tensors have three axes or more."""
    batch = math.prod(a.shape[:-2])
    n, k, m = a.shape[-2], a.shape[-1], b.shape[-1]
    left, right = flat(a), flat(mT(b).detach())
    numbers = []
    for i in range(batch):
        rows = [left[(i * n + r) * k : (i * n + r + 1) * k] for r in range(n)]
        columns = [right[(i * m + c) * k : (i * m + c + 1) * k] for c in range(m)]
        numbers += [_sumprod(row, column) for row in rows for column in columns]
    return make(numbers, (*a.shape[:-1], m), a.dtype)


def matmul(a, b):
    for place, each in ((1, a), (2, b)):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"matmul(): argument '{'input' if place == 1 else 'other'}' (position {place})"
                f" must be Tensor, not {type(each).__name__}"
            )
    if a.dim() == 0 or b.dim() == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.dim()}D and"
            f" {b.dim()}D"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(_unlike(a, b))
    if a.dtype is bool_:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    first, second = a.dim() == 1, b.dim() == 1
    _check_product(a, b)
    x = unsqueeze(a, 0) if first else a
    y = unsqueeze(b, 1) if second else b
    batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
    x, y = expand_to(x, (*batch, *x.shape[-2:])), expand_to(y, (*batch, *y.shape[-2:]))
    made = _product(x, y)
    if _graph._enabled[-1]:
        record(
            made,
            "MmBackward0" if not batch else "BmmBackward0",
            (x, y),
            lambda g: (matmul(g, mT(y)), matmul(mT(x), g)),
        )
    if first:
        made = made.squeeze(-2)
    if second:
        made = made.squeeze(-1)
    return made


def _unlike(a, b):
    """Return what PyTorch says to two types of numbers: it depends on the axes."""
    if a.dim() == b.dim() == 1:
        return (
            "dot : expected both vectors to have same dtype, but found"
            f" {TITLES[a.dtype]} and {TITLES[b.dtype]}"
        )
    if b.dim() > 2:
        return f"expected scalar type {TITLES[a.dtype]} but found {TITLES[b.dtype]}"
    return (
        "expected m1 and m2 to have the same dtype, but got:"
        f" {C_NAMES[a.dtype]} != {C_NAMES[b.dtype]}"
    )


def _check_product(a, b):
    k, m = a.shape[-1], b.shape[-2] if b.dim() > 1 else b.shape[0]
    if k == m:
        return
    if a.dim() == 1 and b.dim() == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{k}] and src [{m}] to have the same"
            " number of"
            f" elements, but got {k} and {m} elements respectively"
        )
    if b.dim() == 1:
        rows = math.prod(a.shape[:-1])
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{k}), vec ({m})")
    if b.dim() > 2:
        batch = math.prod(broadcast_shape(a.shape[:-2], b.shape[:-2]))
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be:"
            f" [{batch}, {k}] but got: [{batch}, {m}]."
        )
    rows = math.prod(a.shape[:-1])
    columns = b.shape[-1] if b.dim() > 1 else 1
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {m}x{columns})")


def mm(a, b):
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError("self must be a matrix" if a.dim() != 2 else "mat2 must be a matrix")
    return matmul(a, b)


def bmm(a, b):
    if a.dim() != 3 or b.dim() != 3:
        raise RuntimeError(f"batch{1 if a.dim() != 3 else 2} must be a 3D tensor")
    if a.shape[0] != b.shape[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be:"
            f" [{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    return matmul(a, b)


def mv(a, b):
    return matmul(a, b)


def dot(a, b):
    if a.dim() != 1 or b.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.dim()}D and {b.dim()}D tensors")
    return matmul(a, b)


vdot = dot


def inner(a, b):
    return (
        dot(a, b)
        if a.dim() == b.dim() == 1
        else matmul(a, mT(b))
        if a.dim() > 1 and b.dim() > 1
        else (a * b).sum(-1)
    )


def outer(a, b):
    if a.dim() != 1 or b.dim() != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {a.dim()}-D")
    return mul(unsqueeze(a, 1), b)


ger = outer


def addmm(x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * matmul(a, b)


baddbmm = addmm


def addmv(x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * matmul(a, b)


def trace(x):
    return x.diagonal().sum()


def cross(a, b, dim=-1):
    x, y = a.movedim(dim, 0), b.movedim(dim, 0)
    rows = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return stack(rows).movedim(0, dim)


def kron(a, b):
    return mul(a[:, None, :, None], b[None, :, None, :]).reshape(a.shape[0] * b.shape[0], -1)


def cdist(a, b, p=2.0):
    return (a.unsqueeze(-2) - b.unsqueeze(-3)).norm(p, dim=-1)


def tensordot(a, b, dims=2):
    if isinstance(dims, int):
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = ([each] if isinstance(each, int) else list(each) for each in dims)
    kept = [i for i in range(a.dim()) if i not in [wrap_dim(axis, a.dim()) for axis in left]]
    rest = [i for i in range(b.dim()) if i not in [wrap_dim(r, b.dim()) for r in right]]
    size = math.prod(a.shape[i] for i in left)
    x = a.permute(*kept, *left).reshape(-1, size)
    y = b.permute(*right, *rest).reshape(size, -1)
    return matmul(x, y).reshape([a.shape[i] for i in kept] + [b.shape[i] for i in rest])


def einsum(equation, *operands):
    """Sum of products by the letters of the axes."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise RuntimeError(
            f"einsum(): {'fewer' if len(terms) > len(operands) else 'more'} operands were"
            " provided than specified in the equation"
        )
    spare = [chr(c) for c in range(0x3B1, 0x3C9)]
    most = max(
        [
            op.dim() - len(term.replace("...", ""))
            for term, op in zip(terms, operands, strict=True)
            if "..." in term
        ]
        or [0]
    )
    letters = []
    for term, op in zip(terms, operands, strict=True):
        dots = op.dim() - len(term.replace("...", "")) if "..." in term else 0
        letters.append(term.replace("...", "".join(spare[most - dots : most])))
    if arrow:
        output = output.replace("...", "".join(spare[:most]))
    else:
        joined = "".join(letters)
        output = "".join(spare[:most]) + "".join(
            _in_order(c for c in set(joined) if joined.count(c) == 1 and c not in spare)
        )
    sizes = {}
    parts = []
    for term, op in zip(letters, operands, strict=True):
        if len(term) != op.dim():
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not"
                " match the"
                f" number of dimensions ({op.dim()}) for operand {len(parts)} and no ellipsis"
                " was given"
            )
        while len(set(term)) < len(term):
            c = next(c for c in term if term.count(c) > 1)
            i = term.index(c)
            j = term.index(c, i + 1)
            op = op.diagonal(0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + c
        for c, size in zip(term, op.shape, strict=True):
            if sizes.get(c, 1) not in (1, size) and size != 1:
                raise RuntimeError(
                    "einsum(): operands do not broadcast with remapped shapes [original->remapped]"
                )
            sizes[c] = max(sizes.get(c, 1), size)
        parts.append((term, op))
    while len(parts) > 1:
        (t1, a), (t2, b) = parts[0], parts[1]
        rest = output + "".join(term for term, _ in parts[2:])
        names = [c for c in dict.fromkeys(t1 + t2)]
        gone = [c for c in names if c not in rest]
        parts[:2] = [_pairwise(t1, a, t2, b, [c for c in names if c in rest], gone)]
    term, made = parts[0]
    for c in [c for c in term if c not in output]:
        made = made.sum(dim=term.index(c))
        term = term.replace(c, "")
    return made.permute(*[term.index(c) for c in output]) if term != output else made


def _pairwise(t1, a, t2, b, kept, gone):
    def lined(term, x, names):
        order = [c for c in names if c in term]
        x = x.permute(*[term.index(c) for c in order])
        return x.reshape([x.shape[order.index(c)] if c in order else 1 for c in names])

    for c in [c for c in gone if c not in t2]:
        a, t1 = a.sum(dim=t1.index(c)), t1.replace(c, "")
    for c in [c for c in gone if c not in t1]:
        b, t2 = b.sum(dim=t2.index(c)), t2.replace(c, "")
    gone = [c for c in gone if c in t1 and c in t2]
    names = kept + gone
    made = mul(lined(t1, a, names), lined(t2, b, names))
    if gone:
        made = made.sum(dim=list(range(len(kept), len(names))))
    return "".join(kept), made
