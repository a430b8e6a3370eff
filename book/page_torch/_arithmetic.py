"""Two tensors at a time: arithmetic, comparisons, logic; types of results and casts.

The type of a result follows PyTorch's ranking (sizes before single numbers, tensors before
Python's numbers). Left out: complex numbers, `out=`, quantized types.
"""

import math
import operator

from . import _graph
from ._broadcast import broadcast_shape, expand_to, sum_to
from ._creation import as_tensor
from ._dtypes import (
    TITLES,
    bool_,
    dtype_of,
    float32,
    float64,
    get_default_dtype,
    inf,
    nan,
    on_cpu,
    promote_types,
)
from ._dtypes import device as Device
from ._dtypes import dtype as DType
from ._graph import record
from ._tensor import Tensor, assign, flat, make, new


def result_type(*operands):
    """Return the type of a result: sizes before single numbers, tensors before Python's."""
    ranked = [None, None, None]
    for each in operands:
        if isinstance(each, Tensor):
            rank, dtype = (0 if each.shape else 1), each.dtype
        else:
            rank, dtype = 2, dtype_of(each)
            if dtype is None:
                raise TypeError(f"unsupported operand type: {type(each).__name__}")
        ranked[rank] = dtype if ranked[rank] is None else promote_types(ranked[rank], dtype)
    found = None
    for dtype in reversed(ranked):
        if dtype is None:
            continue
        if found is None or dtype.kind == 2 or (dtype.kind == 1 and found.kind < 2):
            found = dtype
        else:
            found = promote_types(dtype, found)
    return found


def _spread_out(*operands):
    """Return the numbers of tensors and of numbers, broadcast, and their shape."""
    shapes = [each.shape for each in operands if isinstance(each, Tensor)]
    shape = shapes[0] if all(each == shapes[0] for each in shapes) else broadcast_shape(*shapes)
    count = math.prod(shape)
    return [
        flat(expand_to(each, shape)) if isinstance(each, Tensor) else [each] * count
        for each in operands
    ], shape


def _same(a, b):
    """Return the operands in the type of the result, and that type."""
    dtype = result_type(a, b)
    return _in_type(a, dtype), _in_type(b, dtype), dtype


def _in_type(operand, dtype):
    if isinstance(operand, Tensor):
        return operand if operand.dtype is dtype else to(operand, dtype)
    if dtype.kind == 2:  # the narrow types compute in float32
        return (float64 if dtype is float64 else float32).fit([operand])[0]
    return operand


def _apply(name, function, dtype, a, b, backward):
    columns, shape = _spread_out(a, b)
    made = make(list(map(function, *columns)), shape, dtype)
    if dtype.kind == 2 and _graph._enabled[-1]:
        inputs = [each for each in (a, b) if isinstance(each, Tensor)]
        if any(each.requires_grad for each in inputs):
            record(
                made,
                name,
                inputs,
                lambda g: [
                    None if each is None else sum_to(each, of.shape)
                    for each, of in zip(backward(g), inputs, strict=True)
                ],
            )
    return made


def _both(a, b, for_a, for_b):
    """Return gradients of those operands that are tensors."""

    def backward(g):
        got = []
        if isinstance(a, Tensor):
            got.append(for_a(g))
        if isinstance(b, Tensor):
            got.append(for_b(g))
        return got

    return backward


def add(a, b, *, alpha=1):
    if alpha != 1:
        b = mul(b, alpha)
    a, b, dtype = _same(a, b)
    if dtype is bool_:
        return _apply("", lambda x, y: x or y, dtype, a, b, None)
    return _apply("AddBackward0", operator.add, dtype, a, b, _both(a, b, lambda g: g, lambda g: g))


def _is_bool(operand):
    return operand.dtype is bool_ if isinstance(operand, Tensor) else isinstance(operand, bool)


def sub(a, b, *, alpha=1):
    if _is_bool(a) and _is_bool(b) and isinstance(a, Tensor) and isinstance(b, Tensor):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"
            " `logical_xor()` operator instead."
        )
    if _is_bool(a) or _is_bool(b):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying"
            " to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    if alpha != 1:
        b = mul(b, alpha)
    a, b, dtype = _same(a, b)
    return _apply("SubBackward0", operator.sub, dtype, a, b, _both(a, b, lambda g: g, lambda g: -g))


def rsub(a, b, *, alpha=1):
    return sub(b, mul(a, alpha) if alpha != 1 else a)


def mul(a, b):
    if not isinstance(a, Tensor):
        a, b = b, a
    a, b, dtype = _same(a, b)
    return _apply(
        "MulBackward0", operator.mul, dtype, a, b, _both(a, b, lambda g: g * b, lambda g: g * a)
    )


def _quotient(x, y):
    try:
        return x / y
    except ZeroDivisionError:
        if x == 0 or x != x:
            return nan
        return math.copysign(inf, x) * math.copysign(1.0, y)


def div(a, b, *, rounding_mode=None):
    if rounding_mode is not None:
        rounded = {"floor": floor_divide, "trunc": _truncated}[rounding_mode]
        return rounded(a.detach(), b.detach() if isinstance(b, Tensor) else b)
    a, b, dtype = _same(a, b)
    if dtype.kind < 2:
        dtype = get_default_dtype()
        a, b = (each.to(dtype) if isinstance(each, Tensor) else float(each) for each in (a, b))
    return _apply(
        "DivBackward0",
        _quotient,
        dtype,
        a,
        b,
        _both(a, b, lambda g: g / b, lambda g: -g * a / (b * b)),
    )


def _floored(x, y):
    try:
        return x // y
    except ZeroDivisionError:
        if isinstance(x, int) and isinstance(y, int):
            raise RuntimeError("ZeroDivisionError") from None
        return _quotient(x, y)


def floor_divide(a, b):
    a, b, dtype = _same(a, b)
    if dtype is bool_:
        raise NotImplementedError("\"div_floor_cpu\" not implemented for 'Bool'")

    def no_slope(g):
        raise RuntimeError("derivative for aten::floor_divide is not implemented")

    return _apply("NotImplemented", _floored, dtype, a, b, no_slope)


def _truncated(a, b):
    a, b, dtype = _same(a, b)

    def toward_zero(x, y):
        q = _quotient(x, y)
        if not math.isfinite(q):
            return q
        return (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)

    return _apply(
        "DivBackward0", toward_zero, dtype, a, b, _both(a, b, lambda g: None, lambda g: None)
    )


def _rest(x, y):
    try:
        return x % y
    except ZeroDivisionError:
        if isinstance(x, int) and isinstance(y, int):
            raise RuntimeError("ZeroDivisionError") from None
        return nan


def remainder(a, b):
    number = not isinstance(a, Tensor)
    a, b, dtype = _same(a, b)
    if dtype is bool_:
        raise NotImplementedError("\"remainder_cpu\" not implemented for 'Bool'")

    def for_b(g):
        if number:
            raise RuntimeError("derivative for aten::remainder is not implemented")
        return -g * floor_divide(a, b)

    return _apply("RemainderBackward0", _rest, dtype, a, b, _both(a, b, lambda g: g, for_b))


def fmod(a, b):
    a, b, dtype = _same(a, b)

    if dtype is bool_:
        raise NotImplementedError("\"fmod_cpu\" not implemented for 'Bool'")

    def rest(x, y):
        if y == 0 and dtype.kind < 2:
            raise RuntimeError("ZeroDivisionError")
        if y == 0 or math.isinf(x):
            return nan
        return math.fmod(x, y) if dtype.kind == 2 else int(math.fmod(x, y))

    return _apply(
        "FmodBackward0",
        rest,
        dtype,
        a,
        b,
        _both(a, b, lambda g: g, lambda g: -g * _truncated(a, b)),
    )


def _power(x, y):
    try:
        return math.pow(x, y)
    except OverflowError:
        return -inf if x < 0 and y % 2 == 1 else inf
    except ValueError:  # zero to a negative power, or a root of a negative number
        return math.copysign(inf, x if y % 2 == 1 else 1) if x == 0 else nan


def _root(x, y):
    return math.sqrt(x) if x >= 0 else nan


def _whole_power(x, y):
    if y >= 0:
        return x**y
    return x ** (-y) if abs(x) == 1 else 0


def pow_(a, b):
    exact = b
    a, b, dtype = _same(a, b)
    if not isinstance(a, Tensor):
        a = dtype.fit([a])[0]
    if dtype.kind == 2 and not isinstance(exact, Tensor):
        b = float(exact)  # an exponent is not rounded
    if dtype.kind == 1 and not isinstance(b, Tensor) and b < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")

    def for_a(g):
        if not isinstance(b, Tensor):
            return g * 0 if b == 0 else g * (b * a ** (b - 1))
        # The exponent less one is rounded in its own type: of 1e-8 in single precision, to −1.
        return (g * (b * pow_(a, exact - 1))).masked_fill(b == 0, 0.0)

    def for_b(g):
        base = a if isinstance(a, Tensor) else as_tensor(float(a)).to(dtype)
        made = pow_(a, b)
        return (g * made * base.log()).masked_fill((base == 0) & (b >= 0), 0.0)

    function = _power if dtype.kind == 2 else _whole_power
    if dtype is bool_ and isinstance(b, Tensor):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if dtype.kind == 2 and not isinstance(b, Tensor) and abs(b) == 0.5:
        function = _root if b > 0 else lambda x, y: _quotient(1.0, _root(x, y))
    return _apply("PowBackward0", function, dtype, a, b, _both(a, b, for_a, for_b))


def float_power(a, b):
    return pow_(a.double() if isinstance(a, Tensor) else a, b)


def _larger(x, y):
    return x if x > y or x != x else y


def _smaller(x, y):
    return x if x < y or x != x else y


def _need_tensors(name, a, b):
    for each, title, place in ((a, "input", 1), (b, "other", 2)):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{name}(): argument '{title}' (position {place}) must be Tensor, not"
                f" {type(each).__name__}"
            )


def _half_each(name, function, behind):
    """Return an operation whose gradient goes to the operand that is not behind; half to each."""

    def compare(a, b):
        _need_tensors(name.lower()[:7], a, b)
        a, b, dtype = _same(a, b)

        def share(g, x, y):
            return (g / 2).where(a == b, g).masked_fill(behind(x, y), 0.0)

        return _apply(
            name,
            function,
            dtype,
            a,
            b,
            _both(a, b, lambda g: share(g, a, b), lambda g: share(g, b, a)),
        )

    return compare


maximum = _half_each("MaximumBackward0", _larger, lambda x, y: x < y)
minimum = _half_each("MinimumBackward0", _smaller, lambda x, y: x > y)
fmax, fmin = maximum, minimum


def atan2(a, b):
    _need_tensors("atan2", a, b)
    a, b, dtype = _same(a, b)

    def share(g, x):
        square = a * a + b * b
        return (g * x / square).masked_fill(square == 0, 0.0)

    return _apply(
        "Atan2Backward0",
        math.atan2,
        dtype if dtype.kind == 2 else get_default_dtype(),
        a,
        b,
        _both(a, b, lambda g: share(g, b), lambda g: share(-g, a)),
    )


def dist(a, b, p=2):
    return (a - b).norm(p)


def lerp(a, b, weight):
    return a + weight * (b - a)


def addcmul(x, a, b, *, value=1):
    return x + value * a * b


def addcdiv(x, a, b, *, value=1):
    return x + value * a / b


# --- comparisons and logic -------------------------------------------------------------------


def _comparison(function):
    def compare(a, b):
        columns, shape = _spread_out(*_alike(a, b))
        return new(list(map(function, *columns)), shape, bool_)

    return compare


def _alike(a, b):
    """Round a Python number to the type of the tensor it is compared with, as PyTorch does."""
    dtype = result_type(a, b)
    return [each.to(dtype) if isinstance(each, Tensor) else dtype.fit([each])[0] for each in (a, b)]


eq, ne = _comparison(operator.eq), _comparison(operator.ne)
lt, le = _comparison(operator.lt), _comparison(operator.le)
gt, ge = _comparison(operator.gt), _comparison(operator.ge)
less, less_equal, greater, greater_equal, not_equal = lt, le, gt, ge, ne


def _logical(name, function):
    def combine(a, b):
        _need_tensors(name, a, b)
        columns, shape = _spread_out(a, b)
        return new(
            [function(bool(x), bool(y)) for x, y in zip(*columns, strict=True)], shape, bool_
        )

    return combine


logical_and = _logical("logical_and", operator.and_)
logical_or = _logical("logical_or", operator.or_)
logical_xor = _logical("logical_xor", operator.xor)


def logical_not(x):
    return new([not each for each in flat(x)], x.shape, bool_)


def _bitwise(name, function):
    def combine(a, b):
        a, b, dtype = _same(a, b)
        columns, shape = _spread_out(a, b)
        if dtype.kind == 2:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{TITLES[dtype]}'")
        return make(list(map(function, *columns)), shape, dtype)

    return combine


bitwise_and = _bitwise("bitwise_and", operator.and_)
bitwise_or = _bitwise("bitwise_or", operator.or_)
bitwise_xor = _bitwise("bitwise_xor", operator.xor)
bitwise_left_shift = _bitwise("lshift", operator.lshift)
bitwise_right_shift = _bitwise("rshift", operator.rshift)


def bitwise_not(x):
    if x.dtype is bool_:
        return logical_not(x)
    if x.dtype.kind == 2:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return make([~each for each in flat(x)], x.shape, x.dtype)


# --- comparisons of tensors ------------------------------------------------------------------


def equal(a, b):
    if a.shape != b.shape:
        return False
    return all(x == y for x, y in zip(flat(a), flat(b), strict=True))


def _close(a, b, rtol, atol, equal_nan):
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{TITLES[a.dtype]} did not match {TITLES[b.dtype]}")
    columns, shape = _spread_out(a, b)

    def one(x, y):
        if x == y:
            return True
        if x != x or y != y:
            return equal_nan and x != x and y != y
        if math.isinf(x) or math.isinf(y):
            return False
        return abs(x - y) <= atol + rtol * abs(y)

    return [one(x, y) for x, y in zip(*columns, strict=True)], shape


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    found, shape = _close(input, other, rtol, atol, equal_nan)
    return new(found, shape, bool_)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return all(_close(input, other, rtol, atol, equal_nan)[0])


# --- types -----------------------------------------------------------------------------------


def clone(x, *, memory_format=None):
    return record(new(list(flat(x)), x.shape, x.dtype), "CloneBackward0", (x,), lambda g: g)


def to(x, *args, dtype=None, device=None, copy=False, non_blocking=False, memory_format=None):
    for each in args:
        if isinstance(each, DType):
            dtype = each
        elif isinstance(each, Tensor):
            dtype = each.dtype
        elif isinstance(each, (str, Device)):
            device = each
    on_cpu(device)
    if dtype is None or dtype is x.dtype:
        return clone(x) if copy else x
    before = x.dtype
    made = new(dtype.fit(flat(x)), x.shape, dtype)
    if before.kind == 2:
        record(made, "ToCopyBackward0", (x,), lambda g: to(g, before))
    return made


def type_as(x, other):
    return to(x, other.dtype)


# --- what ends in an underscore --------------------------------------------------------------


def _in_place(function):
    def apply(x, *args, **kwargs):
        return assign(x, function(x, *args, **kwargs))

    return apply
