"""Values as bytes, without pickle: what a parent may read of a child that it does not trust.

A message is a tree of plain values in JSON; tensors are raw bytes behind it. Nothing that is read
can run code: what is not plain arrives as an :class:`Opaque`, with the name of its type and its
repr. Used on both sides; needs torch alone.
"""

import ctypes
import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

#: No message is longer, and neither side reads on.
MOST_BYTES = 64 * 2**20
#: A result that is larger is told by its type and shape.
MOST_NUMBERS = MOST_BYTES * 3 // 4
#: No tree of values has more parts, nor is deeper.
MOST_PARTS = 200_000
DEEPEST = 40
#: So many characters of a text or of a repr are told.
MOST_TEXT = 4_000
#: Names of classes and functions are cut here.
_MOST_NAME = 200
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    )
}


class WireError(KeyboardInterrupt):
    """What came is no message.

    As an interruption it passes through all that takes an answer's errors for findings.
    """


class Opaque:
    """What came as its repr alone. Its class has the name of the original's."""

    told = ""

    def __repr__(self) -> str:
        """Return what the original printed."""
        return self.told


class Scalar(Opaque):
    """A number of NumPy's, or an array of no axes: its shape and ``item()`` are asked of it."""

    shape = ()
    number: Any = None

    def item(self) -> Any:
        """Return the number."""
        return self.number


@dataclass(frozen=True)
class Function:
    """A function of the other side.

    Attributes:
        number: Its number there.
        name: What it is called.
        parameters: Of each parameter the name, the kind, and how its default prints, if it has
            one; None where the function tells nothing of them.
        text: How it prints.
    """

    number: int
    name: str
    parameters: tuple[tuple[str, str, str | None], ...] | None
    text: str


def repr_of(value: Any) -> str:
    """Return how a value prints, cut; whatever its class does there."""
    try:
        return str(repr(value))[:MOST_TEXT]
    except BaseException as error:
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


class Writer:
    """Makes one message.

    Args:
        export: Turns a function into the :class:`Function` that stands for it; without it, a
            function is told by its repr.
    """

    def __init__(self, export: Callable[[Callable[..., Any]], Function] | None = None) -> None:
        self._blobs: list[bytes] = []
        self._parts = self._size = 0
        self._export = export

    def bytes(self, value: Any) -> bytes:
        """Return the message.

        Raises:
            ValueError: if the value is nested too deeply to be told.
        """
        try:
            head = json.dumps(self._tree(value, 0)).encode("ascii")
        except RecursionError:
            raise ValueError("nested too deeply") from None
        return struct.pack("<I", len(head)) + head + b"".join(self._blobs)

    def _tree(self, value: Any, depth: int) -> Any:
        self._parts += 1
        if depth > DEEPEST or self._parts > MOST_PARTS:
            return _opaque(value, "too deep or too long to be told")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if abs(value) < 10**300 else _opaque(value, "a number of over 300 digits")
        if kind is float:
            return value if math.isfinite(value) else ["f", repr(value)]
        if kind is str:
            return value if len(value) <= MOST_PARTS else _opaque(value, value[:MOST_TEXT])
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, Function):
            signature = None if value.parameters is None else [list(p) for p in value.parameters]
            return ["fn", value.number, value.name, signature, value.text]
        return self._compound(value, depth)

    def _compound(self, value: Any, depth: int) -> Any:
        # By the methods of the class itself: a subclass may lie about what it holds.
        bases: tuple[tuple[str, Any], ...] = (
            ("l", list),
            ("t", tuple),
            ("S", set),
            ("F", frozenset),
        )
        for mark, base in bases:
            if isinstance(value, base):
                return [mark, [self._tree(each, depth + 1) for each in base.__iter__(value)]]
        if isinstance(value, dict):
            pairs = dict.items(value)
            return ["d", [[self._tree(k, depth + 1), self._tree(v, depth + 1)] for k, v in pairs]]
        for plain in (bool, int, float, str):
            if isinstance(value, plain):
                return self._tree(plain(value), depth)
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            name, number = type(value).__name__, self._tree(value.item(), depth + 1)
            return ["n", name, number, repr_of(value)]
        if callable(value) and self._export is not None:
            return self._tree(self._export(value), depth)
        return _opaque(value, repr_of(value))

    def _tensor(self, value: Tensor) -> Any:
        # Without the methods of a subclass: what it overrides concerns its own process only.
        with torch._C.DisableTorchFunctionSubclass():
            plain = value.detach().as_subclass(Tensor)
            dtype = str(plain.dtype).removeprefix("torch.")
            if plain.layout != torch.strided or dtype not in DTYPES or plain.is_quantized:
                return ["o", "Tensor", repr_of(plain)]
            shape = list(plain.shape)
            size = plain.numel() * plain.element_size()
            if plain.device.type != "cpu" or self._size + size > MOST_NUMBERS:
                return ["H", dtype, shape]
            self._size += size
            own = torch.empty(plain.numel(), dtype=plain.dtype).copy_(plain.reshape(-1))
            data = ctypes.string_at(own.data_ptr(), size) if size else b""
            self._blobs.append(data)
            return ["T", dtype, shape, len(data), bool(value.requires_grad)]


def _opaque(value: Any, text: str) -> Any:
    return ["o", type(value).__name__, text]


class Reader:
    """Reads one message, which an enemy may have made.

    Args:
        data: The message.
        resolve: Turns a function of the other side into what is called here.
    """

    def __init__(self, data: bytes, resolve: Callable[[Function], Any]) -> None:
        self._data = memoryview(data)
        self._at = self._parts = 0
        self._resolve = resolve

    def value(self) -> Any:
        """Return what the message holds.

        Raises:
            WireError: if it is none.
        """
        try:
            (length,) = struct.unpack_from("<I", self._data)
            self._at = 4 + length
            if self._at > len(self._data):
                raise WireError("the head is cut off")
            return self._value(json.loads(bytes(self._data[4 : self._at])), 0)
        except WireError:
            raise
        except Exception as error:  # whatever it is, this is no message
            raise WireError(f"{type(error).__name__}: {error}"[:200]) from None

    def _value(self, node: Any, depth: int) -> Any:
        self._parts += 1
        if depth > DEEPEST + 2 or self._parts > MOST_PARTS + 10:
            raise WireError("too deep or too long")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        match node:
            case ["f", str(text)]:
                return float(text)
            case ["l", list(parts)]:
                return [self._value(each, depth + 1) for each in parts]
            case ["t", list(parts)]:
                return tuple(self._value(each, depth + 1) for each in parts)
            case ["S", list(parts)]:
                return {self._value(each, depth + 1) for each in parts}
            case ["F", list(parts)]:
                return frozenset(self._value(each, depth + 1) for each in parts)
            case ["d", list(pairs)]:
                return {self._value(k, depth + 1): self._value(v, depth + 1) for k, v in pairs}
            case ["T", str(dtype), list(shape), int(length), bool(grad)]:
                return self._tensor(DTYPES[dtype], _shape(shape), length, grad)
            case ["H", str(dtype), list(shape)]:
                return torch.empty(_shape(shape), dtype=DTYPES[dtype], device="meta")
            case ["n", str(name), number, str(text)]:
                return _named(name, Scalar, told=text, number=self._value(number, depth + 1))
            case ["o", str(name), str(text)]:
                return _named(name, Opaque, told=text)
            case ["fn", int(number), str(name), signature, str(text)]:
                parameters = None if signature is None else tuple(map(_parameter, signature))
                return self._resolve(
                    Function(number, name[:_MOST_NAME], parameters, text[:MOST_TEXT])
                )
        raise WireError(f"no value: {str(node)[:60]}")

    def _tensor(
        self, dtype: torch.dtype, shape: tuple[int, ...], length: int, grad: bool
    ) -> Tensor:
        if length != math.prod(shape) * dtype.itemsize or self._at + length > len(self._data):
            raise WireError("a tensor's bytes do not fit its shape")
        data = bytearray(self._data[self._at : self._at + length])
        self._at += length
        if not length:
            tensor = torch.empty(shape, dtype=dtype)
        elif dtype == torch.bool:  # a byte that is neither 0 nor 1 would be a third truth value
            tensor = torch.frombuffer(data, dtype=torch.uint8).reshape(shape) != 0
        else:
            tensor = torch.frombuffer(data, dtype=dtype).reshape(shape)
        return tensor.requires_grad_() if grad and dtype.is_floating_point else tensor


def _named(name: str, base: type[Opaque], *, told: str, **rest: Any) -> Opaque:
    found: Opaque = type(name[:_MOST_NAME] or "object", (base,), {})()
    vars(found).update(told=told[:MOST_TEXT], **rest)
    return found


def _parameter(told: Any) -> tuple[str, str, str | None]:
    match told:
        case [str(name), str(kind), None]:
            return name, kind, None
        case [str(name), str(kind), str(default)]:
            return name, kind, default[:MOST_TEXT]
    raise WireError("no parameter")


def _shape(shape: list[Any]) -> tuple[int, ...]:
    if len(shape) > 32 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise WireError("no shape")
    return tuple(shape)
