"""A function (q, k, v, mask) and its conventions; what it is called with, and what it returned."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from attention_book.conformance.reference import BiasFunction, attend
from attention_book.conformance.report import (
    check_words,
)
from attention_book.foundations.bilingual import Bilingual

#: Two results that differ by less are the same: float32, and another order of sums.
TOLERANCE = 2e-4


@dataclass(frozen=True)
class Kernel:
    r"""A function of queries, keys, values and a mask, and the conventions that it follows.

    Attributes:
        call: called with q, k, v and the mask (None where there is none); with ``mask="none"``
            with q, k, v alone. Of a tuple, the first is the result.
        layout: axes of q, k, v. "bhnd": batch, head, place, feature; "bnhd"; "bnd" (no heads).
        mask: "attend" (True may be seen), "blocked" (True is hidden), "additive" (0 and −inf),
            "none" (takes none).
        mask_axes: "bhqk" (with an axis of one for the heads), "bqk", "qk", "bk" (padding of keys).
        causal: causality is built in, the last query at the last key.
        square: it is called with as many queries as keys alone.
        window: how many keys, its own place included, a query sees at most.
        width: features of q, k and v; 0: any number of them.
        heads: of queries; 0: any number, or as many as ``bias`` or ``sinks`` know.
        groups: heads of queries for each head of keys.
        scale: what scores are multiplied with; :math:`1/\sqrt{d}` if None.
        bias: what is built in and added to the scaled scores, given how many queries and keys there
            are: (head, query, key) or (query, key), such as ALiBi's slopes or T5's buckets.
        softcap: :math:`c` of :math:`c\tanh(s/c)`, which the scaled scores pass before the mask.
        sinks: a score for each head that no key has, (head), one more in each row of the softmax.
        reference: what it should return, in float64; called as
            :func:`~attention_book.conformance.reference.attend` is, and if it passes ``fault`` on
            to that, mistakes are recognized. None for an attention of which no more is known
            than that it is no softmax of scores: then only laws without a reference are tested.
        weights: how it tells its weights, (batch, head, query, key): "returned" as the second of a
            tuple, or a function that is called as it is and returns them; None: it doesn't.
        normalized: the weights of a query sum to 1; they don't beside sinks.
        places: keys may not come in any order (besides causality and a window).
        empty_row: what a row gets that may see nothing: "zeros", "nan", "any" (not promised).
        hidden: what a key that no query may see, and its value, may hold: finite numbers, or
            anything, even NaN.
        dtype: in which it is compared with the formula; float64 leaves less room for errors.
        halves: the dtypes of half precision that it is meant for.
        trains: whether it is meant to be differentiated.
        compiles: whether it is promised to compile as one graph.
        device: where it is examined; None: where the parameters of ``call`` are if it is a module
            that has some, otherwise the default device.
        name: of the report.

    Raises:
        ValueError: if a convention is none of the words that are known.

    >>> from torch.nn.functional import scaled_dot_product_attention as sdpa
    >>> Kernel(lambda q, k, v, mask: sdpa(q, k, v, mask), empty_row="any").mask
    'attend'
    """

    call: Callable[..., Any]
    layout: Literal["bhnd", "bnhd", "bnd"] = "bhnd"
    mask: Literal["attend", "blocked", "additive", "none"] = "attend"
    mask_axes: Literal["bhqk", "bqk", "qk", "bk"] = "bhqk"
    causal: bool = False
    square: bool = False
    window: int | None = None
    width: int = 0
    heads: int = 0
    groups: int = 1
    scale: float | None = None
    bias: BiasFunction | None = None
    softcap: float | None = None
    sinks: Tensor | None = None
    reference: Callable[..., Tensor] | None = attend
    weights: Literal["returned"] | Callable[..., Any] | None = None
    normalized: bool = True
    places: bool = False
    empty_row: Literal["zeros", "nan", "any"] = "zeros"
    hidden: Literal["finite", "anything"] = "finite"
    dtype: torch.dtype = torch.float32
    halves: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
    trains: bool = True
    compiles: bool = True
    device: torch.device | str | None = None
    name: str = "kernel"

    def __post_init__(self) -> None:
        """Check the words, while the one who wrote them can still see them."""
        check_words(self)


@dataclass(frozen=True, eq=False)
class Case:
    """One input: q, k, v (batch, head, place, feature) and a boolean mask (batch, 1, query, key).

    >>> x = torch.zeros(1, 2, 3, 4)
    >>> Case(x, x, x, None, Bilingual("没有掩码", "no mask")).where().en
    'no mask: batch 1, heads 2, 3 queries, 3 keys, width 4'
    """

    q: Tensor
    k: Tensor
    v: Tensor
    allow: Tensor | None
    about: Bilingual

    def where(self) -> Bilingual:
        """Say which input it is."""
        (b, h, n, d), m = self.q.shape, self.k.shape[-2]
        return Bilingual(
            f"{self.about.zh}：批量 {b}，{h} 个头，{n} 个查询，{m} 个键，宽度 {d}",
            f"{self.about.en}: batch {b}, heads {h}, {n} {'query' if n == 1 else 'queries'}, "
            f"{m} keys, width {d}",
        )


def arguments(kernel: Kernel, case: Case, dtype: torch.dtype | None = None) -> list[Any]:
    """Return what a kernel is called with, in its own conventions; all of it is new.

    >>> x = torch.zeros(1, 2, 3, 4)
    >>> case = Case(x, x, x, torch.ones(1, 1, 3, 3).bool(), Bilingual("例", "case"))
    >>> q, k, v, mask = arguments(Kernel(attend, layout="bnhd", mask="blocked"), case)
    >>> q.shape, mask.any().item()
    (torch.Size([1, 3, 2, 4]), False)
    """
    given: list[Any] = []
    for tensor in (case.q, case.k, case.v):
        tensor = tensor.to(dtype or tensor.dtype)
        if kernel.layout == "bnhd":
            tensor = tensor.transpose(1, 2).contiguous()
        given.append((tensor[:, 0] if kernel.layout == "bnd" else tensor).clone())
    if kernel.mask != "none":
        given.append(_mask(kernel, case.allow, given[0].dtype))
    return given


def _mask(kernel: Kernel, allow: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    if allow is None:
        return None
    match kernel.mask_axes:
        case "bqk":
            allow = allow[:, 0]
        case "qk":
            allow = allow[0, 0]
        case "bk":
            allow = allow[:, 0, 0]
    if kernel.mask == "additive":
        return torch.zeros_like(allow, dtype=dtype).masked_fill(~allow, -math.inf)
    return ~allow if kernel.mask == "blocked" else allow.clone()


def heads_first(kernel: Kernel, out: Any) -> Tensor:
    """Return a kernel's result as (batch, head, query, feature)."""
    result: Tensor = out[0] if isinstance(out, tuple) else out
    if kernel.layout == "bnhd":
        return result.transpose(1, 2)
    return result[:, None] if kernel.layout == "bnd" else result


def close(a: Tensor, b: Tensor, tolerance: float = TOLERANCE) -> bool:
    """Compare; the first is what the kernel gave, and tells how exact that can be."""
    tolerance *= 1e-6 if a.dtype == torch.float64 else 1
    return a.shape == b.shape and torch.allclose(
        a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def gap_of(got: Tensor, right: Tensor) -> Bilingual:
    """Say how far a result is from the right one."""
    if got.shape != right.shape:
        shapes = tuple(got.shape), tuple(right.shape)
        return Bilingual(
            f"形状是 {shapes[0]}，应为 {shapes[1]}", f"shape {shapes[0]}, expected {shapes[1]}"
        )
    if got.isnan().any() and not right.isnan().any():
        return Bilingual("得到 NaN", "NaN")
    most = (got.double() - right.double()).abs().max()
    return Bilingual(f"最多差 {most:.3g}", f"off by up to {most:.3g}")


__all__ = ["Case", "Kernel", "arguments"]
