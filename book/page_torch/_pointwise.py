"""One number at a time: exp, tanh, relu, clamp ... each with its slope.

Python's math raises where PyTorch gives NaN or infinity: each function says here what it gives.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

from . import _graph
from ._arithmetic import _quotient, maximum, minimum, result_type, to
from ._creation import as_tensor
from ._dtypes import TITLES, bool_, finfo, get_default_dtype, inf, int64, nan
from ._graph import record
from ._tensor import Tensor, flat, make, new


def _pointwise(name, function, slope=None, keep=False) -> Callable[..., Any]:
    """Return an operation; `slope` makes the derivative from the input and the output.

    With `keep`, integers stay integers; else they become floats first.
    """

    def apply(x):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}"
            )
        dtype = x.dtype if keep or x.dtype.kind == 2 else get_default_dtype()
        if keep and x.dtype is bool_:
            _no_bools(name)
        if name == "frac" and x.dtype.kind < 2:
            raise NotImplementedError(f"\"frac_cpu\" not implemented for '{TITLES[x.dtype]}'")
        numbers = flat(x)
        made = make([function(each) for each in numbers], x.shape, dtype)
        if x.dtype.kind == 2 and _graph._enabled[-1]:
            title = "".join(part.capitalize() for part in name.split("_")) + "Backward0"
            record(made, title, (x,), lambda g: g * slope(x, made) if slope else g * 0)
        return made

    apply.__name__ = name
    return apply


def _no_bools(name):
    if name == "relu":
        raise RuntimeError("Boolean inputs not supported for relu")
    if name in ("abs", "floor", "ceil", "trunc"):
        kernel = name if name == "abs" else f"{name}_vml"
        raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for 'Bool'")


def _guarded(function, wrong=nan, huge=inf):
    def call(x):
        try:
            return function(x)
        except ValueError:
            return wrong
        except OverflowError:
            return huge

    return call


def _log(function):
    def call(x):
        if x == 0:
            return -inf
        try:
            return function(x)
        except ValueError:
            return nan

    return call


def _whole(function):
    return lambda x: (
        math.copysign(function(x), x) if isinstance(x, float) and math.isfinite(x) else x
    )


def _sigmoid(x):
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x) if x == x else nan
    return e / (1 + e)


def _hyperbolic(function):
    def call(x):
        try:
            return function(x)
        except OverflowError:
            return math.copysign(inf, x)

    return call


exp = _pointwise("exp", _guarded(math.exp), lambda x, y: y)
exp2 = _pointwise("exp2", _guarded(lambda x: 2.0**x), lambda x, y: y * math.log(2))
expm1 = _pointwise("expm1", _guarded(math.expm1), lambda x, y: y + 1)
log = _pointwise("log", _log(math.log), lambda x, y: 1 / x)
log2 = _pointwise("log2", _log(math.log2), lambda x, y: 1 / (x * math.log(2)))
log10 = _pointwise("log10", _log(math.log10), lambda x, y: 1 / (x * math.log(10)))
log1p = _pointwise(
    "log1p", lambda x: -inf if x == -1 else _guarded(math.log1p)(x), lambda x, y: 1 / (x + 1)
)
sqrt = _pointwise("sqrt", _guarded(math.sqrt), lambda x, y: 1 / (2 * y))
rsqrt = _pointwise(
    "rsqrt", lambda x: _quotient(1.0, _guarded(math.sqrt)(x)), lambda x, y: -(y**3) / 2
)
sin = _pointwise("sin", _guarded(math.sin), lambda x, y: x.cos())
cos = _pointwise("cos", _guarded(math.cos), lambda x, y: -x.sin())
tan = _pointwise("tan", _guarded(math.tan), lambda x, y: 1 + y * y)
asin = _pointwise("asin", _guarded(math.asin), lambda x, y: rsqrt(1 - x * x))
acos = _pointwise("acos", _guarded(math.acos), lambda x, y: -rsqrt(1 - x * x))
atan = _pointwise("atan", math.atan, lambda x, y: 1 / (1 + x * x))
sinh = _pointwise("sinh", _hyperbolic(math.sinh), lambda x, y: x.cosh())
cosh = _pointwise("cosh", _guarded(math.cosh), lambda x, y: x.sinh())
tanh = _pointwise("tanh", math.tanh, lambda x, y: 1 - y * y)
sigmoid = _pointwise("sigmoid", _sigmoid, lambda x, y: y * (1 - y))
erf = _pointwise("erf", math.erf, lambda x, y: exp(-x * x) * (2 / math.sqrt(math.pi)))
relu = _pointwise(
    "relu",
    lambda x: x if x > 0 or x != x else type(x)(0),
    lambda x, y: (~(y <= 0)).to(x.dtype),
    keep=True,
)
abs_ = _pointwise("abs", operator.abs, lambda x, y: x.sign(), keep=True)
sign = _pointwise("sign", lambda x: (x > 0) - (x < 0), keep=True)
floor = _pointwise("floor", _whole(math.floor), keep=True)
ceil = _pointwise("ceil", _whole(math.ceil), keep=True)
trunc = _pointwise("trunc", _whole(math.trunc), keep=True)
frac = _pointwise(
    "frac", lambda x: math.fmod(x, 1.0) if math.isfinite(x) else nan, lambda x, y: 1.0
)
reciprocal = _pointwise("reciprocal", lambda x: _quotient(1.0, x), lambda x, y: -y * y)
_square = _pointwise("square", lambda x: x * x, lambda x, y: 2 * x, keep=True)
deg2rad = _pointwise("deg2rad", math.radians, lambda x, y: math.pi / 180)
absolute, fix = abs_, trunc


def square(x):
    return _square(to(x, int64) if x.dtype is bool_ else x)


def neg(x):
    if x.dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to"
            " invert a mask, use the `~` or `logical_not()` operator instead."
        )
    made = make([-each for each in flat(x)], x.shape, x.dtype)
    return record(made, "NegBackward0", (x,), lambda g: -g)


negative = neg


def round_(x, *, decimals=0):
    if x.dtype is bool_:
        raise NotImplementedError("\"round_vml_cpu\" not implemented for 'Bool'")
    scale = 10.0**decimals

    def one(each):
        if not isinstance(each, float) or not math.isfinite(each):
            return each
        return math.copysign(round(each * scale) / scale, each)

    return record(
        make([one(each) for each in flat(x)], x.shape, x.dtype),
        "RoundBackward0",
        (x,),
        lambda g: g * 0,
    )


def _test(function):
    return lambda x: new([function(each) for each in flat(x)], x.shape, bool_)


isnan = _test(lambda x: x != x)
isinf = _test(lambda x: isinstance(x, float) and math.isinf(x))
isfinite = _test(math.isfinite)
isposinf = _test(lambda x: x == inf)
isneginf = _test(lambda x: x == -inf)
signbit = _test(lambda x: math.copysign(1, x) < 0)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind < 2:
        return x.clone()
    limits = finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    made = make(
        [
            nan if each != each else high if each == inf else low if each == -inf else each
            for each in flat(x)
        ],
        x.shape,
        x.dtype,
    )
    return record(made, "NanToNumBackward0", (x,), lambda g: g * isfinite(x))


def clamp(x, min=None, max=None):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if any(isinstance(bound, Tensor) for bound in (min, max)):
        x = maximum(x, as_tensor(min).to(x.dtype)) if min is not None else x
        return minimum(x, as_tensor(max).to(x.dtype)) if max is not None else x
    dtype = result_type(*(each for each in (x, min, max) if each is not None))

    def one(each):
        if min is not None and each < min:
            each = min
        if max is not None and each > max:
            each = max
        return each

    made = make([one(each) for each in flat(x)], x.shape, dtype)

    def back(g):
        kept = [(min is None or each >= min) and (max is None or each <= max) for each in flat(x)]
        return g * new(kept, x.shape, bool_)

    return record(made, "ClampBackward1", (x,), back)


def clamp_min(x, min):
    return clamp(x, min=min)


def clamp_max(x, max):
    return clamp(x, max=max)


clip = clamp
