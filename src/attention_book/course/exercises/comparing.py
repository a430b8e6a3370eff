"""Two results are compared: in what way they differ, and which slip explains it.

A slip is recognized by undoing it: a result that is right once it is transposed was transposed.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any, Literal

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual

#: In what way two results differ.
Difference = Literal["type", "shape", "dtype", "device", "value"]


def difference(expected: Any, got: Any) -> Difference | None:
    """Return in what way a result differs from the expected one; rounding does not count."""
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return _difference_of_tensors(expected, got)
    expected, got = _plain(expected), _plain(got)
    if isinstance(expected, bool) or isinstance(got, bool):
        both = isinstance(expected, bool) and isinstance(got, bool)
        return "type" if not both else None if expected == got else "value"
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return None if _close(expected, got) else "value"
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        if len(expected) != len(got):
            return "value"
        return _first(zip(expected, got, strict=True))
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if expected.keys() != got.keys():
            return "value"
        return _first((expected[key], got[key]) for key in expected)
    if type(expected) is not type(got):
        return "type"
    return None if expected == got else "value"


def _first(pairs: Any) -> Difference | None:
    return next((found for pair in pairs if (found := difference(*pair))), None)


def _plain(value: Any) -> Any:
    """Return a tensor (or an array) of no axes as a number, unless it holds none."""
    holds_one = getattr(value, "shape", None) == () and not getattr(value, "is_meta", False)
    return value.item() if holds_one else value


def _close(expected: float | int, got: float | int) -> bool:
    try:
        if math.isnan(expected) or math.isnan(got):
            return math.isnan(expected) and math.isnan(got)
        return math.isclose(expected, got, rel_tol=1e-4, abs_tol=1e-5)
    except OverflowError:  # an integer that no float can hold
        return expected == got


def _difference_of_tensors(expected: Tensor, got: Tensor) -> Difference | None:
    if got.is_nested or expected.layout != got.layout:  # sparse
        return "type"
    if expected.shape != got.shape:
        return "shape"
    if _sort_of(expected) != _sort_of(got):
        return "dtype"
    if expected.is_meta and got.is_meta:  # neither has numbers
        return None
    if expected.device != got.device:
        return "device"
    if not expected.is_floating_point():
        return None if torch.equal(expected, got) else "value"
    if expected.dtype == got.dtype and torch.equal(expected, got):
        return None  # the usual case, and much the faster
    coarse = any(tensor.dtype.itemsize < 4 for tensor in (expected, got))
    rtol, atol = (2e-2, 2e-3) if coarse else (1e-4, 1e-5)
    a, b = expected.detach().double(), got.detach().double()
    return None if torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) else "value"


def _sort_of(tensor: Tensor) -> str:
    """Return bool, integer, float or complex: of the widths of numbers none is wrong."""
    if tensor.dtype == torch.bool:
        return "bool"
    if tensor.is_complex():
        return "complex"
    return "float" if tensor.is_floating_point() else "integer"


# --- slips --------------------------------------------------------------------------------------

#: What is expected and what came.
Pair = tuple[Any, Any]
#: Whether a result has this slip; None where such a small one can't tell.
Test = Callable[[Tensor, Tensor], bool | None]

#: By name: a learner's NumPy array is told from a tensor without NumPy.
TYPES: Mapping[str, Bilingual] = {
    "Tensor": Bilingual("张量", "a tensor"),
    "ndarray": Bilingual("NumPy 数组", "a NumPy array"),
    "list": Bilingual("列表", "a list"),
    "tuple": Bilingual("元组", "a tuple"),
    "set": Bilingual("集合", "a set"),
    "dict": Bilingual("字典", "a dictionary"),
    "bool": Bilingual("True 或 False", "True or False"),
    "int": Bilingual("一个数", "a number"),
    "float": Bilingual("一个数", "a number"),
    "str": Bilingual("字符串", "a string"),
    "generator": Bilingual("生成器", "a generator"),
    "map": Bilingual("`map`", "a `map`"),
    "zip": Bilingual("`zip`", "a `zip`"),
    "filter": Bilingual("`filter`", "a `filter`"),
    "range": Bilingual("`range`", "a `range`"),
    "function": Bilingual("函数", "a function"),
    "coroutine": Bilingual("协程", "a coroutine"),
}
#: Give their values one by one, and only when asked.
LAZY = ("generator", "map", "zip", "filter", "coroutine")
COLLECT = Bilingual(
    "它还没有算出任何值。写 `return`，不写 `yield`；用 `list(…)` 收集。",
    "It has not computed any value yet. Write `return`, not `yield`, and collect with `list(…)`.",
)
VALUES_AND_PLACES = Bilingual(
    "带 `dim` 的 `max`、`min`、`sort`、`topk` 返回一对（值，位置）：取 `.values` 或 `.indices`。",
    "`max`, `min`, `sort` and `topk` with `dim` return a pair (values, places): take `.values` or"
    " `.indices`.",
)
MAKE_A_TENSOR = Bilingual(
    "几个张量用 `torch.stack` 叠成一个，几个数用 `torch.tensor` 变成一个",
    "`torch.stack` makes one of several tensors, and `torch.tensor` makes one of numbers",
)
NOT_WRITTEN = Bilingual(
    "还没写：把 `...` 换成你的答案。", "Not written yet: put your answer in the place of `...`."
)
BOOLEAN = Bilingual(
    "应当是布尔张量：`<=` 这样的比较直接给出它，也可以用 `.bool()` 转换。",
    "A boolean tensor is expected: a comparison such as `<=` gives one, and `.bool()` makes one.",
)
INTEGER = Bilingual(
    "应当是整数：可以用 `.long()` 转换。", "Integers are expected: `.long()` makes them."
)
FLOAT = Bilingual(
    "应当是浮点数：可以用 `.float()` 转换。",
    "Floating-point numbers are expected: `.float()` makes them.",
)


def slip_hint(results: Iterable[Pair]) -> Bilingual | None:
    """Return the hint for the slip that explains every wrong result, if there is one.

    Args:
        results: pairs of the expected result and the wrong one.

    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> slip_hint([(x, x.mT)]).en
    'The numbers are right but the axes are swapped: the result is transposed.'
    >>> slip_hint([(x, x.tolist())]).en[:34]
    'A tensor is expected, not a list: '
    """
    pairs = [_innermost(*pair) for pair in results]
    kinds = {difference(*pair) for pair in pairs}
    if kinds in ({"type"}, {"dtype"}):
        name = _type_hint if kinds == {"type"} else _dtype_hint
        return _only(name(*pair) for pair in pairs)
    if not all(isinstance(each, Tensor) for pair in pairs for each in pair):
        return None
    for test, hint in SLIPS.items():
        found = [test(expected, got) for expected, got in pairs]
        if True in found and False not in found:
            return hint
    return None


def _only(hints: Iterable[Bilingual | None]) -> Bilingual | None:
    """Return the hint that all share."""
    found = set(hints)
    return found.pop() if len(found) == 1 else None


def _innermost(expected: Any, got: Any) -> Pair:
    """Return the first parts that differ, of tuples and lists of one length."""
    series = isinstance(expected, list | tuple) and isinstance(got, list | tuple)
    if not series or len(expected) != len(got):
        return expected, got
    pairs = zip(expected, got, strict=True)
    return next((_innermost(*pair) for pair in pairs if difference(*pair)), (expected, got))


def _type_hint(expected: Any, got: Any) -> Bilingual | None:
    if got is ...:
        return NOT_WRITTEN
    if expected is None or got is None:
        return None
    if type(got).__module__ == "torch.return_types":
        return VALUES_AND_PLACES
    wanted, came = _kind(expected), _kind(got)
    if isinstance(expected, Tensor) and expected.ndim == 0:
        wanted = TYPES["float"]
    if wanted == came:
        return None
    zh, en = f"应当是{wanted.zh}，不是{came.zh}", f"{wanted.en} is expected, not {came.en}"
    if type(got).__name__ in LAZY:
        zh, en = f"{zh}。{COLLECT.zh.rstrip('。')}", f"{en}. {COLLECT.en.rstrip('.')}"
    elif wanted == TYPES["Tensor"]:
        zh, en = f"{zh}：{MAKE_A_TENSOR.zh}", f"{en}: {MAKE_A_TENSOR.en}"
    return Bilingual(f"{zh}。", f"{en[0].upper()}{en[1:]}.")


def _kind(value: Any) -> Bilingual:
    """Return what a value is called: by its type, that type's bases, or the type's own name."""
    names = (base.__name__ for base in type(value).__mro__)
    known = next((TYPES[name] for name in names if name in TYPES), None)
    name = f"`{type(value).__name__}`"
    return known or Bilingual(name, f"a {name}")


def _dtype_hint(expected: Tensor, got: Tensor) -> Bilingual:
    if expected.dtype == torch.bool:
        return BOOLEAN
    return FLOAT if expected.is_floating_point() else INTEGER


def _transposed(expected: Tensor, got: Tensor) -> bool:
    if expected.ndim < 2 or expected.ndim != got.ndim:
        return False
    orders = list(permutations(range(got.ndim)))[1:]
    return any(difference(expected, got.permute(order)) is None for order in orders)


def _axis_of_one(expected: Tensor, got: Tensor) -> bool:
    return expected.shape != got.shape and _equal(expected.squeeze(), got.squeeze())


def _too_many(first: int) -> Test:
    """Return a test for an entry too many along an axis; the others begin at ``first``."""

    def test(expected: Tensor, got: Tensor) -> bool:
        return any(
            _equal(expected, got.narrow(axis, first, size))
            for axis, size in _shorter_by_one(expected, got)
        )

    return test


def _missing(first: int) -> Test:
    """Return a test for a missing entry; what is there begins at ``first`` of the expected."""

    def test(expected: Tensor, got: Tensor) -> bool:
        return any(
            _equal(expected.narrow(axis, first, size), got)
            for axis, size in _shorter_by_one(got, expected)
        )

    return test


def _shorter_by_one(short: Tensor, long: Tensor) -> Iterator[tuple[int, int]]:
    """Yield the axes along which one tensor has an entry less, with its size there."""
    if short.ndim == long.ndim:
        sizes = zip(short.shape, long.shape, strict=True)
        yield from ((axis, a) for axis, (a, b) in enumerate(sizes) if a + 1 == b)


def _moved(*, late: bool) -> Test:
    """Return a test for results that stand one place after, or before, where they belong."""

    def test(expected: Tensor, got: Tensor) -> bool | None:
        if expected.shape != got.shape:
            return False
        # Of two entries that changed places, neither has moved more than the other.
        sizes = [(axis, size - 1) for axis, size in enumerate(expected.shape) if size > 2]
        for axis, size in sizes:
            before, after = expected.narrow(axis, 0, size), expected.narrow(axis, 1, size)
            right, start = (before, 1) if late else (after, 0)
            if not torch.equal(before, after) and _equal(right, got.narrow(axis, start, size)):
                return True
        return False if sizes else None

    return test


def _equal(expected: Tensor, got: Tensor) -> bool:
    return expected.shape == got.shape and difference(expected, got) is None


SLIPS: Mapping[Test, Bilingual] = {
    _transposed: Bilingual(
        "数都对，只是轴的次序换了：结果转置了。",
        "The numbers are right but the axes are swapped: the result is transposed.",
    ),
    _axis_of_one: Bilingual(
        "数都对，只是长度为 1 的轴多了或少了：看看 `squeeze`、`unsqueeze` 和 `keepdim`。",
        "The numbers are right, but there is an axis of size 1 too many or too few: look at"
        " `squeeze`, `unsqueeze` and `keepdim`.",
    ),
    _too_many(1): Bilingual(
        "开头多了一个：起点不算在结果里。",
        "There is one too many at the start: what you start from is not part of the result.",
    ),
    _too_many(0): Bilingual("末尾多了一个。", "There is one too many at the end."),
    _missing(1): Bilingual("开头少了一个。", "The first one is missing."),
    _missing(0): Bilingual("末尾少了一个。", "The last one is missing."),
    _moved(late=True): Bilingual(
        "差了一个位置，每个数都晚了一位：看看是从哪里数起的。",
        "Off by one position, each number one place too late: check where the count starts.",
    ),
    _moved(late=False): Bilingual(
        "差了一个位置，每个数都早了一位：看看是从哪里数起的。",
        "Off by one position, each number one place too early: check where the count starts.",
    ),
}
