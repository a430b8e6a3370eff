"""Functions (q, k, v, mask) with one fault each, as people write them; and the fault's name."""

import math

import torch
from torch.nn import functional as F

from attention_book.conformance import Kernel

INF = math.inf


def softmax_zero(scores, mask):
    nothing = ~mask.expand_as(scores).any(-1, keepdim=True)
    return (
        scores.masked_fill(~mask, -INF).masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)
    )


def good(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores.softmax(-1) if mask is None else softmax_zero(scores, mask)) @ v


def over_queries(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return scores.softmax(-2).nan_to_num() @ v


def unscaled(q, k, v, mask=None):
    return good(q * math.sqrt(q.shape[-1]), k, v, mask)


def by_d_model(q, k, v, mask=None):
    return good(q / math.sqrt(q.shape[1]), k, v, mask)


def by_width(q, k, v, mask=None):
    return good(q / math.sqrt(q.shape[-1]), k, v, mask)


def twice(q, k, v, mask=None):
    q = q / math.sqrt(q.shape[-1])
    return F.scaled_dot_product_attention(q, k, v, mask)


def inverted(q, k, v, mask=None):
    return good(q, k, v, None if mask is None else ~mask)


def ignored(q, k, v, mask=None):
    return good(q, k, v)


def lost_at_one(q, k, v, mask=None):
    if mask is not None:
        mask = mask.squeeze(0)  # meant for the axis of heads
        mask = None if mask.ndim < 4 else mask
    return good(q, k, v, mask)


def per_head(q, k, v, mask=None):  # (batch, query, key)
    if mask is not None:
        mask = mask if mask.shape[0] == q.shape[1] else mask[:, None]
    return good(q, k, v, mask)


def first_example(q, k, v, mask=None):
    return good(q, k, v, None if mask is None else mask[:1])


def transposed(q, k, v, mask=None):
    if mask is not None and mask.shape[-1] == mask.shape[-2]:
        mask = mask.mT
    return good(q, k, v, mask)


def after_softmax(q, k, v, mask=None):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (w if mask is None else w * mask) @ v


def times_mask(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores * mask).softmax(-1) @ v


def added(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores + mask).softmax(-1) @ v


def nan_rows(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, -INF)).softmax(-1) @ v


def average_rows(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (
        scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    ).softmax(-1) @ v


def fill_1e9(q, k, v, mask=None):
    scores = (q / math.sqrt(q.shape[-1])) @ k.mT
    if mask is not None:
        w = scores.masked_fill(~mask, -1e9).softmax(-1)
        return w.masked_fill(~mask.any(-1, keepdim=True), 0) @ v
    return scores.softmax(-1) @ v


def overflows(q, k, v, mask=None):
    scores = (q @ k.mT) / math.sqrt(q.shape[-1])  # in half precision the product comes first
    return (scores.softmax(-1) if mask is None else softmax_zero(scores, mask)) @ v


def bare_exp(q, k, v, mask=None):
    e = (q @ k.mT / math.sqrt(q.shape[-1])).exp()
    e = e if mask is None else e * mask
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1) @ v


def coarse(q, k, v, mask=None):
    q32 = q.float() / math.sqrt(q.shape[-1])
    scores = (q32 @ k.float().mT).to(q.dtype)
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    e = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e4)).exp()
    total = torch.zeros_like(e[..., :1])
    for each in e.split(8, -1):  # a running sum in half precision
        total = total + each.sum(-1, keepdim=True)
    return (e / total.masked_fill(total == 0, 1)) @ v


def float32_out(q, k, v, mask=None):
    return good(q.float(), k.float(), v.float(), mask)


def in_place(q, k, v, mask=None):
    q *= q.shape[-1] ** -0.5
    scores = q.float() @ k.mT.float()
    return ((scores.softmax(-1) if mask is None else softmax_zero(scores, mask)) @ v.float()).to(
        v.dtype
    )


def mask_in_place(q, k, v, mask=None):
    if mask is not None:
        mask |= ~mask.any(-1, keepdim=True)
    return good_half(q, k, v, mask)


def good_half(q, k, v, mask=None):
    out = good(
        q.float() if q.dtype.itemsize < 4 else q,
        k.to(torch.float32) if k.dtype.itemsize < 4 else k,
        v.float() if v.dtype.itemsize < 4 else v,
        mask,
    )
    return out.to(q.dtype)


def strided(q, k, v, mask=None):
    b, h, n, d = k.shape
    k = torch.as_strided(k, (b, h, d, n), (h * n * d, n * d, 1, d))
    scores = (q.float() @ k.float()) / math.sqrt(d)
    return ((scores.softmax(-1) if mask is None else softmax_zero(scores, mask)) @ v.float()).to(
        q.dtype
    )


def dropping(q, k, v, mask=None):
    scores = q.float() @ k.mT.float() / math.sqrt(q.shape[-1])
    w = scores.softmax(-1) if mask is None else softmax_zero(scores, mask)
    return (F.dropout(w, 0.1) @ v.float()).to(q.dtype)


def detached(q, k, v, mask=None):
    with torch.no_grad():
        scores = q.float() @ k.mT.float() / math.sqrt(q.shape[-1])
        w = scores.softmax(-1) if mask is None else softmax_zero(scores, mask)
    return (w @ v.float()).to(q.dtype)


def wiped(q, k, v, mask=None):
    scores = q.float() @ k.mT.float() / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -INF)
    return (scores.softmax(-1).nan_to_num(0) @ v.float()).to(q.dtype)


def reads_back(q, k, v, mask=None):
    if mask is not None and mask.all().item():
        mask = None
    return good_half(q, k, v, mask)


def mixed(q, k, v, mask=None):
    scores = q.float() @ k.mT.float() / math.sqrt(q.shape[-1])
    scores = scores - 0.3 * scores.mean((0, -1), keepdim=True) * torch.linspace(
        0, 1, scores.shape[-1]
    )
    w = scores.softmax(-1) if mask is None else softmax_zero(scores, mask)
    return (w @ v.float()).to(q.dtype)


def causal(offset=None, ahead=0, window=None, skip_with_mask=False, skip_mask=False):
    def attention(q, k, v, mask=None):
        n, m = q.shape[-2], k.shape[-2]
        first = m - n if offset is None else offset
        distance = torch.arange(n)[:, None] + first - torch.arange(m)
        visible = distance >= -ahead
        if window is not None:
            visible = visible & (distance < window)
        if mask is not None:
            visible = mask if skip_with_mask else visible if skip_mask else visible & mask
        return good_half(q, k, v, visible)

    return attention


def grouped(order):
    def attention(q, k, v, mask=None):
        n = q.shape[1] // k.shape[1]
        if order == "repeat":
            k, v = k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)
        else:
            k, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)
        return good_half(q, k, v, mask)

    return attention


def view_heads(q, k, v, mask=None):  # (batch, place, head, feature), cut by a view
    b, n, h, d = q.shape
    m = k.shape[1]
    out = good_half(q.reshape(b, h, n, d), k.reshape(b, h, m, d), v.reshape(b, h, m, d), mask)
    return out.transpose(1, 2)


def merged_wrong(q, k, v, mask=None):  # (batch, place, head, feature), merged by a view
    b, n, h, d = q.shape
    out = good_half(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
    return out.reshape(b, n, h, d)


def linear(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    total = q @ k.sum(-2, keepdim=True).mT
    return q @ (k.mT @ v) / total.clamp(min=1e-6)


class Growing(torch.nn.Module):
    """A causal mask that grows with what it is asked for, also while a graph is traced."""

    def __init__(self):
        super().__init__()
        self.table = torch.zeros(0, 0, dtype=torch.bool)

    def forward(self, q, k, v):
        n = k.shape[-2]
        if self.table.shape[0] < n:
            self.table = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
        return good_half(q, k, v, self.table[n - q.shape[-2] : n, :n])


def local(size):
    def attention(q, k, v, mask=None):
        distance = (
            torch.arange(q.shape[-2])[:, None]
            + k.shape[-2]
            - q.shape[-2]
            - torch.arange(k.shape[-2])
        )
        visible = (distance >= 0) & (distance <= size)  # <=: one too many
        return good_half(q, k, v, visible if mask is None else visible & mask)

    return attention


def always_causal(q, k, v, mask=None):
    n, m = q.shape[-2], k.shape[-2]
    visible = torch.arange(n)[:, None] + m - n >= torch.arange(m)
    return good_half(q, k, v, visible if mask is None else visible & mask)


BROKEN = [
    (over_queries, "softmax-over-queries", {}),
    (unscaled, "no-scale", {}),
    (by_d_model, "scale-of-d-model", {}),
    (by_width, "scale-without-root", {}),
    (twice, "scale-without-root", dict(empty_row="any")),  # 1/d: the same function as dividing by d
    (inverted, "mask-inverted", {}),
    (ignored, "mask-ignored", {}),
    (lost_at_one, "mask-lost-at-batch-1", {}),
    (per_head, "mask-per-head", dict(mask_axes="bqk")),
    (first_example, "mask-of-first-example", {}),
    (transposed, "mask-transposed", {}),
    (after_softmax, "mask-after-softmax", {}),
    (times_mask, "scores-times-mask", {}),
    (added, "mask-added-as-number", {}),
    (nan_rows, "nan-for-empty-rows", {}),
    (average_rows, "average-for-empty-rows", {}),
    (fill_1e9, "fill-does-not-fit", {}),
    (overflows, "scores-overflow", {}),
    (bare_exp, "exponential-overflow", {}),
    (coarse, "coarse-sums", {}),
    (float32_out, "other-dtype", {}),
    (in_place, "writes-into-inputs", {}),
    (mask_in_place, "writes-into-mask", dict(empty_row="any")),
    (strided, "memory-order-assumed", {}),
    (dropping, "dropout-in-eval", {}),
    (detached, "gradient-cut", {}),
    (wiped, "nan-gradients", {}),
    (reads_back, "breaks-the-graph", {}),
    (mixed, "examples-mixed", {}),
    (causal(offset=0), "causal-from-the-start", dict(causal=True)),
    (causal(ahead=1), "sees-one-ahead", dict(causal=True)),
    (causal(ahead=-1), "without-itself", dict(causal=True)),
    (good_half, "no-causal-mask", dict(causal=True)),
    (causal(skip_with_mask=True), "causality-ignored-with-mask", dict(causal=True)),
    (causal(skip_mask=True), "mask-ignored-when-causal", dict(causal=True)),
    (causal(window=4), "window-too-long", dict(causal=True, window=3)),
    (causal(window=2), "window-too-short", dict(causal=True, window=3)),
    (local(2), "window-too-long", dict(causal=True, window=2)),
    (always_causal, "always-causal", {}),
    (grouped("repeat"), "grouped-heads-order", dict(groups=2)),
    (view_heads, "heads-split-wrong", dict(layout="bnhd")),
    (merged_wrong, "heads-merged-wrong", dict(layout="bnhd")),
    (linear, "kernel-underflow", dict(mask="none", reference=None)),
    (Growing(), "keeps-tensors-of-a-trace", dict(mask="none", causal=True, compiles=False)),
]


def subjects():
    for call, cause, options in BROKEN:
        title = f"{getattr(call, '__name__', type(call).__name__)} {options or ''}".strip()
        yield Kernel(call, name=title, **options), cause
