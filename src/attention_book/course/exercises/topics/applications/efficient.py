"""Exercises on efficient attention: merging parts of a softmax, and keys for groups of heads."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import PartialAttention
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

#: What a part of the keys hands on: maximum, total and weighted sum.
Part = tuple[Tensor, Tensor, Tensor]


def _part(scores: Tensor, values: Tensor) -> Part:
    part = PartialAttention.of(scores, values)
    return part.maximum, part.total, part.weighted


def _parts() -> Iterator[Probe]:
    scores, values = torch.randn(3, 5), torch.randn(5, 2)
    yield Probe((_part(scores[:, :2], values[:2]), _part(scores[:, 2:], values[2:])))
    yield Probe((_part(scores[:, 2:], values[2:]), _part(scores[:, :2], values[:2])))
    far = _part(scores[:, 2:] + 200, values[2:])
    yield Probe(
        (_part(scores[:, :2], values[:2]), far), Bilingual("评分相差很大", "scores far apart")
    )
    hidden = torch.full((3, 2), -torch.inf)
    nothing = _part(hidden, values[:2])
    one_side = Bilingual("一份什么也没看见", "one part saw nothing")
    yield Probe((nothing, _part(scores, values)), one_side)
    yield Probe((_part(scores, values), nothing), one_side)
    yield Probe((nothing, nothing), Bilingual("两份都什么也没看见", "neither part saw anything"))
    yield Probe(
        (far, _part(scores[:, :2] - 200, values[:2])), Bilingual("评分相差很大", "scores far apart")
    )
    seen = torch.tensor([[True], [False], [False]])
    partly = scores.where(seen, -torch.inf)
    one, two = _part(partly[:, :2], values[:2]), _part(partly[:, 2:], values[2:])
    some = Bilingual("有的查询什么也没看见", "some queries saw nothing")
    yield Probe((one, two), some)
    yield Probe((one, _part(scores, values)), some)
    yield Probe((one, one), Bilingual("两份的最大值相同", "both maxima are equal"))
    square = (_part(torch.randn(2, 3), torch.randn(3, 2)) for _ in range(2))
    yield Probe(tuple(square), Bilingual("查询与特征一样多", "as many queries as features"))


def _merge(first: Part, second: Part) -> Part:
    merged = PartialAttention(*first).merge(PartialAttention(*second))
    return merged.maximum, merged.total, merged.weighted


def _factors(first: Part, second: Part) -> tuple[Tensor, Tensor, Tensor]:
    maximum = torch.maximum(first[0], second[0])
    base = maximum.masked_fill(maximum == -torch.inf, 0.0)
    return maximum, (first[0] - base).exp(), (second[0] - base).exp()


def _not_rescaled(first: Part, second: Part) -> Part:
    return torch.maximum(first[0], second[0]), first[1] + second[1], first[2] + second[2]


def _only_totals(first: Part, second: Part) -> Part:
    maximum, mine, others = _factors(first, second)
    return maximum, mine * first[1] + others * second[1], first[2] + second[2]


def _second_is_larger(first: Part, second: Part) -> Part:
    """Bring the first to the second's maximum, as if it could not be smaller."""
    maximum, mine, _ = _factors(first, second)
    return maximum, mine * first[1] + second[1], mine[:, None] * first[2] + second[2]


def _first_is_larger(first: Part, second: Part) -> Part:
    return _second_is_larger(second, first)


def _without_base(first: Part, second: Part) -> Part:
    maximum = torch.maximum(first[0], second[0])
    mine, others = (first[0] - maximum).exp(), (second[0] - maximum).exp()
    weighted = mine[:, None] * first[2] + others[:, None] * second[2]
    return maximum, mine * first[1] + others * second[1], weighted


def _upside_down(first: Part, second: Part) -> Part:
    maximum, mine, others = _factors(first, second)
    weighted = first[2] / mine[:, None] + second[2] / others[:, None]
    return maximum, first[1] / mine + second[1] / others, weighted


def _normalized(first: Part, second: Part) -> Part:
    maximum, total, weighted = _merge(first, second)
    return maximum, total, weighted / total.masked_fill(total == 0, 1.0)[:, None]


def _larger_alone(first: Part, second: Part) -> Part:
    larger = first[0] >= second[0]
    pairs = zip((larger, larger, larger[:, None]), first, second, strict=True)
    maximum, total, weighted = (one.where(which, other) for which, one, other in pairs)
    return maximum, total, weighted


def _only_sums(first: Part, second: Part) -> Part:
    maximum, _, weighted = _merge(first, second)
    return maximum, first[1] + second[1], weighted


def _smaller_maximum(first: Part, second: Part) -> Part:
    minimum = torch.minimum(first[0], second[0])
    base = minimum.masked_fill(minimum == -torch.inf, 0.0)
    mine, others = (first[0] - base).exp(), (second[0] - base).exp()
    weighted = mine[:, None] * first[2] + others[:, None] * second[2]
    return minimum, mine * first[1] + others * second[1], weighted


def _unshifted(first: Part, second: Part) -> Part:
    maximum, _, _ = _factors(first, second)
    down = maximum.masked_fill(maximum == -torch.inf, 0.0).exp()
    mine, others = first[0].exp(), second[0].exp()
    weighted = mine[:, None] * first[2] + others[:, None] * second[2]
    return maximum, (mine * first[1] + others * second[1]) / down, weighted / down[:, None]


def _all_or_nothing(first: Part, second: Part) -> Part:
    if first[0].isinf().all():
        return second
    return first if second[0].isinf().all() else _without_base(first, second)


def _halved(first: Part, second: Part) -> Part:
    maximum, total, weighted = _merge(first, second)
    return maximum, total / 2, weighted / 2


def _order_is_nothing(answer: Answer) -> Finding | None:
    scores, values = torch.randn(2, 4), torch.randn(4, 3)
    one, two = _part(scores[:, :1], values[:1]), _part(scores[:, 1:], values[1:])
    there, back = answer(one, two), answer(two, one)
    if all(torch.allclose(a, b, atol=1e-5) for a, b in zip(there, back, strict=True)):
        return None
    return Finding(
        {"first": one, "second": two}, Bilingual("与次序无关", "the same both ways"), back
    )


_ONE_SIDE = Bilingual(
    "只换算了一份。哪一份的最大值大，事先并不知道：两份都要乘上自己的 `exp(m_i - m)`。",
    "Only one part is rescaled. Which maximum is larger is not known beforehand: multiply both,"
    " each by its own `exp(m_i - m)`.",
)

_NAN = Bilingual(
    "一个查询在两份里都什么也没看见时，`-inf - (-inf)` 是 NaN：此时改为减 0，逐个查询地。",
    "Where a query saw nothing in either part, `-inf - (-inf)` is NaN: subtract 0 there, query by"
    " query.",
)

MERGE_SOFTMAX = Exercise(
    name="merge-softmax",
    task=Bilingual(
        "写 `merge(first, second)`：把两份 `(m, s, u)` 合并成一份；"
        "m 是最大的评分，s 是指数之和，u 是未归一化的加权和。",
        "Write `merge(first, second)`, which merges two parts `(m, s, u)` into one: the largest"
        " score, the sum of exponentials, and the weighted sum before normalizing.",
    ),
    solution=_merge,
    probes=_parts,
    mistakes=(
        Mistake(
            "not-rescaled",
            _not_rescaled,
            Bilingual(
                "直接相加不行：两份减去的最大值不同，先换算到共同的最大值。",
                "They can't just be added: the two subtracted different maxima. Bring both to"
                " the common one first.",
            ),
        ),
        Mistake(
            "only-totals",
            _only_totals,
            Bilingual(
                "分母 s 换算了，u 却没有：u 里的每一项也带着旧的最大值。",
                "The total s is rescaled and u is not: each of its terms holds the old maximum,"
                " too.",
            ),
        ),
        Mistake("one-side", _second_is_larger, _ONE_SIDE),
        Mistake("one-side", _first_is_larger, _ONE_SIDE),
        Mistake("nan-from-nothing", _without_base, _NAN),
        Mistake("nan-from-nothing", _all_or_nothing, _NAN),
        Mistake(
            "upside-down",
            _upside_down,
            Bilingual(
                "换算反了：旧的一份要变小，乘 `exp(m_old - m_new)`，指数不会是正的。",
                "The wrong way round: the old part shrinks, times `exp(m_old - m_new)`, and the"
                " exponent is never positive.",
            ),
        ),
        Mistake(
            "normalized",
            _normalized,
            Bilingual(
                "先别除以 s：u 是没有归一化的和，除过就不能再合并了。",
                "Don't divide by s yet: u is the sum before normalizing; once divided, it can't be"
                " merged again.",
            ),
        ),
        Mistake(
            "larger-alone",
            _larger_alone,
            Bilingual(
                "只留下了最大值较大的那一份：另一份也要算进去。",
                "Only the part with the larger maximum is kept: the other counts, too.",
            ),
        ),
        Mistake(
            "only-sums",
            _only_sums,
            Bilingual(
                "u 换算了，分母 s 却没有：s 里的每一项也带着旧的最大值。",
                "u is rescaled and the total s is not: each of its terms holds the old maximum,"
                " too.",
            ),
        ),
        Mistake(
            "smaller-maximum",
            _smaller_maximum,
            Bilingual(
                "取了较小的最大值：两份合起来的最大值是较大的那一个，否则指数会溢出。",
                "That is the smaller maximum: of both together it is the larger one; otherwise the"
                " exponentials overflow.",
            ),
        ),
        Mistake(
            "overflow",
            _unshifted,
            Bilingual(
                "先还原了指数，评分很大时溢出：只乘 `exp(m_i - m)`，指数不会是正的。",
                "The exponentials are undone first and overflow where scores are large: multiply by"
                " `exp(m_i - m)` alone, whose exponent is never positive.",
            ),
        ),
        Mistake(
            "averaged",
            _halved,
            Bilingual("和就是和，不取平均。", "The sums are added and not averaged."),
        ),
    ),
    laws=(
        Law(
            "commutative",
            Bilingual("谁先谁后都一样。", "Which part comes first changes nothing."),
            _order_is_nothing,
        ),
    ),
)


def _keys() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 2, 3, 2), 4))
    yield Probe((torch.randn(2, 3, 1, 4), 6))
    alone = Bilingual("只有一个键头", "there is a single head of keys")
    yield Probe((torch.randn(2, 1, 3, 2), 3), alone)
    yield Probe((torch.randn(1, 4, 2, 3), 4), Bilingual("各有各的键", "each head has its own keys"))
    yield Probe((torch.randn(2, 2, 2, 2), 4), Bilingual("各轴一样长", "all axes are equally long"))
    yield Probe((torch.randn(1, 1, 1, 1), 2), Bilingual("各轴的长度是 1", "all axes have size 1"))


def _repeated(keys: Tensor, num_heads: int) -> Tensor:
    return keys.repeat_interleave(num_heads // keys.shape[1], dim=1)


def _in_turns(keys: Tensor, num_heads: int) -> Tensor:
    return keys.repeat(1, num_heads // keys.shape[1], 1, 1)


def _too_many(keys: Tensor, num_heads: int) -> Tensor:
    return keys.repeat_interleave(num_heads, dim=1)


def _along_keys(keys: Tensor, num_heads: int) -> Tensor:
    return keys.repeat_interleave(num_heads // keys.shape[1], dim=2)


def _along(axis: int) -> Answer:
    return lambda keys, num_heads: keys.repeat_interleave(num_heads // keys.shape[1], dim=axis)


def _first_head(keys: Tensor, num_heads: int) -> Tensor:
    return keys[:, :1].expand(-1, num_heads, -1, -1)


def _groups_apart(keys: Tensor, num_heads: int) -> Tensor:
    return keys.unsqueeze(2).repeat(1, 1, num_heads // keys.shape[1], 1, 1)


def _number_by_number(keys: Tensor, num_heads: int) -> Tensor:
    batch, heads, *rest = keys.shape
    return keys.repeat_interleave(num_heads // heads).reshape(batch, num_heads, *rest)


REPEAT_KEY_HEADS = Exercise(
    name="repeat-key-heads",
    task=Bilingual(
        "写 `repeat_heads(keys, num_heads)`：每个键头复制给它那一组查询头，组里的头相邻。",
        "Write `repeat_heads(keys, num_heads)`: copy each head of keys for its group of query"
        " heads, which are neighbors.",
    ),
    solution=_repeated,
    probes=_keys,
    mistakes=(
        Mistake(
            "in-turns",
            _in_turns,
            Bilingual(
                "键头轮流分给了查询头（0、1、0、1）；同组的头应当相邻（0、0、1、1）。",
                "The heads of keys are dealt out in turn (0, 1, 0, 1); those of one group are"
                " neighbors (0, 0, 1, 1).",
            ),
        ),
        Mistake(
            "too-many",
            _too_many,
            Bilingual(
                "复制得太多：每个键头要（查询头数 ÷ 键头数）份，不是 num_heads 份。",
                "Too many copies: each head of keys is needed once for each head of its group, not"
                " num_heads times.",
            ),
        ),
        Mistake(
            "along-keys",
            _along_keys,
            Bilingual(
                "轴错了：复制的是头（第 1 轴），不是键。",
                "The wrong axis: copy the heads (axis 1), not the keys.",
            ),
        ),
        Mistake(
            "along-features",
            _along(-1),
            Bilingual(
                "轴错了：复制的是头（第 1 轴），不是每个键里的数。",
                "The wrong axis: copy the heads (axis 1), not the numbers of a key.",
            ),
        ),
        Mistake(
            "along-the-batch",
            _along(0),
            Bilingual(
                "轴错了：复制的是头（第 1 轴），不是句子。",
                "The wrong axis: copy the heads (axis 1), not the examples of the batch.",
            ),
        ),
        Mistake(
            "not-repeated",
            lambda keys, num_heads: keys.clone(),
            Bilingual("什么也没有复制。", "Nothing is copied."),
        ),
        Mistake(
            "first-head-alone",
            _first_head,
            Bilingual(
                "各组都得到了第一个键头：每组有自己的。",
                "Every group got the first head of keys: each has its own.",
            ),
        ),
        Mistake(
            "groups-apart",
            _groups_apart,
            Bilingual(
                "组和组里的头还是两个轴：合成一个。",
                "Groups and heads within them are still two axes: merge them.",
            ),
        ),
        Mistake(
            "raw",
            _number_by_number,
            Bilingual(
                "`repeat_interleave` 没有给 `dim`，逐个数地复制了：给出头的轴，`dim=1`。",
                "Without `dim`, `repeat_interleave` copies number by number: give the axis of the"
                " heads, `dim=1`.",
            ),
        ),
    ),
)

EXERCISES = (MERGE_SOFTMAX, REPEAT_KEY_HEADS)

__all__ = ["EXERCISES"]
