"""Number types, shapes and devices, and the rounding that each type does."""

import math
import struct
from array import array

from ._missing import missing

inf, nan = math.inf, math.nan


class dtype:
    """A type of numbers; `kind` is 0 for bool, 1 for integers, 2 for floats."""

    def __init__(self, name, kind, itemsize, fit):
        self.name, self.kind, self.itemsize, self.fit = name, kind, itemsize, fit
        self.is_floating_point = kind == 2
        self.is_signed = kind == 2 or (kind == 1 and name != "uint8")
        self.is_complex = False

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


def _bools(numbers):
    return [x != 0 for x in numbers]


def _floats(numbers):
    return [float(x) for x in numbers]


def _singles(numbers):
    try:
        return array("f", numbers).tolist()
    except OverflowError:  # an integer too large for a float
        return array("f", [min(max(x, -1e300), 1e300) for x in numbers]).tolist()


def _halves(numbers):
    numbers = _singles(numbers)
    try:
        return list(struct.unpack(f"{len(numbers)}e", struct.pack(f"{len(numbers)}e", *numbers)))
    except OverflowError:
        return [_half(x) for x in numbers]


def _half(x):
    try:
        return struct.unpack("e", struct.pack("e", x))[0]
    except OverflowError:
        return math.copysign(inf, x)


def _brains(numbers):
    """Round to bfloat16: the upper half of a float32, to even."""
    bits = array("I", array("f", _singles(numbers)).tobytes())
    nans = [math.isnan(x) for x in numbers]
    kept = [(b + 0x7FFF + ((b >> 16) & 1)) & 0xFFFF0000 for b in bits]
    rounded = array("f", array("I", [min(b, 0xFFFF0000) for b in kept]).tobytes())
    return [nan if lost else x for x, lost in zip(rounded, nans, strict=True)]


def _integers(bits, signed=True):
    low = -(1 << (bits - 1)) if signed else 0
    span = 1 << bits
    high = low + span - 1

    def fit(numbers):
        return [
            x if type(x) is int and low <= x <= high else _wrapped(x, low, span) for x in numbers
        ]

    return fit


def _wrapped(x, low, span):
    """Return what a processor makes of a number that does not fit.

    A float becomes an integer of 32 bits first, or of 64; one beyond those, the least.
    """
    if isinstance(x, float):
        half = max(span, 1 << 32) // 2
        x = int(x) if -half - 1 < x < half else -half
    return (int(x) - low) % span + low


bool_ = dtype("bool", 0, 1, _bools)
uint8 = dtype("uint8", 1, 1, _integers(8, signed=False))
int8 = dtype("int8", 1, 1, _integers(8))
int16 = dtype("int16", 1, 2, _integers(16))
int32 = dtype("int32", 1, 4, _integers(32))
int64 = dtype("int64", 1, 8, _integers(64))
float16 = dtype("float16", 2, 2, _halves)
bfloat16 = dtype("bfloat16", 2, 2, _brains)
float32 = dtype("float32", 2, 4, _singles)
float64 = dtype("float64", 2, 8, _floats)

DTYPES = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)
NAMES = {
    **{each.name: each for each in DTYPES},
    "short": int16,
    "int": int32,
    "long": int64,
    "half": float16,
    "float": float32,
    "double": float64,
}
#: What error messages call them.
TITLES = {
    bool_: "Bool",
    uint8: "Byte",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    bfloat16: "BFloat16",
    float32: "Float",
    float64: "Double",
}
#: What some of them call the types: as C++ does.
C_NAMES = {
    bool_: "bool",
    uint8: "unsigned char",
    int8: "signed char",
    int16: "short",
    int32: "int",
    int64: "long int",
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
}
_default = [float32]


def get_default_dtype():
    return _default[0]


def set_default_dtype(d):
    _default[0] = d


def promote_types(a, b):
    """Return the type that holds numbers of both."""
    if a is b:
        return a
    if a.kind != b.kind:
        return a if a.kind > b.kind else b
    if {a, b} == {float16, bfloat16}:
        return float32
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.itemsize > b.itemsize else b


def dtype_of(number):
    """Return the type that a Python number has beside tensors."""
    if isinstance(number, bool):
        return bool_
    if isinstance(number, int):
        return int64
    if isinstance(number, float):
        return get_default_dtype()
    return None


class finfo:
    """The limits of a floating-point type."""

    def __init__(self, type=None):
        d = type or get_default_dtype()
        if d.kind != 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"
                f" '{d}'"
            )
        exponent, fraction = {
            float16: (5, 10),
            bfloat16: (8, 7),
            float32: (8, 23),
            float64: (11, 52),
        }[d]
        top = 2 ** (exponent - 1) - 1
        self.dtype, self.bits = d.name, 8 * d.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - 2.0**-fraction) * 2.0**top
        self.min, self.tiny = -self.max, 2.0 ** (1 - top)
        self.smallest_normal, self.resolution = (
            self.tiny,
            10.0 ** math.floor(math.log10(self.eps) + 0.7),
        )

    def __repr__(self):
        limits = f"min={self.min}, max={self.max}, eps={self.eps}"
        return f"finfo(resolution={self.resolution}, {limits}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer type."""

    def __init__(self, type):
        self.dtype, self.bits = type.name, 8 * type.itemsize
        self.min = -(1 << (self.bits - 1)) if type.is_signed else 0
        self.max = self.min + (1 << self.bits) - 1


class Size(tuple[int, ...]):
    """A shape."""

    __slots__ = ()

    def numel(self):
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def __getitem__(self, key):
        got = tuple.__getitem__(self, key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    def __reduce__(self):
        return Size, (tuple(self),)


class device:
    """Where a tensor is: here always the CPU."""

    def __init__(self, type="cpu", index=None):
        name, _, number = str(type).partition(":")
        if name not in ("cpu", "cuda", "mps", "meta"):
            raise RuntimeError(
                "Expected one of cpu, cuda, mps, meta device type at start of device string:"
                f" {type}"
            )
        self.type = name
        self.index = int(number) if number else index

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __enter__(self):
        """Where tensors are made in a block: on the CPU, as everywhere."""
        on_cpu(self)
        return self

    def __exit__(self, *error):
        pass


class layout:
    """How numbers lie in memory: here always one behind the other, with strides."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


class memory_format(layout):
    """The order of the axes in memory: here always that of the shape."""


CPU = device("cpu")
STRIDED = layout("strided")


def on_cpu(where):
    """Reject a device that a page does not have."""
    if where is not None and str(where).partition(":")[0] != "cpu":
        raise missing(f"torch.device({str(where)!r})")
