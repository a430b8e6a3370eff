"""Exercises on what a word costs: the bytes of a step, and a round of speculative sampling."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import residual_distribution
from attention_book.foundations.bilingual import Bilingual


def _sizes() -> Iterator[Probe]:
    yield Probe((1000, 2, 8, 10, 3))
    yield Probe((7, 1, 4, 100, 64))
    yield Probe((50, 8, 16, 5, 1), Bilingual("只有一段文字", "a single text"))
    yield Probe((50, 8, 16, 0, 5), Bilingual("缓存是空的", "the cache is empty"))
    yield Probe((1, 1, 1, 1, 2), Bilingual("一切都是最小的", "everything is as small as can be"))
    real = Bilingual("真实模型的大小", "the size of a real model")
    yield Probe((7_000_000_000, 8, 128, 32_768, 32), real)


def _step_bytes(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * (weights + batch * tokens * 2 * kv_heads * d_k)


def _weights_each(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return batch * _step_bytes(weights, kv_heads, d_k, tokens, 1)


def _cache_once(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, kv_heads, d_k, tokens, 1)


def _keys_alone(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * (weights + batch * tokens * kv_heads * d_k)


def _new_token_alone(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, kv_heads, d_k, min(tokens, 1), batch)


def _numbers(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, kv_heads, d_k, tokens, batch) // 2


def _four_bytes(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * _step_bytes(weights, kv_heads, d_k, tokens, batch)


def _cache_alone(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(0, kv_heads, d_k, tokens, batch)


def _weights_alone(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * weights


def _one_head(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, 1, d_k, tokens, batch)


def _new_token_too(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, kv_heads, d_k, tokens + 1, batch)


def _weights_counted(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return _step_bytes(weights, kv_heads, d_k, tokens, batch) - weights


STEP_BYTES = Exercise(
    name="step-bytes",
    task=Bilingual(
        "写 `step_bytes(weights, kv_heads, d_k, tokens, batch)`：一层解码一步至少读多少字节，"
        "每个数 2 字节。",
        "Write `step_bytes(weights, kv_heads, d_k, tokens, batch)`: the bytes that a layer must"
        " read in a step of decoding, with 2 bytes for each number.",
    ),
    solution=_step_bytes,
    probes=_sizes,
    mistakes=(
        Mistake(
            "weights-each",
            _weights_each,
            Bilingual(
                "权重读了 batch 遍：一批文字合用一份权重，读一遍就够。",
                "The weights are read once for each text: the batch shares them, and one time is"
                " enough.",
            ),
        ),
        Mistake(
            "cache-once",
            _cache_once,
            Bilingual(
                "缓存只读了一份：每段文字有自己的缓存，各读各的。",
                "The cache is read once for all: each text has a cache of its own.",
            ),
        ),
        Mistake(
            "keys-alone",
            _keys_alone,
            Bilingual("只有键，漏了值。", "These are the keys; the values are missing."),
        ),
        Mistake(
            "new-token-alone",
            _new_token_alone,
            Bilingual(
                "只算了一个词元：新词要看缓存里的全部词元。",
                "That is one token: the new word looks at all tokens in the cache.",
            ),
        ),
        Mistake(
            "numbers",
            _numbers,
            Bilingual(
                "这是数的个数；一个数占 2 字节。",
                "That is how many numbers there are; a number takes 2 bytes.",
            ),
        ),
        Mistake(
            "four-bytes",
            _four_bytes,
            Bilingual(
                "每个数按 4 字节算了：这里是 2 字节。",
                "That is 4 bytes for each number; it is 2 here.",
            ),
        ),
        Mistake(
            "weights-missing",
            _cache_alone,
            Bilingual(
                "漏了权重：每一步都要读一遍。", "The weights are missing: each step reads them."
            ),
        ),
        Mistake(
            "cache-missing",
            _weights_alone,
            Bilingual(
                "漏了缓存：新词要看以前的每一个词元。",
                "The cache is missing: the new word looks at every token before it.",
            ),
        ),
        Mistake(
            "one-head",
            _one_head,
            Bilingual(
                "只算了一个键头：每个键头各有自己的键和值。",
                "That is one head of keys: each has keys and values of its own.",
            ),
        ),
        Mistake(
            "new-token-too",
            _new_token_too,
            Bilingual(
                "多读了一个词元：新词的键和值刚刚算出来，不在缓存里。",
                "One token too many: the new word's key and value have just been computed and"
                " are not in the cache.",
            ),
        ),
        Mistake(
            "weights-in-numbers",
            _weights_counted,
            Bilingual(
                "2 字节只乘了缓存：权重的每个数也占 2 字节。",
                "Only the cache is counted in bytes: the numbers of the weights take 2 each, too.",
            ),
        ),
    ),
)


def _pairs() -> Iterator[Probe]:
    yield Probe((torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])))
    yield Probe(tuple(torch.randn(2, 6).softmax(dim=-1)))
    apart = (torch.tensor([0.4, 0.6, 0.0]), torch.tensor([0.0, 0.0, 1.0]))
    yield Probe(apart, Bilingual("两个分布没有交集", "the two have no word in common"))
    same = torch.tensor([0.25, 0.75])
    yield Probe((same, same.clone()), Bilingual("两个分布相同", "the two are equal"))
    little = torch.tensor([2.0**-18, -(2.0**-18)])  # exact in float32, within allclose's tolerance
    almost = (torch.tensor([0.5, 0.5]) + little, torch.tensor([0.5, 0.5]))
    yield Probe(almost, Bilingual("两个分布几乎相同", "the two are almost equal"))
    some = (torch.tensor([0.25, 0.25, 0.5]), torch.tensor([0.25, 0.5, 0.25]))
    yield Probe(some, Bilingual("有一个词两边一样", "both agree on a word"))
    yield Probe((torch.ones(1), torch.ones(1)), Bilingual("只有一个词", "a single word"))


def _from_target(p: Tensor, q: Tensor) -> Tensor:
    return p


def _not_normalized(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).clamp(min=0)


def _absolute(p: Tensor, q: Tensor) -> Tensor:
    apart = (p - q).abs()
    return apart / apart.sum() if apart.sum() > 0 else p


def _other_way(p: Tensor, q: Tensor) -> Tensor:
    return residual_distribution(q, p)


def _nan_where_equal(p: Tensor, q: Tensor) -> Tensor:
    rest = (p - q).clamp(min=0)
    return rest / rest.sum()


def _zeros_where_equal(p: Tensor, q: Tensor) -> Tensor:
    rest = (p - q).clamp(min=0)
    return rest / rest.sum().clamp(min=1e-30)


def _softmax(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).softmax(dim=-1)


def _softmax_of_positive(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).clamp(min=0).softmax(dim=-1)


def _accepted_part(p: Tensor, q: Tensor) -> Tensor:
    both = torch.minimum(p, q)
    return both / both.sum() if both.sum() > 0 else p


def _whole_words(p: Tensor, q: Tensor) -> Tensor:
    more = p.where(p > q, 0.0)
    return more / more.sum() if more.sum() > 0 else p


def _not_clamped(p: Tensor, q: Tensor) -> Tensor:
    return (p - q) / (p - q).sum()


def _fills_up(answer: Answer) -> Finding | None:
    p, q = torch.randn(2, 5).softmax(dim=-1)
    accepted = torch.minimum(p, q)
    mixed = accepted + (1 - accepted.sum()) * answer(p, q)
    if torch.allclose(mixed, p, atol=1e-5):
        return None
    return Finding({"p": p, "q": q}, Bilingual("合起来是 p", "p, all in all"), mixed)


_NO_SOFTMAX = Bilingual(
    "归一化是除以总和，不是 softmax：差是 0 的词不该再抽到。",
    "To normalize is to divide by the sum, not a softmax: where the difference is 0 a word is not"
    " drawn again.",
)

DRAW_THE_REST = Exercise(
    name="draw-the-rest",
    task=Bilingual(
        "写 `rest(p, q)`：草稿的词被拒之后，改抽的词服从什么分布；两者相同时返回 p。",
        "Write `rest(p, q)`: the distribution to draw from after a drafted word was rejected; p"
        " where both are equal.",
    ),
    solution=lambda p, q: residual_distribution(p, q),
    probes=_pairs,
    mistakes=(
        Mistake(
            "from-target",
            _from_target,
            Bilingual(
                "从 p 重抽，草稿爱写的词就得到两次机会。p 里已经由草稿给出的那一部分要先减掉。",
                "To draw from p gives the draft's favorite words a second chance. Take away first"
                " what the draft has already given.",
            ),
        ),
        Mistake(
            "not-normalized",
            _not_normalized,
            Bilingual("还没有归一化：和应当是 1。", "Not normalized yet: it must sum to 1."),
        ),
        Mistake(
            "absolute",
            _absolute,
            Bilingual(
                "草稿写得太多的词（q > p）不该再写：负的差要变成 0，不是变成正的。",
                "Words that the draft writes too often (q > p) must not be drawn again: a negative"
                " difference becomes 0, not positive.",
            ),
        ),
        Mistake(
            "other-way",
            _other_way,
            Bilingual(
                "方向反了：要补的是 p 多出来的。", "The wrong way round: p is to be filled up."
            ),
        ),
        Mistake(
            "nan-where-equal",
            _nan_where_equal,
            Bilingual(
                "两个分布相同时，差全是 0，0/0 是 NaN。",
                "Where the two are equal all differences are 0, and 0/0 is NaN.",
            ),
        ),
        Mistake(
            "zeros",
            _zeros_where_equal,
            Bilingual(
                "两个分布相同时得到的全是 0，不是分布：返回 p。",
                "Where the two are equal all come out as 0, which is no distribution: return p.",
            ),
        ),
        Mistake("softmax", _softmax, _NO_SOFTMAX),
        Mistake("softmax", _softmax_of_positive, _NO_SOFTMAX),
        Mistake(
            "accepted-part",
            _accepted_part,
            Bilingual(
                "min(p, q) 是已经收下的那一部分；要补的是 p 减去它之后剩下的。",
                "min(p, q) is what was accepted; draw from what is left of p without it.",
            ),
        ),
        Mistake(
            "whole-words",
            _whole_words,
            Bilingual(
                "p > q 的词里，草稿已经给出了 q 那么多：留下的是 p − q，不是整个 p。",
                "Of the words with p > q the draft has given q already: p − q is left, not all of"
                " p.",
            ),
        ),
        Mistake(
            "not-clamped",
            _not_clamped,
            Bilingual(
                "负的差没有变成 0：正负相抵，总和是 0。",
                "Negative differences do not become 0: they cancel the others, and the sum is 0.",
            ),
        ),
    ),
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

EXERCISES = (STEP_BYTES, DRAW_THE_REST)

__all__ = ["EXERCISES"]
