"""Exercises on cost: shared keys, bytes of a step, drafted words, tiles, few bits."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, shares, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import residual_distribution
from attention_book.foundations.bilingual import Bilingual

# --- repeat-key-heads --------------------------------------------------------------------------


def _keys() -> Iterator[Probe]:
    yield probe((torch.randn(1, 2, 3, 2), 4))
    yield probe((torch.randn(2, 3, 1, 4), 6))
    alone = Bilingual("只有一个键头", "there is a single head of keys")
    yield Probe((torch.randn(2, 1, 3, 2), 3), alone)
    yield probe((torch.randn(1, 4, 2, 3), 4), "各有各的键", "each head has its own keys")
    yield probe((torch.randn(2, 2, 2, 2), 4), "各轴一样长", "all axes are equally long")
    yield probe((torch.randn(1, 1, 1, 1), 2), "各轴的长度是 1", "all axes have size 1")


def _along(axis: int) -> Answer:
    return lambda keys, num_heads: keys.repeat_interleave(num_heads // keys.shape[1], dim=axis)


def _number_by_number(keys: Tensor, num_heads: int) -> Tensor:
    batch, heads, *rest = keys.shape
    return keys.repeat_interleave(num_heads // heads).reshape(batch, num_heads, *rest)


REPEAT_KEY_HEADS = exercise(
    "repeat-key-heads",
    "写 `repeat_heads(keys, num_heads)`：每个键头复制给它那一组查询头，组里的头相邻。",
    "Write `repeat_heads(keys, num_heads)`: copy each head of keys for its group of query heads,"
    " which are neighbors.",
    solution=lambda keys, num_heads: keys.repeat_interleave(num_heads // keys.shape[1], dim=1),
    probes=_keys,
    mistakes={
        "in-turns": wrong(
            "键头轮流分给了查询头（0、1、0、1）；同组的头应当相邻（0、0、1、1）。",
            "The heads of keys are dealt out in turn (0, 1, 0, 1); those of one group are neighbors"
            " (0, 0, 1, 1).",
            lambda k, h: k.repeat(1, h // k.shape[1], 1, 1),
        ),
        "too-many": wrong(
            "复制得太多：每个键头要（查询头数 ÷ 键头数）份，不是 num_heads 份。",
            "Too many copies: each head of keys is needed once for each head of its group, not"
            " num_heads times.",
            lambda k, h: k.repeat_interleave(h, dim=1),
        ),
        "along-keys": wrong(
            "轴错了：复制的是头（第 1 轴），不是键。",
            "The wrong axis: copy the heads (axis 1), not the keys.",
            lambda k, h: k.repeat_interleave(h // k.shape[1], dim=2),
        ),
        "along-features": wrong(
            "轴错了：复制的是头（第 1 轴），不是每个键里的数。",
            "The wrong axis: copy the heads (axis 1), not the numbers of a key.",
            _along(-1),
        ),
        "along-the-batch": wrong(
            "轴错了：复制的是头（第 1 轴），不是句子。",
            "The wrong axis: copy the heads (axis 1), not the examples of the batch.",
            _along(0),
        ),
        "not-repeated": wrong("什么也没有复制。", "Nothing is copied.", lambda k, h: k.clone()),
        "first-head-alone": wrong(
            "各组都得到了第一个键头：每组有自己的。",
            "Every group got the first head of keys: each has its own.",
            lambda k, h: k[:, :1].expand(-1, h, -1, -1),
        ),
        "groups-apart": wrong(
            "组和组里的头还是两个轴：合成一个。",
            "Groups and heads within them are still two axes: merge them.",
            lambda k, h: k.unsqueeze(2).repeat(1, 1, h // k.shape[1], 1, 1),
        ),
        "raw": wrong(
            "`repeat_interleave` 没有给 `dim`，逐个数地复制了：给出头的轴，`dim=1`。",
            "Without `dim`, `repeat_interleave` copies number by number: give the axis of the"
            " heads, `dim=1`.",
            _number_by_number,
        ),
    },
)


# --- step-bytes --------------------------------------------------------------------------------


def _sizes() -> Iterator[Probe]:
    yield probe((1000, 2, 8, 10, 3))
    yield probe((7, 1, 4, 100, 64))
    yield probe((50, 8, 16, 5, 1), "只有一段文字", "a single text")
    yield probe((50, 8, 16, 0, 5), "缓存是空的", "the cache is empty")
    yield probe((1, 1, 1, 1, 2), "一切都是最小的", "everything is as small as can be")
    real = Bilingual("真实模型的大小", "the size of a real model")
    yield Probe((7_000_000_000, 8, 128, 32_768, 32), real)


def _step_bytes(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * (weights + batch * tokens * 2 * kv_heads * d_k)


STEP_BYTES = exercise(
    "step-bytes",
    "写 `step_bytes(weights, kv_heads, d_k, tokens, batch)`：一层解码一步至少读多少字节，"
    "每个数 2 字节。",
    "Write `step_bytes(weights, kv_heads, d_k, tokens, batch)`: the bytes that a layer must read"
    " in a step of decoding, at 2 bytes per number.",
    solution=_step_bytes,
    probes=_sizes,
    mistakes={
        "weights-each": wrong(
            "权重读了 batch 遍：一批文字合用一份权重，读一遍就够。",
            "The weights are read once for each text: the batch shares them, and one time is"
            " enough.",
            lambda w, heads, d_k, t, b: b * _step_bytes(w, heads, d_k, t, 1),
        ),
        "cache-once": wrong(
            "缓存只读了一份：每段文字有自己的缓存，各读各的。",
            "The cache is read once for all: each text has a cache of its own.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, 1),
        ),
        "keys-alone": wrong(
            "只有键，漏了值。",
            "These are the keys; the values are missing.",
            lambda w, heads, d_k, t, b: 2 * (w + b * t * heads * d_k),
        ),
        "new-token-alone": wrong(
            "只算了一个词元：新词要看缓存里的全部词元。",
            "That is one token: the new word looks at all tokens in the cache.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, min(t, 1), b),
        ),
        "numbers": wrong(
            "这是数的个数；一个数占 2 字节。",
            "That is how many numbers there are; a number takes 2 bytes.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, b) // 2,
        ),
        "four-bytes": wrong(
            "每个数按 4 字节算了：这里是 2 字节。",
            "That is 4 bytes per number; it is 2 here.",
            lambda w, heads, d_k, t, b: 2 * _step_bytes(w, heads, d_k, t, b),
        ),
        "weights-missing": wrong(
            "漏了权重：每一步都要读一遍。",
            "The weights are missing: each step reads them.",
            lambda w, heads, d_k, t, b: _step_bytes(0, heads, d_k, t, b),
        ),
        "cache-missing": wrong(
            "漏了缓存：新词要看以前的每一个词元。",
            "The cache is missing: the new word looks at every token before it.",
            lambda w, heads, d_k, t, b: 2 * w,
        ),
        "one-head": wrong(
            "只算了一个键头：每个键头各有自己的键和值。",
            "That is one head of keys: each has keys and values of its own.",
            lambda w, heads, d_k, t, b: _step_bytes(w, 1, d_k, t, b),
        ),
        "new-token-too": wrong(
            "多读了一个词元：新词的键和值刚刚算出来，不在缓存里。",
            "One token too many: the new word's key and value have just been computed and are not"
            " in the cache.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t + 1, b),
        ),
        "weights-in-numbers": wrong(
            "2 字节只乘了缓存：权重的每个数也占 2 字节。",
            "Only the cache is counted in bytes: the numbers of the weights take 2 each, too.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, b) - w,
        ),
    },
)


# --- draw-the-rest -----------------------------------------------------------------------------


def _pairs() -> Iterator[Probe]:
    yield probe((torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])))
    yield probe(tuple(torch.randn(2, 6).softmax(dim=-1)))
    apart = (torch.tensor([0.4, 0.6, 0.0]), torch.tensor([0.0, 0.0, 1.0]))
    yield probe(apart, "两个分布没有交集", "the two have no word in common")
    same = torch.tensor([0.25, 0.75])
    yield probe((same, same.clone()), "两个分布相同", "the two are equal")
    little = torch.tensor([2.0**-18, -(2.0**-18)])  # exact in float32, within allclose's tolerance
    almost = (torch.tensor([0.5, 0.5]) + little, torch.tensor([0.5, 0.5]))
    yield probe(almost, "两个分布几乎相同", "the two are almost equal")
    some = (torch.tensor([0.25, 0.25, 0.5]), torch.tensor([0.25, 0.5, 0.25]))
    yield probe(some, "有一个词两边一样", "both agree on a word")
    yield probe((torch.ones(1), torch.ones(1)), "只有一个词", "a single word")


def _absolute(p: Tensor, q: Tensor) -> Tensor:
    apart = (p - q).abs()
    return apart / apart.sum() if apart.sum() > 0 else p


def _accepted_part(p: Tensor, q: Tensor) -> Tensor:
    both = torch.minimum(p, q)
    return both / both.sum() if both.sum() > 0 else p


def _whole_words(p: Tensor, q: Tensor) -> Tensor:
    more = p.where(p > q, 0.0)
    return more / more.sum() if more.sum() > 0 else p


def _fills_up(answer: Answer) -> Finding | None:
    p, q = torch.randn(2, 5).softmax(dim=-1)
    accepted = torch.minimum(p, q)
    mixed = accepted + (1 - accepted.sum()) * answer(p, q)
    if torch.allclose(mixed, p, atol=1e-5):
        return None
    return Finding({"p": p, "q": q}, Bilingual("合起来是 p", "p, all in all"), mixed)


DRAW_THE_REST = exercise(
    "draw-the-rest",
    "写 `rest(p, q)`：草稿的词被拒之后，改抽的词服从什么分布；两者相同时返回 p。",
    "Write `rest(p, q)`: the distribution to draw from after a drafted word was rejected; p where"
    " both are equal.",
    solution=lambda p, q: residual_distribution(p, q),
    probes=_pairs,
    mistakes={
        "from-target": wrong(
            "从 p 重抽，草稿爱写的词就得到两次机会。p 里已经由草稿给出的那一部分要先减掉。",
            "To draw from p gives the draft's favorite words a second chance. Take away first what"
            " the draft has already given.",
            lambda p, q: p,
        ),
        "not-normalized": wrong(
            "还没有归一化：和应当是 1。",
            "Not normalized yet: it must sum to 1.",
            lambda p, q: (p - q).clamp(min=0),
        ),
        "absolute": wrong(
            "草稿写得太多的词（q > p）不该再写：负的差要变成 0，不是变成正的。",
            "Words that the draft writes too often (q > p) must not be drawn again: a negative"
            " difference becomes 0, not positive.",
            _absolute,
        ),
        "other-way": wrong(
            "方向反了：要补的是 p 比 q 多出来的那一份。",
            "The wrong way round: p is to be filled up.",
            lambda p, q: residual_distribution(q, p),
        ),
        "nan-where-equal": wrong(
            "两个分布相同时，差全是 0，0/0 是 NaN。",
            "Where the two are equal all differences are 0, and 0/0 is NaN.",
            lambda p, q: shares((p - q).clamp(min=0)),
        ),
        "zeros": wrong(
            "两个分布相同时得到的全是 0，不是分布：返回 p。",
            "Where the two are equal all come out as 0, which is no distribution: return p.",
            lambda p, q: shares((p - q).clamp(min=0), floor=1e-30),
        ),
        "softmax": wrong(
            "归一化是除以总和，不是 softmax：差是 0 的词不该再抽到。",
            "To normalize is to divide by the sum, not a softmax: where the difference is 0 a word"
            " is not drawn again.",
            lambda p, q: (p - q).softmax(dim=-1),
            lambda p, q: (p - q).clamp(min=0).softmax(dim=-1),
        ),
        "accepted-part": wrong(
            "min(p, q) 是已经收下的那一部分；要补的是 p 减去它之后剩下的。",
            "min(p, q) is what was accepted; draw from what is left of p without it.",
            _accepted_part,
        ),
        "whole-words": wrong(
            "p > q 的词里，草稿已经给出了 q 那么多：留下的是 p − q，不是整个 p。",
            "Of the words with p > q the draft has given q already: p − q is left, not all of p.",
            _whole_words,
        ),
        "not-clamped": wrong(
            "负的差没有变成 0：正负相抵，总和是 0。",
            "Negative differences do not become 0: they cancel the others, and the sum is 0.",
            lambda p, q: (p - q) / (p - q).sum(),
        ),
    },
    laws=(
        Law(
            "fills-up",
            Bilingual(
                "收下的加上补抽的，正好是 p：min(p, q) + (1 − Σ min(p, q)) · rest = p。",
                "What is accepted and what is drawn make p: min(p, q) + (1 − Σ min(p, q)) · rest"
                " = p.",
            ),
            _fills_up,
        ),
    ),
)

# --- moved-rows --------------------------------------------------------------------------------


def _tiles() -> Iterator[Probe]:
    yield probe((128, 128, 16))
    yield probe((12, 30, 4), "键比查询多", "more keys than queries")
    yield probe((10, 7, 4), "最后一块不满", "the last tile is smaller")
    yield probe((1, 50, 8), "只有一个查询", "a single query")
    yield probe((5, 9, 1), "一次一个查询", "one query at a time")
    yield probe((6, 1, 3), "只有一个键", "a single key")
    yield probe((100_000, 70_000, 37), "一段很长的文字", "a very long text")


def _moved_rows(queries: int, keys: int, tile: int) -> int:
    return 2 * queries + 2 * keys * -(-queries // tile)


MOVED_ROWS = exercise(
    "moved-rows",
    "写 `moved_rows(queries, keys, tile)`：用在线 softmax，一次 `tile` 个查询，一共搬多少行；"
    "一块放得下，全部的键放不下。",
    "Write `moved_rows(queries, keys, tile)`: how many rows are moved with the online softmax and"
    " `tile` queries at a time, where a tile fits and all the keys do not.",
    solution=_moved_rows,
    probes=_tiles,
    mistakes={
        "rounded-down": wrong(
            "最后一块不满，也要把键和值从头看一遍：块数往上取整。",
            "The last tile may be smaller, and still goes through all keys: round the number of"
            " tiles up.",
            lambda q, k, t: 2 * q + 2 * k * (q // t),
            lambda q, k, t: 2 * q + 2 * k * max(q // t, 1),
        ),
        "fraction": wrong(
            "块数是整数：不满的一块也算一块。",
            "The number of tiles is whole: a smaller one counts as one.",
            lambda q, k, t: 2 * q + 2 * k * q / t,
            lambda q, k, t: 2 * q + round(2 * k * q / t),
        ),
        "tile-ignored": wrong(
            "这是一个查询接一个查询地算：搬来的键，一块里的查询都用。",
            "That is query by query: a key that is moved serves all queries of the tile.",
            lambda q, k, t: 2 * q + 2 * k * q,
        ),
        "keys-once": wrong(
            "键和值不止搬一次：放不下，每一块都要从头搬。",
            "Keys and values are moved more than once: they do not fit, and every tile moves them"
            " again.",
            lambda q, k, t: 2 * q + 2 * k,
        ),
        "keys-alone": wrong(
            "漏了值：每个键还有一个值。",
            "The values are missing: each key has one.",
            lambda q, k, t: 2 * q + k * -(-q // t),
        ),
        "outputs-missing": wrong(
            "漏了输出：每个查询还有一行输出要写回去。",
            "The outputs are missing: for each query a row is written back.",
            lambda q, k, t: q + 2 * k * -(-q // t),
        ),
        "queries-missing": wrong(
            "只有键和值：查询和输出也要各搬一次。",
            "These are the keys and values: queries and outputs are moved once each, too.",
            lambda q, k, t: 2 * k * -(-q // t),
        ),
        "keys-cut": wrong(
            "切成块的是查询，不是键：块数由查询数来定。",
            "It is the queries that are cut into tiles: they say how many there are.",
            lambda q, k, t: 2 * q + 2 * k * -(-k // t),
        ),
        "queries-again": wrong(
            "查询和输出不必每块重搬：一个查询只属于一块，一直留在身边。",
            "Queries and outputs are not moved for every tile: a query belongs to one, and stays at"
            " hand.",
            lambda q, k, t: (2 * q + 2 * k) * -(-q // t),
        ),
        "queries-times-tile": wrong(
            "块越大，重搬得越少：键和值的次数是查询数除以块的大小，不是乘。",
            "A larger tile moves less: keys and values are moved as often as the queries are"
            " divided by the tile, not multiplied.",
            lambda q, k, t: 2 * q + 2 * k * t,
            lambda q, k, t: 2 * q + 2 * k * q * t,
        ),
    },
)


# --- round-channels ----------------------------------------------------------------------------


def _channels() -> Iterator[Probe]:
    yield probe((torch.randn(8, 3), 2))
    yield probe((torch.randn(16, 5), 4), "4 位", "4 bits")
    yield probe((torch.randn(6, 4), 1), "1 位：只有两档", "1 bit: two levels")
    loud = torch.tensor([1.0, 1.0, 1.0, 32.0])
    yield probe((torch.randn(9, 4) * loud, 2), "一个特征的数值特别大", "one very large feature")
    yield probe((torch.randn(5, 5) + 10, 3), "都离 0 很远", "all far from 0")
    same = torch.cat((torch.full((4, 1), 2.5), torch.randn(4, 2)), dim=1)
    yield probe((same, 2), "一个特征处处相同", "a feature that is the same everywhere")
    yield probe((torch.randn(1, 3), 2), "只有一个词元", "a single token")
    ladder = torch.tensor([[0.0, -6.0], [2.0, -3.0], [4.0, 3.0], [6.0, 0.0]])
    yield probe((ladder, 2), "都恰好在档上", "all on levels already")


def _rounded(
    x: Tensor, bits: int, *, dim: int | tuple[int, ...] = 0, less: int = 1, guard: bool = True
) -> Tensor:
    low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    step: Tensor = (high - low) / (2**bits - less)
    step = step.where(step > 0, torch.ones(())) if guard else step
    return low + step * ((x - low) / step).round()


def _codes(x: Tensor, bits: int) -> tuple[Tensor, Tensor, Tensor]:
    low, high = x.amin(0), x.amax(0)
    step = (high - low) / (2**bits - 1)
    step = step.where(step > 0, torch.ones(()))
    return low, step, (x - low) / step


def _around_zero(x: Tensor, bits: int) -> Tensor:
    step: Tensor = x.abs().amax(0) / max(2 ** (bits - 1) - 1, 1)
    step = step.where(step > 0, torch.ones(()))
    return step * (x / step).round()


def _codes_alone(x: Tensor, bits: int) -> Tensor:
    return _codes(x, bits)[2].round()


def _without_low(x: Tensor, bits: int) -> Tensor:
    _, step, codes = _codes(x, bits)
    return step * codes.round()


def _rounded_down(x: Tensor, bits: int) -> Tensor:
    low, step, codes = _codes(x, bits)
    return low + step * (codes + 1e-4).floor()


def _low_not_taken_away(x: Tensor, bits: int) -> Tensor:
    low, step, _ = _codes(x, bits)
    return low + step * (x / step).round()


ROUND_CHANNELS = exercise(
    "round-channels",
    "写 `quantize(x, bits)`：x 的形状是（词元，特征），每个特征从最小到最大均分成 2^bits 档，"
    "返回舍入到最近一档的数。",
    "Write `quantize(x, bits)`: x has the shape (token, feature); each feature has 2^bits levels,"
    " evenly from its smallest number to its largest. Return the numbers, rounded to the nearest"
    " level.",
    solution=lambda x, bits: _rounded(x, bits),
    probes=_channels,
    mistakes={
        "per-token": wrong(
            "这是每个词元一组：最小和最大要沿着词元（第 0 轴）取，每个特征一组。",
            "These are groups per token: take smallest and largest along the tokens (axis 0), one"
            " group for each feature.",
            lambda x, bits: _rounded(x, bits, dim=-1),
        ),
        "one-scale": wrong(
            "所有的数用了同一把尺：每个特征有自己的最小和最大。",
            "All numbers share one scale: each feature has its own smallest and largest.",
            lambda x, bits: _rounded(x, bits, dim=(0, 1)),
        ),
        "one-level-more": wrong(
            "2^bits 档之间只有 2^bits − 1 步。",
            "Between 2^bits levels there are 2^bits − 1 steps.",
            lambda x, bits: _rounded(x, bits, less=0),
        ),
        "nan-where-equal": wrong(
            "一个特征处处相同，步长是 0，0/0 是 NaN：这时原样返回。",
            "Where a feature is the same everywhere its step is 0, and 0/0 is NaN: return it as it"
            " is.",
            lambda x, bits: _rounded(x, bits, guard=False),
        ),
        "codes": wrong(
            "这是档的编号：要换回原来的数，编号乘步长，再加最小值。",
            "These are the numbers of the levels: turn them back, times the step, plus the"
            " smallest.",
            _codes_alone,
        ),
        "low-missing": wrong(
            "减去的最小值没有加回来。",
            "The smallest number was taken away and not added again.",
            _without_low,
        ),
        "rounded-down": wrong(
            "舍入到最近的一档，不是往下取。",
            "Round to the nearest level, not down.",
            _rounded_down,
        ),
        "low-not-taken-away": wrong(
            "数档之前，先减去最小值。",
            "Take the smallest number away before you count steps.",
            _low_not_taken_away,
        ),
        "around-zero": wrong(
            "这是以 0 为中心的一把尺：各档应当从最小的数到最大的数。",
            "That is a scale around 0: the levels go from the smallest number to the largest.",
            _around_zero,
        ),
    },
)

EXERCISES = (REPEAT_KEY_HEADS, STEP_BYTES, DRAW_THE_REST, MOVED_ROWS, ROUND_CHANNELS)
