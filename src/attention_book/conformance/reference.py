"""Plain attention in float64, and the ways in which it is got wrong, each behind its name."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

#: Scores before the mask, of queries and keys (batch, head, place, feature).
ScoreFunction = Callable[[Tensor, Tensor], Tensor]
#: What is added to the scores of so many queries, the last of so many keys: (query, key) or (head,
#: query, key).
BiasFunction = Callable[[int, int], Tensor]

#: Faults that show in the values, likely ones first: each is taken by `attend` as ``fault``.
VALUE_FAULTS = (
    "softmax-over-queries",
    "no-scale",
    "scale-of-d-model",
    "scale-without-root",
    "scaled-twice",
    "mask-inverted",
    "mask-lost-at-batch-1",
    "mask-per-head",
    "mask-of-first-example",
    "mask-transposed",
    "mask-ignored-when-causal",
    "mask-ignored",
    "mask-after-softmax",
    "scores-times-mask",
    "mask-added-as-number",
    "causality-ignored-with-mask",
    "causal-from-the-start",
    "no-causal-mask",
    "sees-one-ahead",
    "without-itself",
    "window-too-long",
    "window-too-short",
    "always-causal",
    "grouped-heads-order",
    "heads-split-wrong",
    "heads-merged-wrong",
    "mask-on-queries",
    "nan-for-empty-rows",
    "average-for-empty-rows",
    "bias-scaled",
    "bias-ignored",
    "bias-reversed",
    "bias-from-the-start",
    "bias-of-other-heads",
    "softcap-ignored",
    "softcap-before-scale",
    "softcap-after-mask",
    "sinks-ignored",
    "sinks-scaled",
    "sinks-as-zero",
)


def attend(
    q: Float[Tensor, "batch head query d_k"],
    k: Float[Tensor, "batch kv_head key d_k"],
    v: Float[Tensor, "batch kv_head key d_v"],
    allow: Bool[Tensor, "#batch #head #query #key"] | None = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    bias: Float[Tensor, "*#batch #query #key"] | BiasFunction | None = None,
    softcap: float | None = None,
    sinks: Float[Tensor, " head"] | None = None,
    score: ScoreFunction | None = None,
    fault: str = "",
) -> Tensor:
    r"""Return :math:`\operatorname{softmax}(s\,qk^\top + b)\,v` over the keys that may be seen.

    A row that may see nothing gives zeros. With a cap :math:`c` the scaled scores are
    :math:`c \tanh(s\,qk^\top / c)` (Gemma 2, 2024); with sinks each row of the softmax has one term
    more, of no key and no value (gpt-oss, 2025).

    Args:
        q: queries.
        k: keys, in as many heads or fewer: each serves as many heads of queries, side by side.
        v: values.
        allow: True = may be seen.
        causal: the last query stands at the last key, and none sees what is behind it.
        window: how many keys, its own place included, a query sees at most on each side.
        scale: :math:`s`; :math:`1/\sqrt{d_k}` if None.
        bias: :math:`b`, added after scaling and the cap; or given how many queries and keys there
            are, what to add.
        softcap: :math:`c`; none if None.
        sinks: a score for each head that no key has; none if None.
        score: computes the scores instead of :math:`s\,qk^\top`.
        fault: what to get wrong, a name in :data:`VALUE_FAULTS`.

    >>> q, k = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 2, 2)
    >>> v = torch.tensor([[[[1.0], [3.0]]]])
    >>> attend(q, k, v).item()
    2.0
    >>> attend(q, k, v, sinks=torch.zeros(1)).item()  # a third of the weight goes nowhere
    1.3333333730697632
    >>> hidden = torch.tensor([[[[True, False]]]])
    >>> attend(q, k, v, hidden).item(), attend(q, k, v, hidden, fault="mask-inverted").item()
    (1.0, 3.0)
    """
    groups = q.shape[1] // k.shape[1]
    if fault == "grouped-heads-order":
        k, v = k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1)
    else:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    if fault == "heads-split-wrong":  # a view of (batch, place, all features)
        q, k, v = (t.transpose(1, 2).reshape(t.shape) for t in (q, k, v))
    right = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scale = {
        "no-scale": 1.0,
        "scale-of-d-model": 1 / math.sqrt(q.shape[-1] * q.shape[1]),
        "scale-without-root": 1 / q.shape[-1],
        "scaled-twice": right * right,
    }.get(fault, right)
    places = q.shape[-2], k.shape[-2]
    if fault == "softcap-before-scale" and softcap is not None:
        scores = _capped(q @ k.mT, softcap) * scale
    else:
        scores = q @ k.mT * scale if score is None else score(q, k)
        if softcap is not None and not fault.startswith("softcap"):
            scores = _capped(scores, softcap)
    if bias is not None and fault != "bias-ignored":
        scores = scores + _bias(bias, *places, scale=scale, fault=fault)
    if fault == "mask-on-queries" and allow is not None and places[0] == places[1]:
        allow, fault = allow.mT, ""
    visible = _visible(allow, *places, q.device, causal=causal, window=window, fault=fault)
    visible = visible.expand(torch.broadcast_shapes(visible.shape, scores.shape))
    if fault == "softcap-after-mask" and softcap is not None:  # tanh(-inf) is -1, and no -inf
        filled = scores.masked_fill(~visible, -math.inf)
        out = _capped(filled, softcap).softmax(-1) @ v
    elif sinks is not None and fault != "sinks-ignored":
        out = _with_sinks(scores, visible, sinks, scale, fault) @ v
    else:
        out = _weights(scores, visible, fault) @ v
    if fault == "heads-merged-wrong":
        b, h, n, d = out.shape
        return out.reshape(b, n, h, d).transpose(1, 2)
    return out


def _capped(scores: Tensor, softcap: float) -> Tensor:
    return softcap * (scores / softcap).tanh()


def _bias(
    bias: Tensor | BiasFunction, num_queries: int, num_keys: int, *, scale: float, fault: str
) -> Tensor:
    """Return what is added to the scores, or with a fault what is added by mistake."""
    if not isinstance(bias, Tensor):
        if fault == "bias-from-the-start" and num_queries < num_keys:
            bias = bias(num_keys, num_keys)[..., :num_queries, :]
        else:
            bias = bias(num_queries, num_keys)
    if fault == "bias-of-other-heads" and bias.ndim > 2:
        bias = bias.flip(-3)
    return bias * {"bias-scaled": scale, "bias-reversed": -1.0}.get(fault, 1.0)


def _with_sinks(scores: Tensor, visible: Tensor, sinks: Tensor, scale: float, fault: str) -> Tensor:
    """Return the weights of the keys beside a column that no key has."""
    sinks = sinks.to(scores.dtype) * {"sinks-scaled": scale, "sinks-as-zero": 0.0}.get(fault, 1.0)
    column = sinks[:, None, None].expand(*scores.shape[:-1], 1)
    seen = torch.cat((visible, torch.ones_like(visible[..., :1])), -1)
    return _weights(torch.cat((scores, column), -1), seen, fault)[..., :-1]


def _visible(
    allow: Tensor | None,
    num_queries: int,
    num_keys: int,
    device: torch.device,
    *,
    causal: bool,
    window: int | None,
    fault: str = "",
) -> Tensor:
    """Return which keys each query may see, (1 or batch, 1 or head, query, key)."""
    first = 0 if fault == "causal-from-the-start" else num_keys - num_queries
    queries = torch.arange(num_queries, device=device)[:, None] + first
    distance = queries - torch.arange(num_keys, device=device)
    visible = torch.ones(1, 1, num_queries, num_keys, dtype=torch.bool, device=device)
    ignored = fault == "mask-ignored" or (fault == "mask-ignored-when-causal" and causal)
    if allow is not None and not ignored:
        visible = visible & _misread(allow, fault)
    forgotten = fault == "no-causal-mask" or (
        fault == "causality-ignored-with-mask" and allow is not None
    )
    if (causal or fault == "always-causal") and not forgotten:
        visible = visible & (distance >= {"sees-one-ahead": -1, "without-itself": 1}.get(fault, 0))
    if window is not None:
        most = window + {"window-too-long": 1, "window-too-short": -1}.get(fault, 0)
        visible = visible & (distance < most)
        if not causal:
            visible = visible & (distance > -most)
    return visible


def _misread(allow: Tensor, fault: str) -> Tensor:
    match fault:
        case "mask-inverted":
            return ~allow
        case "mask-transposed" if allow.shape[-1] == allow.shape[-2]:
            return allow.mT
        case "mask-lost-at-batch-1" if allow.shape[0] == 1:
            return torch.ones_like(allow)
        case "mask-of-first-example":
            return allow[:1]
        case "mask-per-head" if allow.shape[0] > 1:
            return allow.transpose(0, 1)
    return allow


def _weights(scores: Tensor, visible: Tensor, fault: str) -> Tensor:
    match fault:
        case "scores-times-mask":
            return (scores * visible).softmax(-1)
        case "mask-added-as-number":
            return (scores + visible).softmax(-1)
        case "mask-after-softmax":
            return scores.softmax(-1) * visible
        case "average-for-empty-rows":
            return scores.masked_fill(~visible, -1e9).softmax(-1)
    axis = -2 if fault == "softmax-over-queries" else -1
    filled = scores.masked_fill(~visible, -math.inf)
    if fault == "nan-for-empty-rows":
        return filled.softmax(axis)
    nothing = ~visible.any(axis, keepdim=True)
    return filled.masked_fill(nothing, 0).softmax(axis).masked_fill(nothing, 0)


def rotated(
    x: Float[Tensor, "*batch place d_k"],
    *,
    pairs: Literal["halves", "neighbours"],
    base: float = 10_000.0,
) -> Float[Tensor, "*batch place d_k"]:
    r"""Turn pair :math:`i` of features at place :math:`p` by :math:`p\,\theta^{-2i/d}` (RoPE).

    Args:
        x: queries or keys; the first place is 0.
        pairs: feature :math:`i` turns with :math:`i + d/2` ("halves") or with its neighbour.
        base: :math:`\theta`.

    >>> rotated(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), pairs="halves")[0].tolist()
    [1.0, 0.0]
    """
    n, d = x.shape[-2:]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    angles = torch.arange(n, dtype=x.dtype, device=x.device)[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    a, b = (
        (x[..., : d // 2], x[..., d // 2 :]) if pairs == "halves" else (x[..., ::2], x[..., 1::2])
    )
    turned = a * cos - b * sin, b * cos + a * sin
    return torch.cat(turned, -1) if pairs == "halves" else torch.stack(turned, -1).flatten(-2)


__all__ = ["VALUE_FAULTS", "BiasFunction", "ScoreFunction", "attend", "rotated"]
