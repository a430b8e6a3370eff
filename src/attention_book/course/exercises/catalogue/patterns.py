"""Exercises on sparse and efficient attention: patterns, their reach, merging."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import (
    PartialAttention,
    block_mask,
    causal_mask,
    dilated_mask,
    global_mask,
    reach,
    strided_mask,
    window_mask,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- fixed-pattern -----------------------------------------------------------------------------


def _summaries(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return torch.arange(num_positions) % block_size >= block_size - num_summaries


def _own(num_positions: int, block_size: int) -> Tensor:
    return block_mask(num_positions, block_size=block_size)


def _fixed(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    return (_own(num_positions, block_size) | summaries) & causal_mask(num_positions)


def _without_past(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _own(num_positions, block_size) | _summaries(num_positions, block_size, num_summaries)


def _seeing_too(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries).nonzero().flatten().tolist()
    everywhere = global_mask(num_positions, positions=summaries)
    return (_own(num_positions, block_size) | everywhere) & causal_mask(num_positions)


def _last_block(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    block = torch.arange(num_positions) // block_size
    near = block[:, None] - block <= 1
    return _fixed(num_positions, block_size, num_summaries) & near


FIXED_PATTERN = exercise(
    "fixed-pattern",
    "写 `fixed(num_positions, block_size, num_summaries)`：布尔掩码，不看未来，看得见自己的块和每"
    "一块最后 `num_summaries` 个位置。",
    "Write `fixed(num_positions, block_size, num_summaries)`: a boolean mask that never sees the"
    " future, and sees its own block and the last `num_summaries` positions of each.",
    solution=_fixed,
    probes=lambda: [
        probe((8, 4, 1)),
        probe((12, 3, 2)),
        probe((10, 4, 1), "最后一块不满", "the last block is not full"),
        probe((6, 3, 3), "整块都是摘要", "the whole block is a summary"),
        probe((7, 3, 0), "没有摘要", "there are no summaries"),
        probe((3, 5, 3), "一块也没有满", "not one block is full"),
        probe((4, 1, 0), "一块只有一个位置", "a block is one position"),
        probe((1, 2, 1), "只有一个位置", "there is one position"),
    ],
    mistakes={
        "future": wrong(
            "未来漏了进来：`&` 比 `|` 结合得更紧，先用括号把两部分并起来，再用因果掩码一起裁。",
            "The future leaks in: `&` binds more tightly than `|`. Join the two parts in brackets,"
            " and then cut both with the causal mask.",
            _without_past,
            lambda n, size, c: _own(n, size) | _summaries(n, size, c) & causal_mask(n),
            lambda n, size, c: (_own(n, size) & causal_mask(n)) | _summaries(n, size, c),
        ),
        "and-for-or": wrong(
            "两个图案要并起来：看得见其一就行，用 `|`；`&` 只留下两者都有的。",
            "The two patterns are joined: one of them is enough, so `|`; `&` keeps only what both"
            " have.",
            lambda n, size, c: _own(n, size) & _summaries(n, size, c) & causal_mask(n),
        ),
        "first-of-block": wrong(
            "摘要是每块的末尾，不是开头：它要先看见块里别的位置，才有东西可转告。",
            "The summaries end the block, they do not begin it: only there have they seen the rest"
            " of it and something to pass on.",
            lambda n, size, c: (_own(n, size) | (torch.arange(n) % size < c)) & causal_mask(n),
        ),
        "summary-axis": wrong(
            "摘要指的是键：所有查询都看得见它。沿键的轴（最后一个轴）标记，摘要自己并不因此看得更"
            "多。",
            "A summary is a key that all queries see. Mark it along the axis of the keys, the last"
            " one; as a query it sees no more than others do.",
            lambda n, size, c: (_own(n, size) | _summaries(n, size, c)[:, None]) & causal_mask(n),
            _seeing_too,
        ),
        "off-by-one": wrong(
            "多了一个摘要：余数从 0 数起，最后 c 个的余数不小于 `block_size - c`。",
            "One summary too many: remainders count from 0, and those of the last c are"
            " `block_size - c` or more.",
            lambda n, size, c: _fixed(n, size, min(c + 1, size)),
        ),
        "inverted": wrong(
            *hints.MASK_INVERTED, lambda n, size, c: ~_without_past(n, size, c) & causal_mask(n)
        ),
        "one-too-few": wrong(
            "少了一个摘要：余数等于 `block_size - c` 的也算，用 `>=`。",
            "One summary too few: a remainder of `block_size - c` counts, too, so `>=`.",
            lambda n, size, c: _fixed(n, size, max(c - 1, 0)),
        ),
        "no-summaries": wrong(
            "只看得见自己的块：还要加上每一块的摘要。",
            "This sees its own block alone: the summaries of every block are missing.",
            lambda n, size, c: _fixed(n, size, 0),
        ),
        "own-block-missing": wrong(
            "只看得见摘要：自己的块也看得见。",
            "This sees summaries alone: its own block is visible, too.",
            lambda n, size, c: _summaries(n, size, c) & causal_mask(n),
        ),
        "not-itself": wrong(
            "位置也看得见自己：`<=`，不是 `<`。",
            "A position sees itself: `<=`, not `<`.",
            lambda n, size, c: _fixed(n, size, c).tril(-1),
        ),
        "window": wrong(
            "这是滑动的窗口：块的边界是固定的，看 `i // block_size`，不看距离。",
            "That is a sliding window: the blocks have fixed borders; compare `i // block_size`,"
            " not distances.",
            lambda n, size, c: (
                (window_mask(n, radius=size - 1) | _summaries(n, size, c)) & causal_mask(n)
            ),
        ),
        "last-block-alone": wrong(
            "只看得见上一块的摘要：以前每一块的都看得见。",
            "This sees the summaries of the block before alone: those of all earlier blocks are"
            " visible.",
            _last_block,
        ),
    },
)


# --- layers-needed -----------------------------------------------------------------------------


def _masks() -> Iterator[Probe]:
    yield probe((window_mask(7, radius=2),))
    yield probe((window_mask(9, radius=1),))
    yield probe((global_mask(6, positions=[2]),))
    yield probe((torch.ones(4, 4, dtype=torch.bool),))
    yield probe(
        (window_mask(8, radius=1) & ~torch.eye(8, dtype=torch.bool),),
        "掩码里没有自己",
        "nobody sees itself",
    )
    yield probe((torch.ones(1, 1, dtype=torch.bool),), "只有一个位置", "a single position")
    yield probe((block_mask(6, block_size=3),), "块与块不相通", "blocks do not meet")
    yield probe((causal_mask(5),), "看不见未来", "the future is hidden")
    yield probe((strided_mask(9, stride=2) | window_mask(9, radius=1),))
    yield probe((dilated_mask(5, radius=2, dilation=2),), "有空隙", "there are gaps")
    one_way = torch.eye(6, dtype=torch.bool).roll(1, dims=1)
    yield probe((one_way,), "一个看一个，围成一圈", "each sees the next, in a ring")
    yield probe((window_mask(14, radius=1),), "路很长", "a long way")
    first = Bilingual("大家都看第一个位置", "all see the first position")
    yield Probe((global_mask(6, positions=[0]),), first)
    yield probe((causal_mask(4).mT,), "只看得见未来", "only the future is visible")
    yield probe((torch.zeros(2, 2, dtype=torch.bool),), "谁也看不见", "none sees any")
    alone = torch.zeros(1, 1, dtype=torch.bool)
    yield probe((alone,), "只有一个位置，看不见自己", "one position, hidden from itself")


def _layers_needed(mask: Tensor) -> int | None:
    for num_layers in range(len(mask)):
        if reach(mask, num_layers).all():
            return num_layers
    return None


def _without_residual(mask: Tensor) -> int | None:
    reached = torch.eye(len(mask), dtype=torch.bool)
    for num_layers in range(2 * len(mask)):
        if reached.all():
            return num_layers
        reached = (mask.float() @ reached.float()) > 0
    return None


def _squared(mask: Tensor) -> int | None:
    reached = mask | torch.eye(len(mask), dtype=torch.bool)
    for num_layers in range(1, len(mask) + 1):
        if reached.all():
            return num_layers
        reached = (reached.float() @ reached.float()) > 0
    return None


def _of_needed(change: Callable[[int, int], int | None]) -> Answer:
    """Return an answer that makes something of the right number and of the number of positions."""

    def answer(mask: Tensor) -> int | None:
        needed = _layers_needed(mask)
        return None if needed is None else change(needed, len(mask))

    return answer


def _instead_of_none(value: Callable[[Tensor], int | float]) -> Answer:
    def answer(mask: Tensor) -> int | float:
        needed = _layers_needed(mask)
        return value(mask) if needed is None else needed

    return answer


def _until_nothing_is_new(mask: Tensor) -> int:
    num_layers = 0
    while not torch.equal(reach(mask, num_layers), reach(mask, num_layers + 1)):
        num_layers += 1
    return num_layers


LAYERS_NEEDED = exercise(
    "layers-needed",
    "写 `layers_needed(mask)`：同一个掩码最少叠几层，每个位置都到得了每个位置；永远不能时返回 "
    "None。",
    "Write `layers_needed(mask)`: the smallest number of layers of one mask after which every"
    " position reaches every position; None if that never happens.",
    solution=_layers_needed,
    probes=_masks,
    mistakes={
        "no-residual": wrong(
            "位置自己已有的不会丢：残差连接和查询都带着它，每一层都要并上对角线。",
            "A position keeps what it has, by the residual connection and as its query: join the"
            " diagonal at every layer.",
            _without_residual,
        ),
        "single-position": wrong(
            "只有一个位置时不需要任何一层：先检查，再加层。",
            "A single position needs no layer at all: check first, then add a layer.",
            _of_needed(lambda n, size: max(n, 1)),
        ),
        "off-by-one": wrong(
            "差了一层：0 层之后每个位置只有自己，第 1 层之后才是掩码（并上自己）。",
            "One layer off: after 0 layers a position has only itself, and the mask (with itself)"
            " is what it has after the first.",
            _of_needed(lambda n, size: n + 1),
            _of_needed(lambda n, size: n - 1),
        ),
        "squared": wrong(
            "把结果自乘，层数就翻倍：1、2、4、8 层；每加一层，只再乘一次掩码。",
            "Squaring the result doubles the layers: 1, 2, 4, 8; a further layer is one more"
            " product with the mask.",
            _squared,
        ),
        "never": wrong(
            "有的图案永远不通：n 个位置时最长的路是 n−1 步，试完还不通就返回 None。",
            "Some patterns never join all: among n positions the longest way has n−1 steps, so"
            " return None if they are not all joined by then.",
            _instead_of_none(len),
            _instead_of_none(lambda mask: -1),
            _instead_of_none(lambda mask: 0),
            _instead_of_none(lambda mask: math.inf),
            _until_nothing_is_new,
        ),
        "stops-too-early": wrong(
            "放弃得太早：n 个位置时最长的路是 n−1 步，n−1 层也要试。",
            "It gives up too early: among n positions the longest way has n−1 steps, so try n−1"
            " layers, too.",
            _of_needed(lambda n, size: None if n >= size - 1 else n),
        ),
        "one-position-alone": wrong(
            "只看了第一个位置：每个位置都要到得了每个位置，看整个矩阵。",
            "Only the first position was looked at: every one must reach every one, so look at the"
            " whole matrix.",
            lambda m: next((n for n in range(len(m)) if reach(m, n)[0].all()), None),
            lambda m: next((n for n in range(len(m)) if reach(m, n)[:, 0].all()), None),
        ),
        "both-ways": wrong(
            "箭头有方向：i 看得见 j，j 不一定看得见 i。",
            "Arrows have a direction: that i sees j does not mean that j sees i.",
            lambda m: _layers_needed(m | m.mT),
        ),
    },
)


# --- merge-softmax -----------------------------------------------------------------------------

#: What a part of the keys hands on: maximum, total and weighted sum.
Part = tuple[Tensor, Tensor, Tensor]


def _part(scores: Tensor, values: Tensor) -> Part:
    part = PartialAttention.of(scores, values)
    return part.maximum, part.total, part.weighted


def _parts() -> Iterator[Probe]:
    scores, values = torch.randn(3, 5), torch.randn(5, 2)
    yield probe((_part(scores[:, :2], values[:2]), _part(scores[:, 2:], values[2:])))
    yield probe((_part(scores[:, 2:], values[2:]), _part(scores[:, :2], values[:2])))
    far = _part(scores[:, 2:] + 200, values[2:])
    yield probe((_part(scores[:, :2], values[:2]), far), "评分相差很大", "scores far apart")
    hidden = torch.full((3, 2), -torch.inf)
    nothing = _part(hidden, values[:2])
    one_side = Bilingual("一份什么也没看见", "one part saw nothing")
    yield Probe((nothing, _part(scores, values)), one_side)
    yield Probe((_part(scores, values), nothing), one_side)
    yield probe((nothing, nothing), "两份都什么也没看见", "neither part saw anything")
    yield probe((far, _part(scores[:, :2] - 200, values[:2])), "评分相差很大", "scores far apart")
    seen = torch.tensor([[True], [False], [False]])
    partly = scores.where(seen, -torch.inf)
    one, two = _part(partly[:, :2], values[:2]), _part(partly[:, 2:], values[2:])
    some = Bilingual("有的查询什么也没看见", "some queries saw nothing")
    yield Probe((one, two), some)
    yield Probe((one, _part(scores, values)), some)
    yield probe((one, one), "两份的最大值相同", "both maxima are equal")
    square = (_part(torch.randn(2, 3), torch.randn(3, 2)) for _ in range(2))
    yield probe(tuple(square), "查询与特征一样多", "as many queries as features")


def _merge(first: Part, second: Part) -> Part:
    merged = PartialAttention(*first).merge(PartialAttention(*second))
    return merged.maximum, merged.total, merged.weighted


def _factors(first: Part, second: Part) -> tuple[Tensor, Tensor, Tensor]:
    maximum = torch.maximum(first[0], second[0])
    base = maximum.masked_fill(maximum == -torch.inf, 0.0)
    return maximum, (first[0] - base).exp(), (second[0] - base).exp()


def _only_totals(first: Part, second: Part) -> Part:
    maximum, mine, others = _factors(first, second)
    return maximum, mine * first[1] + others * second[1], first[2] + second[2]


def _second_is_larger(first: Part, second: Part) -> Part:
    """Bring the first to the second's maximum, as if it could not be smaller."""
    maximum, mine, _ = _factors(first, second)
    return maximum, mine * first[1] + second[1], mine[:, None] * first[2] + second[2]


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


MERGE_SOFTMAX = exercise(
    "merge-softmax",
    "写 `merge(first, second)`：把两份 `(m, s, u)` 合并成一份；m 是最大的评分，s 是指数之和，"
    "u 是未归一化的加权和。",
    "Write `merge(first, second)`, which merges two parts `(m, s, u)` into one: the largest"
    " score, the sum of exponentials, and the weighted sum before normalizing.",
    solution=_merge,
    probes=_parts,
    mistakes={
        "not-rescaled": wrong(
            "直接相加不行：两份减去的最大值不同，先换算到共同的最大值。",
            "They can't just be added: the two subtracted different maxima. Bring both to the"
            " common one first.",
            lambda first, second: (
                torch.maximum(first[0], second[0]),
                first[1] + second[1],
                first[2] + second[2],
            ),
        ),
        "only-totals": wrong(
            "分母 s 换算了，u 却没有：u 里的每一项也带着旧的最大值。",
            "The total s is rescaled and u is not: each of its terms holds the old maximum, too.",
            _only_totals,
        ),
        "one-side": wrong(
            "只换算了一份。哪一份的最大值大，事先并不知道：两份都要乘上自己的 `exp(m_i - m)`。",
            "Only one part is rescaled. Which maximum is larger is not known beforehand: multiply"
            " both, each by its own `exp(m_i - m)`.",
            _second_is_larger,
            lambda first, second: _second_is_larger(second, first),
        ),
        "nan-from-nothing": wrong(
            "一个查询在两份里都什么也没看见时，`-inf - (-inf)` 是 NaN：此时改为减 0，逐个查询地。",
            "Where a query saw nothing in either part, `-inf - (-inf)` is NaN: subtract 0 there,"
            " query by query.",
            _without_base,
            _all_or_nothing,
        ),
        "upside-down": wrong(
            "换算反了：旧的一份要变小，乘 `exp(m_old - m_new)`，指数不会是正的。",
            "The wrong way round: the old part shrinks, times `exp(m_old - m_new)`, and the"
            " exponent is never positive.",
            _upside_down,
        ),
        "normalized": wrong(
            "先别除以 s：u 是没有归一化的和，除过就不能再合并了。",
            "Don't divide by s yet: u is the sum before normalizing; once divided, it can't be"
            " merged again.",
            _normalized,
        ),
        "larger-alone": wrong(
            "只留下了最大值较大的那一份：另一份也要算进去。",
            "Only the part with the larger maximum is kept: the other counts, too.",
            _larger_alone,
        ),
        "only-sums": wrong(
            "u 换算了，分母 s 却没有：s 里的每一项也带着旧的最大值。",
            "u is rescaled and the total s is not: each of its terms holds the old maximum, too.",
            _only_sums,
        ),
        "smaller-maximum": wrong(
            "取了较小的最大值：两份合起来的最大值是较大的那一个，否则指数会溢出。",
            "That is the smaller maximum: of both together it is the larger one; otherwise the"
            " exponentials overflow.",
            _smaller_maximum,
        ),
        "overflow": wrong(
            "先还原了指数，评分很大时溢出：只乘 `exp(m_i - m)`，指数不会是正的。",
            "The exponentials are undone first and overflow where scores are large: multiply by"
            " `exp(m_i - m)` alone, whose exponent is never positive.",
            _unshifted,
        ),
        "averaged": wrong("和就是和，不取平均。", "The sums are added and not averaged.", _halved),
    },
    laws=(
        Law(
            "commutative",
            Bilingual("谁先谁后都一样。", "Which part comes first changes nothing."),
            _order_is_nothing,
        ),
    ),
)

EXERCISES = (FIXED_PATTERN, LAYERS_NEEDED, MERGE_SOFTMAX)
