"""Tensors as text, as PyTorch prints them."""

import math

from ._dtypes import bool_, get_default_dtype, int64
from ._tensor import Tensor, flat

OPTIONS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    if profile is not None:
        OPTIONS.update(
            precision=2 if profile == "short" else 4,
            threshold=math.inf if profile == "full" else 1000,
            edgeitems=2 if profile == "short" else 3,
            linewidth=80,
        )
    given = dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth)
    OPTIONS.update({name: value for name, value in given.items() if value is not None})
    OPTIONS["sci_mode"] = sci_mode


class _Format:
    """How wide the numbers of a tensor are, and in what notation."""

    def __init__(self, numbers, dtype):
        self.floating, self.whole, self.sci, self.width = dtype.kind == 2, True, False, 1
        digits = OPTIONS["precision"]
        if not self.floating:
            self.width = max([1, *(len(f"{each}") for each in numbers)])
            return
        told = [each for each in numbers if math.isfinite(each) and each != 0]
        if not told:
            return
        low, high = min(map(abs, told)), max(map(abs, told))
        self.whole = all(each == math.ceil(each) for each in told)
        wanted = OPTIONS["sci_mode"]
        self.sci = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4 if wanted is None else wanted
        if self.sci:
            lengths = [len(f"{each:.{digits}e}") for each in told]
        elif self.whole:
            lengths = [len(f"{each:.0f}") + 1 for each in told]
        else:
            lengths = [len(f"{each:.{digits}f}") for each in told]
        self.width = max(1, *lengths)

    def text(self, number):
        digits = OPTIONS["precision"]
        if not self.floating:
            written = f"{number}"
        elif self.sci:
            written = f"{number:{self.width}.{digits}e}"
        elif self.whole:
            written = f"{number:.0f}" + ("." if math.isfinite(number) else "")
        else:
            written = f"{number:.{digits}f}"
        return " " * (self.width - len(written)) + written


def _edges(x):
    """Return the numbers that are shown of a long tensor."""
    edge = OPTIONS["edgeitems"]
    if x.dim() == 0:
        return list(flat(x))
    rows = range(x.shape[0])
    if x.shape[0] > 2 * edge:
        rows = [*range(edge), *range(x.shape[0] - edge, x.shape[0])]
    return [each for i in rows for each in _edges(x[i])]


def _grid(x, indent, short, form):
    edge = OPTIONS["edgeitems"]
    if x.dim() == 0:
        return form.text(x.item())
    cut = short and x.shape[0] > 2 * edge
    if x.dim() == 1:
        per_line = max(1, math.floor((OPTIONS["linewidth"] - indent) / (form.width + 2)))
        texts = [
            form.text(each)
            for each in (x[:edge].tolist() + x[-edge:].tolist() if cut else x.tolist())
        ]
        if cut:
            texts.insert(edge, " ...")
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = range(x.shape[0])
    if cut:
        rows = [*range(edge), None, *range(x.shape[0] - edge, x.shape[0])]
    parts = ["..." if i is None else _grid(x[i], indent + 1, short, form) for i in rows]
    return "[" + ("," + "\n" * (x.dim() - 1) + " " * (indent + 1)).join(parts) + "]"


def shown(x):
    """Return ``repr(x)``."""
    from .nn.parameter import Parameter

    head = "tensor(" if type(x) in (Tensor, Parameter) else f"{type(x).__name__}("
    indent, ends = len(head), []
    plain = x.detach()
    short = x.numel() > OPTIONS["threshold"]
    if x.numel() == 0:
        text = "[]"
        if x.dim() != 1:
            ends.append(f"size={tuple(x.shape)}")
        if x.dtype is not get_default_dtype():
            ends.append(f"dtype={x.dtype}")
    else:
        text = _grid(
            plain, indent, short, _Format(_edges(plain) if short else flat(plain), x.dtype)
        )
        if x.dtype not in (get_default_dtype(), int64, bool_):
            ends.append(f"dtype={x.dtype}")
    if x.grad_fn is not None:
        ends.append(f"grad_fn=<{x.grad_fn.name}>")
    elif x.requires_grad:
        ends.append("requires_grad=True")
    parts, last = [head + text], len(head + text) - (head + text).rfind("\n") + 1
    for each in ends:
        if last + len(each) + 2 > OPTIONS["linewidth"]:
            parts.append(",\n" + " " * indent + each)
            last = indent + len(each)
        else:
            parts.append(", " + each)
            last += len(each) + 2
    made = "".join(parts) + ")"
    if type(x) is Parameter:
        return "Parameter containing:\n" + made
    return made
