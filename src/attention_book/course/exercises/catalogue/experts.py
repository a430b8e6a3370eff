"""Exercises on what a ``config.json`` of today decides: experts, and the bytes of a cache."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.core import Probe, exercise, probe, wrong

# --- expert-gates ------------------------------------------------------------------------------


def _routed() -> Iterator[Probe]:
    yield probe((torch.tensor([[2.0, 1.0, 0.0, -1.0]]), 2))
    yield probe((torch.randn(5, 6), 3))
    yield probe((torch.randn(4, 5), 1), "只选一个", "one expert alone")
    yield probe((torch.randn(3, 4), 4), "全都选上", "all of them chosen")
    yield probe((-2 - torch.rand(4, 5), 2), "全是负数", "all of them negative")
    yield probe((80 * torch.randn(3, 5), 2), "相差很大", "far apart")
    yield probe((torch.randn(2, 3, 6), 2), "还有一个批次的轴", "with an axis for the batch")


def _largest(logits: Tensor, k: int) -> Tensor:
    return logits >= logits.topk(k, dim=-1).values[..., -1:]


def _gates(logits: Tensor, k: int) -> Tensor:
    return logits.masked_fill(~_largest(logits, k), -torch.inf).softmax(dim=-1)


EXPERT_GATES = exercise(
    "expert-gates",
    "写 `gates(logits, k)`：每个词元（最后一个轴是专家）留下最大的 k 个，只在它们之间做 softmax，"
    "其余的权重为 0。logits 没有两个一样大。",
    "Write `gates(logits, k)`: for each token, with the experts along the last axis, keep the k"
    " largest, take the softmax over these alone, and give all others 0. No two logits are equal.",
    solution=_gates,
    probes=_routed,
    mistakes={
        "all-experts": wrong(
            "所有专家都有权重：没有只留 k 个。",
            "All experts have weight: the k largest were not chosen.",
            lambda logits, k: logits.softmax(dim=-1),
        ),
        "not-shared-again": wrong(
            "softmax 之后再清零，一行的和就不到 1 了：先选，再做 softmax（或者再除以和）。",
            "Zeros after the softmax leave rows that sum to less than 1: choose first, or divide by"
            " the sum.",
            lambda logits, k: logits.softmax(dim=-1) * _largest(logits, k),
        ),
        "zero-before": wrong(
            "没选上的要变成 −∞，不是 0：e⁰ = 1，还会分到权重。",
            "Those not chosen become −∞ and not 0: e⁰ is 1 and gets weight.",
            lambda logits, k: logits.where(_largest(logits, k), 0.0).softmax(dim=-1),
        ),
        "equal-shares": wrong(
            "选上的几个不是平分：权重是它们之间的 softmax。",
            "Those chosen don't get equal shares: their weights are a softmax.",
            lambda logits, k: _largest(logits, k) / k,
        ),
        "smallest": wrong(
            "留下的是最小的 k 个。",
            "These are the k smallest.",
            lambda logits, k: (
                _gates(logits, k=k)
                if k == logits.shape[-1]
                else logits.masked_fill(~_largest(-logits, k), -torch.inf).softmax(dim=-1)
            ),
        ),
        "over-tokens": wrong(
            "选的方向反了：是每个词元选专家，不是每个专家选词元。",
            "Chosen along the wrong axis: each token chooses experts, and no expert its tokens.",
            lambda logits, k: _gates(logits.mT, min(k, logits.shape[-2])).mT,
        ),
        "one-alone": wrong(
            "只留了最大的一个；要 k 个。",
            "Only the largest is left; k are to be kept.",
            lambda logits, k: _gates(logits, 1),
        ),
        "one-more": wrong(
            "多留了一个。",
            "One too many is kept.",
            lambda logits, k: _gates(logits, min(k + 1, logits.shape[-1])),
        ),
        "logits-kept": wrong(
            "返回的是权重，不是评分：选上之后还要做 softmax。",
            "Return weights, not scores: take the softmax of those chosen.",
            lambda logits, k: logits * _largest(logits, k),
        ),
        "no-zeros": wrong(
            "返回的形状要和 logits 一样，没选上的为 0；这里只有选上的 k 个。",
            "Return the shape of the logits, with 0 for those not chosen; here are the k alone.",
            lambda logits, k: logits.topk(k, dim=-1).values.softmax(dim=-1),
        ),
    },
)


# --- cache-bytes -------------------------------------------------------------------------------


def _kept(windows: list[int | None], n: int) -> int:
    return sum(n if window is None else min(window, n) for window in windows)


def _cache_bytes(windows: list[int | None], kv_heads: int, d_k: int, n: int) -> int:
    return _kept(windows, n) * 2 * kv_heads * d_k * 2


CACHE_BYTES = exercise(
    "cache-bytes",
    "写 `cache_bytes(windows, kv_heads, d_k, n)`：读了 n 个词之后，缓存占多少字节。`windows` 里每层"
    "一项：窗口有几个词，None 表示全看。每个数 2 字节。",
    "Write `cache_bytes(windows, kv_heads, d_k, n)`: the bytes of the cache after n words."
    " `windows` has an entry for each layer, its window in words or None where it sees all. A"
    " number takes 2 bytes.",
    solution=_cache_bytes,
    probes=lambda: [
        probe(([None, None, None], 2, 4, 10)),
        probe(([4, None], 2, 8, 10), "一层有窗口", "one layer with a window"),
        probe(([16, None, 16], 1, 4, 5), "文字比窗口短", "a text shorter than the window"),
        probe(([6, 6, 6, 6, 6, None], 4, 16, 6), "文字正好一个窗口", "as long as the window"),
        probe(([1, 3, None, 7], 3, 2, 100), "窗口各不相同", "windows of several sizes"),
        probe(([8], 1, 2, 1), "只读了一个词", "one word"),
        probe(([1024] * 5 + [None], 16, 128, 131072), "Gemma 3 的六层", "six layers of Gemma 3"),
    ],
    mistakes={
        "half": wrong(
            "只有一半：键和值都要存，每个数又占 2 字节，两个 2 都要乘。",
            "Half of it: keys and values are both kept, and a number takes 2 bytes, which makes two"
            " factors of 2.",
            lambda w, h, d, n: _kept(w, n) * 2 * h * d,
        ),
        "neither": wrong(
            "差四倍：键和值都要存，每个数又占 2 字节。",
            "A quarter of it: keys and values are both kept, and a number takes 2 bytes.",
            lambda w, h, d, n: _kept(w, n) * h * d,
        ),
        "no-windows": wrong(
            "有窗口的层只留窗口里的词，窗口之外的键再也没人看。",
            "A layer with a window keeps the words of its window; nobody looks at the others"
            " again.",
            lambda w, h, d, n: len(w) * n * 4 * h * d,
        ),
        "window-always-full": wrong(
            "文字比窗口短的时候，只有 n 个词可存：取两者中较小的。",
            "A text shorter than the window has n words to keep: take the smaller of the two.",
            lambda w, h, d, n: sum(n if x is None else x for x in w) * 4 * h * d,
        ),
        "windows-only": wrong(
            "None 是全看，不是不存：这一层要存 n 个词。",
            "None means that a layer sees all, not that it keeps nothing: it keeps n words.",
            lambda w, h, d, n: sum(min(x, n) for x in w if x is not None) * 4 * h * d,
        ),
        "larger": wrong(
            "取的是较大的；窗口是上限，该取较小的。",
            "The larger was taken; a window is a limit, so take the smaller.",
            lambda w, h, d, n: sum(n if x is None else max(x, n) for x in w) * 4 * h * d,
        ),
        "one-layer": wrong(
            "每一层都有自己的缓存：各层相加。",
            "Each layer has a cache of its own: add them up.",
            lambda w, h, d, n: _kept(w[:1], n) * 4 * h * d,
            lambda w, h, d, n: _kept(w[-1:], n) * 4 * h * d,
        ),
        "one-head": wrong(
            "每个键值头都存一份。",
            "Each head of keys and values keeps its own.",
            lambda w, h, d, n: _kept(w, n) * 4 * d,
        ),
        "four-bytes": wrong(
            "每个数 2 字节，不是 4 字节。",
            "A number takes 2 bytes here, not 4.",
            lambda w, h, d, n: _kept(w, n) * 8 * h * d,
        ),
        "one-word": wrong(
            "这是一个词的；读了 n 个词，就有 n 份。",
            "This is one word's share; after n words there are n of them.",
            lambda w, h, d, n: len(w) * 4 * h * d,
        ),
    },
)

EXERCISES = (EXPERT_GATES, CACHE_BYTES)
