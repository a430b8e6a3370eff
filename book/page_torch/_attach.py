"""Hangs the operations on the tensor class: as methods, in place, and for Python's operators."""

from . import (
    _arithmetic,
    _broadcast,
    _choices,
    _copies,
    _creation,
    _pointwise,
    _products,
    _reductions,
    _rows,
    _views,
)
from ._arithmetic import _in_place
from ._creation import as_tensor, bernoulli, full, multinomial, rand, randn, tensor
from ._dtypes import NAMES as _DTYPE_NAMES
from ._dtypes import TITLES
from ._missing import known
from ._tensor import Tensor, assign

_OPERATIONS = (
    *(_arithmetic, _pointwise, _choices, _reductions, _rows, _products),
    *(_broadcast, _views, _copies),
)


def attach():
    """Add the methods; return what the module gets under the same names.

    What PyTorch has as a function, as a method, and in place, its names tell.
    """
    names = {}
    for module in _OPERATIONS:
        for own, function in vars(module).items():
            if getattr(function, "__module__", None) != module.__name__ or own[0] == "_":
                continue
            name = own.rstrip("_")
            if name in known("torch"):
                names[name] = function
            if name in known("Tensor"):
                setattr(Tensor, name, function)
            if f"{name}_" in known("Tensor"):
                setattr(Tensor, f"{name}_", _in_place(function))
    Tensor.T, Tensor.mT = property(_views.T), property(_views.mT)
    Tensor.H, Tensor.mH = Tensor.T, Tensor.mT
    Tensor.real = property(lambda x: x)
    for name in ("bool", "short", "int", "long", "half", "float", "double", "bfloat16"):
        setattr(Tensor, name, _cast(_DTYPE_NAMES[name]))
    Tensor.byte, Tensor.char = _cast(_DTYPE_NAMES["uint8"]), _cast(_DTYPE_NAMES["int8"])
    Tensor.cpu = lambda x, **ignored: x
    Tensor.cuda = lambda x, *args, **ignored: x.to(device="cuda")
    Tensor.type = lambda x, dtype=None: x.to(dtype) if dtype is not None else _type_name(x)
    Tensor.pin_memory = Tensor.resolve_conj = Tensor.resolve_neg = Tensor.conj = lambda x: x
    Tensor.share_memory_ = lambda x: x
    for name in ("zeros", "ones", "empty"):
        setattr(Tensor, f"new_{name}", _new_like(vars(_creation)[name]))
    Tensor.new_full = lambda x, size, value, *, dtype=None, device=None, **k: full(
        size, value, dtype=dtype or x.dtype, **k
    )
    Tensor.new_tensor = lambda x, data, *, dtype=None, **k: tensor(
        data, dtype=dtype or x.dtype, **k
    )
    Tensor.bernoulli, Tensor.multinomial = bernoulli, multinomial
    aliases = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div"}
    for alias, name in aliases.items():
        setattr(Tensor, alias, names[name])
        setattr(Tensor, alias + "_", _in_place(names[name]))
        names[alias] = names[name]
    Tensor.copy_ = _copied
    Tensor.fill_ = lambda x, value: assign(
        x, _arithmetic.to(_broadcast.expand_to(as_tensor(value), x.shape), x.dtype), True
    )
    Tensor.masked_fill_ = lambda x, mask, value: assign(x, x.masked_fill(mask, value), True)
    Tensor.zero_ = lambda x: Tensor.fill_(x, 0)
    Tensor.fill_diagonal_ = lambda x, value: (x.diagonal().fill_(value), x)[1]
    Tensor.normal_ = lambda x, mean=0.0, std=1.0, *, generator=None: assign(
        x, randn(*x.shape, dtype=x.dtype, generator=generator) * std + mean
    )
    Tensor.uniform_ = lambda x, low=0.0, high=1.0, *, generator=None: assign(
        x, rand(*x.shape, dtype=x.dtype, generator=generator) * (high - low) + low
    )
    Tensor.bernoulli_ = lambda x, p=0.5, *, generator=None: assign(
        x, bernoulli(x, p, generator=generator)
    )
    Tensor.unsqueeze_ = _reshaped(_views.unsqueeze)
    Tensor.squeeze_ = _reshaped(_views.squeeze)
    Tensor.transpose_, Tensor.t_ = _reshaped(_views.transpose), _reshaped(_views.t)
    Tensor.__neg__, Tensor.__abs__, Tensor.__pos__ = _pointwise.neg, _pointwise.abs_, lambda x: x
    Tensor.__invert__ = _arithmetic.bitwise_not
    for name, function in {
        "add": _arithmetic.add,
        "sub": _arithmetic.sub,
        "mul": _arithmetic.mul,
        "truediv": _arithmetic.div,
        "floordiv": _arithmetic.floor_divide,
        "mod": _arithmetic.remainder,
        "pow": _arithmetic.pow_,
        "and": _arithmetic.bitwise_and,
        "or": _arithmetic.bitwise_or,
        "xor": _arithmetic.bitwise_xor,
        "lshift": _arithmetic.bitwise_left_shift,
        "rshift": _arithmetic.bitwise_right_shift,
    }.items():
        setattr(Tensor, f"__{name}__", _operator(function))
        setattr(Tensor, f"__r{name}__", _operator(function, turned=True))
        setattr(Tensor, f"__i{name}__", _operator(_in_place(function)))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", _operator(names[name]))
    Tensor.__matmul__ = lambda x, other: (
        _products.matmul(x, other) if isinstance(other, Tensor) else NotImplemented
    )
    Tensor.__rmatmul__ = lambda x, other: NotImplemented
    Tensor.__imatmul__ = Tensor.__matmul__
    Tensor.positive = lambda x: x
    Tensor.where = lambda x, condition, other: _choices.where(condition, x, other)
    return names


def _operator(function, turned=False):
    def apply(x, other):
        if isinstance(other, (Tensor, int, float)):
            return function(other, x) if turned else function(x, other)
        return NotImplemented

    return apply


def _cast(kind):
    return lambda x, **ignored: x.to(kind)


def _new_like(create):
    return lambda x, *size, dtype=None, device=None, **k: create(*size, dtype=dtype or x.dtype, **k)


def _type_name(x):
    return f"torch.{TITLES[x.dtype]}Tensor"


def _copied(x, source, non_blocking=False):
    return assign(x, _broadcast.expand_to(_arithmetic.to(source, x.dtype), x.shape))


def _reshaped(function):
    def apply(x, *args):
        made = function(x, *args)
        x.shape, x._strides = made.shape, made._strides
        return x

    return apply
