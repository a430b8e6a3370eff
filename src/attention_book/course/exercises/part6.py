"""Exercises of part VI: sparse patterns, efficient attention, forecasts, images, texts."""

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
    mask_from_lengths,
    reach,
    strided_mask,
    window_mask,
)
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import next_distribution
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import naive_error
from attention_book.models import patches, visible_tokens

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
            "掩码反了：True 表示可以看。",
            "The mask is inverted: True means “may attend”.",
            lambda n, size, c: ~_without_past(n, size, c) & causal_mask(n),
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


def _from_one(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else max(needed, 1)


def _one_more(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else needed + 1


def _one_less(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else needed - 1


def _squared(mask: Tensor) -> int | None:
    reached = mask | torch.eye(len(mask), dtype=torch.bool)
    for num_layers in range(1, len(mask) + 1):
        if reached.all():
            return num_layers
        reached = (reached.float() @ reached.float()) > 0
    return None


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


def _too_early(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None or needed >= len(mask) - 1 else needed


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
            _from_one,
        ),
        "off-by-one": wrong(
            "差了一层：0 层之后每个位置只有自己，第 1 层之后才是掩码（并上自己）。",
            "One layer off: after 0 layers a position has only itself, and the mask (with itself)"
            " is what it has after the first.",
            _one_more,
            _one_less,
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
            _too_early,
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


# --- mase --------------------------------------------------------------------------------------


def _forecasts() -> Iterator[Probe]:
    past = torch.tensor([3.0, 8.0, 4.0, 9.0, 5.0, 11.0])
    yield probe(
        (torch.tensor([5.0, 11.0, 5.0]), torch.tensor([6.0, 10.0, 9.0]), past, 2),
        "周期是 2",
        "the period is 2",
    )
    yield probe(
        (torch.tensor([11.0, 11.0]), torch.tensor([6.0, 14.0]), past, 1),
        "周期是 1",
        "the period is 1",
    )
    yield probe((torch.randn(11), torch.randn(11), 10 * torch.randn(29), 7))
    actual = torch.tensor([4.0, 7.0])
    yield probe((actual.clone(), actual, past, 2), "预测全对", "a perfect forecast")
    yield probe((actual, past[:2], past, 5), "只有一对值相隔一个周期", "a single pair")
    yield probe((actual, past[:2], past.flip(0), 1), "过去在下降", "the past falls")
    one = (torch.tensor([5.0]), torch.tensor([-3.0]), past - 20, 2)
    yield probe(one, "值是负的，只预测一个", "negative values, and one forecast")


def _mase(
    *,
    error: Callable[[Tensor], Tensor] = lambda difference: difference.abs().mean(),
    unit: Callable[[Tensor, Tensor, int], Tensor] = lambda past, _, period: naive_error(
        past, period
    ),
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    def mase(forecast: Tensor, actual: Tensor, past: Tensor, period: int) -> Tensor:
        return error(forecast - actual) / unit(past, actual, period)

    return mase


def _root_mean_square(difference: Tensor) -> Tensor:
    return difference.square().mean().sqrt()


def _signed_unit(past: Tensor, period: int) -> Tensor:
    return (past[period:] - past[:-period]).mean()


def _naive_in_the_future(past: Tensor, actual: Tensor, period: int) -> Tensor:
    naive = past[-period:][torch.arange(len(actual)) % period]
    return (actual - naive).abs().mean()


MASE = exercise(
    "mase",
    "写 `mase(forecast, actual, past, period)`：平均绝对误差，除以过去里相隔一个周期的两个值的平"
    "均绝对差。",
    "Write `mase(forecast, actual, past, period)`: the mean absolute error, divided by the mean"
    " absolute difference of values of the past that are one period apart.",
    solution=_mase(),
    probes=_forecasts,
    mistakes={
        "unit-from-the-future": wrong(
            "单位是从要预测的值里量的，做预测时还不知道它们：应当用过去。",
            "The unit was measured on the values to forecast, which nobody knew: use the past.",
            _mase(unit=lambda _, actual, period: naive_error(actual, min(period, len(actual) - 1))),
            _mase(unit=_naive_in_the_future),
        ),
        "period-ignored": wrong(
            "单位里比的是相邻的值：应当相隔一个周期。",
            "The unit compares neighbors: compare values one period apart.",
            _mase(unit=lambda past, _, __: naive_error(past, 1)),
        ),
        "spread-as-unit": wrong(
            "除以的是标准差：MASE 的单位是朴素预测的误差。",
            "This divides by the standard deviation: MASE's unit is the error of naive forecasts.",
            _mase(unit=lambda past, _, __: past.std()),
        ),
        "squared": wrong(
            "误差先平方了：这里要的是绝对值的平均。",
            "The errors were squared: take the mean of absolute values.",
            _mase(error=_root_mean_square),
        ),
        "signed": wrong(
            "正负误差互相抵消了：先取绝对值，再求平均。",
            "Errors of opposite sign cancel: take absolute values before the mean.",
            _mase(error=Tensor.mean),
        ),
        "unit-signed": wrong(
            "单位里的差也要先取绝对值，再求平均：涨与跌互相抵消了。",
            "The unit's differences need absolute values before the mean, too: rises and falls"
            " cancel.",
            _mase(unit=lambda past, _, period: _signed_unit(past, period)),
            _mase(unit=lambda past, _, period: _signed_unit(past, period).abs()),
        ),
        "no-unit": wrong(
            "这是平均绝对误差，还带着单位：要除以朴素预测的误差。",
            "That is the mean absolute error, which still has a unit: divide by the error of naive"
            " forecasts.",
            _mase(unit=lambda past, _, __: torch.ones(())),
        ),
        "mean-as-unit": wrong(
            "除以的是过去的平均：MASE 的单位是朴素预测的误差，加一个常数不变。",
            "This divides by the mean of the past: MASE's unit is the error of naive forecasts,"
            " which stays if a constant is added.",
            _mase(unit=lambda past, _, __: past.mean()),
            _mase(unit=lambda past, _, __: past.abs().mean()),
        ),
        "not-averaged": wrong(
            "误差和单位各自求平均：两边的个数不同。",
            "Errors and differences each need their mean: there are not equally many.",
            _mase(error=lambda difference: difference.abs().sum()),
            _mase(
                error=lambda difference: difference.abs().sum(),
                unit=lambda past, _, period: naive_error(past, period) * (len(past) - period),
            ),
            _mase(error=Tensor.abs),
        ),
        "divided-by-all": wrong(
            "单位是差的平均：n 个值只有 n − 周期 个差。",
            "The unit is the mean of the differences: n values have n minus period of them.",
            _mase(
                unit=lambda past, _, period: naive_error(past, period) * (1 - period / len(past))
            ),
        ),
        "past-and-future": wrong(
            "单位里混进了要预测的值：只用过去。",
            "Values to forecast are mixed into the unit: use the past alone.",
            _mase(unit=lambda past, actual, period: naive_error(torch.cat((past, actual)), period)),
        ),
    },
)


# --- scaled-by-the-past ------------------------------------------------------------------------


def _scaled(
    reference: Callable[[Tensor, int], Tensor], *, divide: bool = True
) -> Callable[[Tensor, int], Tensor]:
    def scaled(values: Tensor, origin: int) -> Tensor:
        known = reference(values, origin)
        return (values - known.mean()) / (known.std() if divide else 1)

    return scaled


def _each_by_its_own(values: Tensor, origin: int) -> Tensor:
    parts = [part for part in (values[:origin], values[origin:]) if len(part)]
    return torch.cat([(part - part.mean()) / part.std() for part in parts])


def _changed_scale(
    spread: Callable[[Tensor], Tensor | float], *, center: bool = True
) -> Callable[[Tensor, int], Tensor]:
    """Divide by another spread of the past."""

    def scaled(values: Tensor, origin: int) -> Tensor:
        known = values[:origin]
        return (values - (known.mean() if center else 0.0)) / spread(known)

    return scaled


_RIGHT = _scaled(lambda values, origin: values[:origin])


def _by_range(values: Tensor, origin: int) -> Tensor:
    low, high = values[:origin].aminmax()
    return (values - low) / (high - low)


SCALED_BY_THE_PAST = exercise(
    "scaled-by-the-past",
    "写 `scaled(values, origin)`：缩放整个序列，使起点之前的 origin 个值均值为 0、"
    "标准差（`std()`）为 1。",
    "Write `scaled(values, origin)`: scale the whole series so that its first `origin` values,"
    " those before the origin, have mean 0 and standard deviation (`std()`) 1.",
    solution=_RIGHT,
    probes=lambda: [
        probe((torch.tensor([2.0, 4.0, 6.0, 100.0, 200.0]), 3)),
        probe((torch.arange(12.0), 6), "有趋势", "there is a trend"),
        probe((torch.randn(23).cumsum(dim=0), 17)),
        probe((torch.randn(6), 6), "全是过去", "there is no future"),
        probe((1e-3 * torch.randn(8), 5), "值很小", "small values"),
    ],
    mistakes={
        "the-future-counts": wrong(
            "均值或标准差里混进了起点之后的值：这就是泄漏。",
            "The mean or the deviation contains values from after the origin: that is a leak.",
            _scaled(lambda values, origin: values),
            lambda v, n: (v - v.mean()) / v[:n].std(),
            lambda v, n: (v - v[:n].mean()) / v.std(),
        ),
        "one-too-many": wrong(
            "多算了一个：下标 origin 的值是第一个要预测的。",
            "One too many: the value at index `origin` is the first to forecast.",
            _scaled(lambda values, origin: values[: origin + 1]),
        ),
        "each-by-its-own": wrong(
            "未来用了它自己的均值：两段要用同一个尺度，而且来自过去。",
            "The future was scaled by its own mean: both parts need one scale, the past's.",
            _each_by_its_own,
        ),
        "not-divided": wrong(
            "还要除以标准差。",
            "Divide by the standard deviation, too.",
            _scaled(lambda values, origin: values[:origin], divide=False),
        ),
        "one-too-few": wrong(
            "少算了一个：过去是下标 0 到 origin − 1 的值，连后者在内。",
            "One too few: the past is the values at 0 to origin − 1, both included.",
            _scaled(lambda values, origin: values[: origin - 1]),
        ),
        "not-centered": wrong(
            "还要先减去均值。", "Subtract the mean first.", _changed_scale(Tensor.std, center=False)
        ),
        "not-corrected": wrong(
            "标准差除以了 n：`std()` 除以 n − 1，NumPy 的默认值则是 n。",
            "The deviation divides by n: `std()` divides by n − 1, while NumPy's default is n.",
            _changed_scale(lambda known: known.std(correction=0)),
        ),
        "variance": wrong(
            "除以的是方差：还要开根号。",
            "This divides by the variance: take its root.",
            _changed_scale(Tensor.var),
        ),
        "epsilon": wrong(
            "分母里加了一个小数：值本身就小的时候，标准差不再是 1。",
            "Something small is added to the denominator: where the values are small themselves,"
            " the deviation is no longer 1.",
            _changed_scale(lambda known: known.std() + 1e-5),
            _changed_scale(lambda known: known.std() + 1e-6),
        ),
        "future-dropped": wrong(
            "只返回了过去：整个序列都要缩放。",
            "Only the past is returned: scale the whole series.",
            lambda v, n: _RIGHT(v, n)[:n],
        ),
        "future-unscaled": wrong(
            "未来没有缩放：两段用同一个尺度，过去的。",
            "The future is not scaled: both parts take one scale, the past's.",
            lambda v, n: torch.cat((_RIGHT(v, n)[:n], v[n:])),
        ),
        "future-alone": wrong(
            "均值和标准差取自未来：应当取自过去，`values[:origin]`。",
            "Mean and deviation are those of the future: take the past's, `values[:origin]`.",
            _scaled(lambda values, origin: values[origin:] if origin < len(values) else values),
        ),
        "range": wrong(
            "缩放到了 0 与 1 之间：这里要的是均值 0、标准差 1。",
            "That is a scale from 0 to 1: asked for are mean 0 and standard deviation 1.",
            _by_range,
        ),
    },
)


# --- patches -----------------------------------------------------------------------------------


def _squares(image: Tensor, size: int) -> Tensor:
    """Return (row of patches, row in the patch, column of patches, column in the patch)."""
    height, width = image.shape
    return image.reshape(height // size, size, width // size, size)


def _scattered(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    squares = image.reshape(size, height // size, size, width // size)
    return squares.permute(1, 3, 0, 2).reshape(-1, size * size)


def _sizes_exchanged(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    apart = image.reshape(width // size, size, height // size, size)
    return apart.transpose(1, 2).reshape(-1, size * size)


PATCHES = exercise(
    "patches",
    "写 `patches(image, size)`：把图像（高，宽）切成边长 size 的小块，每块排成一行；块与块、"
    "块里的像素，都按阅读的顺序。",
    "Write `patches(image, size)`: cut an image (height, width) into squares of size by size"
    " pixels, one row for each; squares, and the pixels in them, in reading order.",
    solution=lambda image, size: patches(image, size),
    probes=lambda: [
        probe((torch.arange(16.0).view(4, 4), 2)),
        probe((torch.randn(4, 6), 2), "图像的宽大于高", "the image is wider than high"),
        probe((torch.randn(9, 3), 3), "只有一列小块", "there is one column of patches"),
        probe((torch.randn(6, 9), 3), "小块的边长是 3", "a patch is 3 pixels wide"),
        probe((torch.randn(2, 3), 1), "小块只有一个像素", "a patch is one pixel"),
        probe((torch.randn(3, 3), 3), "整张图是一块", "the whole image is one patch"),
    ],
    mistakes={
        "strips": wrong(
            "每一行是横着的一条，不是方块：`reshape` 不换次序，合并之前先交换两个轴。",
            "Each row is a stretch of one line, not a square: `reshape` keeps the order, so swap"
            " two axes before you merge them.",
            lambda x, size: x.reshape(-1, size * size),
        ),
        "column-by-column": wrong(
            "小块是一列一列数的：先从左到右，再从上到下。",
            "The squares are counted column by column: go from left to right first, then down.",
            lambda x, size: _squares(x, size).permute(2, 0, 1, 3).reshape(-1, size * size),
        ),
        "turned": wrong(
            "每块里的像素转置了：块内也先从左到右，再从上到下。",
            "The pixels of each square are transposed: inside, too, go from left to right first,"
            " then down.",
            lambda x, size: _squares(x, size).permute(0, 2, 3, 1).reshape(-1, size * size),
        ),
        "transposed": wrong(
            "行与列全交换了：切的是转置过的图像。",
            "Rows and columns are swapped throughout: this cuts the transposed image.",
            lambda x, size: _squares(x, size).permute(2, 0, 3, 1).reshape(-1, size * size),
        ),
        "scattered": wrong(
            "一块里的像素在图像中并不相邻：拆轴时块的编号在前，块内的编号在后。",
            "The pixels of a square are no neighbors in the image: in splitting an axis, the number"
            " of the square comes first, the place within it second.",
            _scattered,
        ),
        "pixels-first": wrong(
            "轴的次序反了：每一行是一块，每一列是块内的一个像素。",
            "The axes are the wrong way round: a row is a square, a column a pixel of it.",
            lambda x, size: patches(x, size).mT,
        ),
        "left-apart": wrong(
            "方块已经切好，还差最后一步：结果只有两个轴（块，像素）。",
            "The squares are right; one step is missing: the result has two axes, (patch, pixel).",
            lambda x, size: _squares(x, size).transpose(1, 2),
        ),
        "left-square": wrong(
            "每块还是方的：块内的两个轴要合成一个（块，像素）。",
            "Each patch is still a square: merge its two axes into one, (patch, pixel).",
            lambda x, size: patches(x, size).reshape(-1, size, size),
        ),
        "overlapping": wrong(
            "小块重叠了：每次移动的是 size 个像素，不是 1 个。",
            "The patches overlap: move on by size pixels, not by one.",
            lambda x, size: x.unfold(0, size, 1).unfold(1, size, 1).reshape(-1, size * size),
        ),
        "height-for-width": wrong(
            "高与宽弄反了：`image.shape` 先是高。",
            "Height and width are mixed up: the height comes first in `image.shape`.",
            _sizes_exchanged,
        ),
    },
)


# --- hide-patches ------------------------------------------------------------------------------


def _visible() -> Iterator[Probe]:
    yield probe((torch.tensor([[True, False, True, True]]),))
    yield probe((torch.tensor([[False, True, True], [True, True, False]]),))
    nothing = torch.tensor([[True, True, True], [False, False, False]])
    yield probe((nothing,), "有一张图的小块全被藏起", "every patch of an image is hidden")
    one = torch.tensor([[True], [False]])
    yield probe((one,), "每张图只有一块", "an image is one patch")
    square = torch.tensor([[True, False], [False, True], [True, True]])
    yield probe((square,), "图像数等于词元数", "as many images as tokens")


def _padded(visible: Tensor, *, before: bool, value: bool) -> Tensor:
    extra = torch.full((len(visible), 1), value)
    return torch.cat([extra, visible] if before else [visible, extra], dim=1)


def _first_lost(visible: Tensor) -> Tensor:
    mask = visible.clone()
    mask[:, 0] = True
    return mask[:, None, :]


HIDE_PATCHES = exercise(
    "hide-patches",
    "写 `hide(visible)`：`visible`（图像，块）中 True 表示这一块看得见；返回掩码（图像，1，"
    "词元），词元 0 是类别词元，总是看得见。",
    "Write `hide(visible)`: in `visible` (image, patch), True means that the patch may be seen;"
    " return the mask (image, 1, token), where token 0 is the class token and always visible.",
    solution=visible_tokens,
    probes=_visible,
    mistakes={
        "class-token-last": wrong(
            "类别词元排在最前面，你把它补在了最后：于是每一块都错开一位。",
            "The class token comes first, and you append it last: every patch is off by one.",
            lambda seen: _padded(seen, before=False, value=True)[:, None, :],
        ),
        "class-token-hidden": wrong(
            "类别词元被藏了起来；小块全被藏起的那张图，就什么都看不见了。",
            "The class token is hidden; in an image whose patches are all hidden, there is nothing"
            " left to see.",
            lambda seen: _padded(seen, before=True, value=False)[:, None, :],
            lambda seen: torch.cat([seen.any(dim=1, keepdim=True), seen], dim=1)[:, None, :],
        ),
        "class-token-forgotten": wrong(
            "序列比小块多一个词元：忘了类别词元。",
            "The sequence has one token more than there are patches: the class token.",
            lambda seen: seen[:, None, :],
        ),
        "inverted": wrong(
            "掩码反了：`visible` 和掩码都以 True 表示看得见。",
            "The mask is inverted: in `visible` and in the mask alike, True means that it may be"
            " seen.",
            lambda seen: ~visible_tokens(seen),
            lambda seen: _padded(~seen, before=True, value=True)[:, None, :],
        ),
        "queries-hidden": wrong(
            "藏的是查询：最后一个轴才是键。谁都看不见被藏的小块，被藏的小块自己看什么却不要紧。",
            "This hides queries: keys are the last axis. Nobody may see a hidden patch; what the"
            " hidden patch itself looks at does not matter.",
            lambda seen: visible_tokens(seen).mT,
            lambda seen: visible_tokens(seen) & visible_tokens(seen).mT,
        ),
        "numbers": wrong(
            "0 和 1 会被当成偏置加到评分上：掩码是布尔张量。",
            "Zeros and ones would be added to the scores as a bias: a mask is boolean.",
            lambda seen: visible_tokens(seen).float(),
            lambda seen: visible_tokens(seen).long(),
        ),
        "bias": wrong(
            "这是加到评分上的偏置：这里要的是布尔掩码，True 表示看得见。",
            "That is a bias to add to the scores; what is asked for is a boolean mask, True for"
            " visible.",
            lambda seen: torch.where(visible_tokens(seen), 0.0, -torch.inf),
        ),
        "first-patch-lost": wrong(
            "第一块被类别词元顶替了：词元比小块多一个，要补在前面。",
            "The class token has taken the first patch's place: there is one token more than there"
            " are patches, and it is put before them.",
            _first_lost,
        ),
        "for-every-query": wrong(
            "不必为每个查询复制一份：查询的轴长 1，会自动广播。",
            "No copy for each query is needed: their axis has size 1 and is broadcast.",
            lambda seen: visible_tokens(seen).expand(-1, seen.shape[1] + 1, -1),
        ),
        "one-for-all": wrong(
            "所有图像都用了第一张的：每张有自己的掩码。",
            "All images got the first one's mask: each has its own.",
            lambda seen: visible_tokens(seen)[:1].expand(len(seen), -1, -1),
        ),
    },
)


# --- top-p -------------------------------------------------------------------------------------


def _nucleus(probabilities: Tensor, p: float) -> Tensor:
    return next_distribution(probabilities.log()[None], top_p=p)[0]


def _distributions() -> Iterator[Probe]:
    yield probe((torch.tensor([0.1, 0.5, 0.15, 0.25]), 0.7))
    yield probe((torch.tensor([0.3, 0.05, 0.45, 0.2]), 0.6))
    yield probe((torch.randn(11).softmax(dim=0), 0.9))
    sure = torch.tensor([0.05, 0.05, 0.8, 0.1])
    yield probe((sure, 0.5), "p 低于最大的概率", "p is below the largest probability")
    yield probe((sure, 1.0), "p 是 1", "p is 1")
    halves = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625])  # exact in float32
    yield probe((halves, 0.75), "总和正好是 p", "a sum that is just p")
    yield probe((halves, 0.5), "最大的概率正好是 p", "the largest is just p")
    some = torch.tensor([0.0, 0.625, 0.0, 0.375])
    yield probe((some, 0.9), "有的概率是 0", "some probabilities are 0")
    yield probe((torch.tensor([0.0, 1.0, 0.0]), 0.9), "只有一个词可能", "one word is sure")
    yield probe((torch.ones(1), 0.5), "词表里只有一个词", "a vocabulary of one word")


def _kept(probabilities: Tensor, p: float, *, crossing: bool) -> Tensor:
    """Keep by the sum before a word, or, without the one that crosses, by the sum with it."""
    values, order = probabilities.sort(descending=True)
    sums = values.cumsum(dim=0)
    kept = values.where(sums - values < p if crossing else sums <= p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept)


def _without_crossing(probabilities: Tensor, p: float) -> Tensor:
    kept = _kept(probabilities, p, crossing=False)
    return kept / kept.sum()


def _in_order_of_the_vocabulary(probabilities: Tensor, p: float) -> Tensor:
    before = probabilities.cumsum(dim=0) - probabilities
    kept = probabilities.where(before < p, 0.0)
    return kept / kept.sum()


def _left_sorted(probabilities: Tensor, p: float) -> Tensor:
    return _nucleus(probabilities, p).sort(descending=True).values


def _each_above(probabilities: Tensor, threshold: float) -> Tensor:
    kept = probabilities.where(probabilities >= threshold, 0.0)
    return kept / kept.sum()


def _past_p(probabilities: Tensor, p: float) -> Tensor:
    """Go on where the sum is just p."""
    values, order = probabilities.sort(descending=True)
    kept = values.where(values.cumsum(dim=0) - values <= p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _always_one_more(probabilities: Tensor, p: float) -> Tensor:
    values, order = probabilities.sort(descending=True)
    count = int((_nucleus(probabilities, p) > 0).sum()) + 1
    kept = torch.cat((values[:count], torch.zeros_like(values[count:])))
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _least_first(probabilities: Tensor, p: float) -> Tensor:
    values, order = probabilities.sort()
    kept = values.where(values.cumsum(dim=0) - values < p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _evenly(probabilities: Tensor, p: float) -> Tensor:
    kept = (_nucleus(probabilities, p) > 0).float()
    return kept / kept.sum()


def _dropped_is_zero(answer: Answer) -> Finding | None:
    probabilities = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625])
    got = answer(probabilities, 0.7)
    if (got[[0, 2, 4]] == 0).all():
        return None
    given = {"probabilities": probabilities, "p": 0.7}
    wanted = Bilingual("恰好两个不是 0 的概率", "exactly two probabilities that are not 0")
    return Finding(given, wanted, got)


def _sums_to_one(answer: Answer) -> Finding | None:
    probabilities = torch.randn(7).softmax(dim=0)
    for p in (0.2, 0.5, 0.8):
        total = float(answer(probabilities, p).sum())
        if abs(total - 1) > 1e-4:
            given = {"probabilities": probabilities, "p": p}
            return Finding(
                given,
                Bilingual("总和为 1 的概率", "probabilities that sum to 1"),
                Bilingual(f"总和 {total:.4f}", f"the sum {total:.4f}"),
            )
    return None


TOP_P = exercise(
    "top-p",
    "写 `nucleus(probabilities, p)`：留下合起来达到 p 的最少几个最可能的词，其余为 0，总和为 1。",
    "Write `nucleus(probabilities, p)`: keep the fewest most probable words that reach p"
    " together, set the others to 0, and let the sum be 1.",
    solution=_nucleus,
    probes=_distributions,
    mistakes={
        "crossing-dropped": wrong(
            "跨过门槛的那个词也要留：看它之前的总和够不够 p。否则 p 低于最大的概率时，"
            "一个词也不剩。",
            "The word that crosses the threshold stays: ask whether the sum before it reaches p."
            " Otherwise no word is left where p is below the largest probability.",
            _without_crossing,
        ),
        "not-renormalized": wrong(
            "留下的概率加起来不到 1：还要除以它们的总和。",
            "What is kept doesn't sum to 1: divide by its sum.",
            lambda probabilities, p: _kept(probabilities, p, crossing=True),
        ),
        "unsorted": wrong(
            "累加之前要先按概率从大到小排：现在是照词表的次序加的。",
            "Sort from the most probable word down before adding up; now the order is that of the"
            " vocabulary.",
            _in_order_of_the_vocabulary,
        ),
        "left-sorted": wrong(
            "概率排过序，却没有放回原处：第 i 个数要是第 i 个词的。",
            "The probabilities were sorted and not put back: number i belongs to word i.",
            _left_sorted,
        ),
        "single-words": wrong(
            "门槛 p 管的是总和，不是单个词：从最可能的词起往下加，加够为止。",
            "The threshold p is for the sum, not for single words: add from the most probable word"
            " down until it is enough.",
            _each_above,
            lambda x, p: _each_above(x, (1 - p) * float(x.max())),
            lambda x, p: _each_above(x, 1 - p),
        ),
        "one-too-many": wrong(
            "多留了一个：总和一达到 p 就够了，正好等于 p 也算。",
            "One word too many: the sum is enough once it reaches p, also where it is just p.",
            _past_p,
            _always_one_more,
        ),
        "least-first": wrong(
            "次序反了：从最可能的词留起。",
            "The order is reversed: begin with the most probable.",
            _least_first,
        ),
        "put-back-wrongly": wrong(
            "放回原处用错了次序：`order[k]` 是排在第 k 的词的编号，用 `scatter` 或 "
            "`result[order] = kept` 放回去，不是 `kept[order]`。",
            "The words are put back by the wrong order: `order[k]` is the number of the word that"
            " came k-th, so put back with `scatter` or `result[order] = kept`, and not by"
            " `kept[order]`.",
            lambda probabilities, p: _left_sorted(probabilities, p)[
                probabilities.argsort(descending=True)
            ],
        ),
        "softmax": wrong(
            "概率要除以总和，不再做 softmax：softmax 吃的是对数几率。",
            "Divide probabilities by their sum instead of taking a softmax, which is for logits.",
            lambda probabilities, p: probabilities.masked_fill(
                (_nucleus(probabilities, p) == 0), -torch.inf
            ).softmax(dim=0),
            lambda probabilities, p: _nucleus(probabilities, p).softmax(dim=0),
        ),
        "even": wrong(
            "留下的词成了一样可能：它们之间的比例不变。",
            "The words that are kept have become equally probable: their ratios stay.",
            _evenly,
        ),
        "nothing-dropped": wrong(
            "一个词也没有去掉。",
            "No word is dropped.",
            lambda probabilities, p: probabilities.clone(),
        ),
    },
    laws=(
        Law("sums-to-one", Bilingual("总和为 1。", "The probabilities sum to 1."), _sums_to_one),
        Law(
            "dropped-is-zero",
            Bilingual("去掉的词概率恰好是 0。", "What is dropped has a probability of exactly 0."),
            _dropped_is_zero,
        ),
    ),
)


# --- prefix-mask -------------------------------------------------------------------------------


def _prefix(lengths: Tensor, n: int) -> Tensor:
    return causal_mask(n) | mask_from_lengths(lengths, n)


def _square_alone(lengths: Tensor, n: int) -> Tensor:
    inside = mask_from_lengths(lengths, n)
    return inside & inside.mT


PREFIX_MASK = exercise(
    "prefix-mask",
    "写 `prefix_mask(lengths, n)`：第 b 句的前 lengths[b] 个词互相都看得见，其余的只看自己和以"
    "前；形状 (batch, n, n)。",
    "Write `prefix_mask(lengths, n)`: the first lengths[b] words of sentence b see one another,"
    " the others see themselves and the past; shape (batch, n, n).",
    solution=_prefix,
    probes=lambda: [
        probe((torch.tensor([3]), 5)),
        probe((torch.tensor([2, 4, 1]), 6), "各句的前缀不一样长", "prefixes differ in length"),
        probe((torch.tensor([0, 4]), 4), "前缀是空的，或是全句", "no prefix, or all prefix"),
        probe((torch.tensor([3, 0, 2]), 3), "句数等于词数", "as many sentences as words"),
        probe((torch.tensor([1, 0]), 1), "只有一个词", "there is one word"),
    ],
    mistakes={
        "causal-only": wrong(
            "这是 GPT 的掩码：前缀里的词还看不见前缀里后面的词。",
            "This is GPT's mask: words of the prefix don't see later words of it yet.",
            lambda lengths, n: causal_mask(n).expand(len(lengths), n, n),
        ),
        "prefix-sees-all": wrong(
            "放开的是行：前缀里的词现在连后面要写的词也看得见。该放开的是前缀那几列。",
            "You opened rows: words of the prefix now see the text that is still to be written."
            " Open the prefix's columns.",
            lambda lengths, n: causal_mask(n) | mask_from_lengths(lengths, n).mT,
        ),
        "and-instead-of-or": wrong(
            "两个条件满足一个就可以看：是 `|`，不是 `&`。",
            "Either condition is enough to see: `|`, not `&`.",
            lambda lengths, n: causal_mask(n) & mask_from_lengths(lengths, n),
        ),
        "prefix-only": wrong(
            "前缀以后的词也要看得见自己和以前：还缺因果掩码。",
            "Words after the prefix must see themselves and the past, too: the causal mask is"
            " missing.",
            lambda lengths, n: mask_from_lengths(lengths, n).expand(len(lengths), n, n),
            _square_alone,
        ),
        "one-too-many": wrong(
            "多放开了一列：前缀是位置 0 到 length - 1，用 `<`。",
            "One column too many: the prefix is the positions 0 to length - 1, so `<`.",
            lambda lengths, n: _prefix((lengths + 1).clamp(max=n), n),
        ),
        "one-length-for-all": wrong(
            "每句有自己的前缀长度，现在都用了同一个。",
            "Each sentence has a prefix of its own; all got the same length.",
            lambda lengths, n: _prefix(lengths[:1].expand_as(lengths), n),
            lambda lengths, n: _prefix(lengths.max().expand_as(lengths), n),
        ),
        "one-too-few": wrong(
            "少放开了一列：前缀是位置 0 到 length - 1，连后者在内。",
            "One column too few: the prefix is the positions 0 to length - 1, both included.",
            lambda lengths, n: _prefix((lengths - 1).clamp(min=0), n),
        ),
        "inverted": wrong(
            "掩码反了：True 表示可以看。",
            "The mask is inverted: True means “may attend”.",
            lambda lengths, n: ~_prefix(lengths, n),
        ),
        "future-instead": wrong(
            "取了上三角：那是自己和以后。以前的在下三角。",
            "That is the upper triangle, a word and its future; the past is the lower one.",
            lambda lengths, n: causal_mask(n).mT | mask_from_lengths(lengths, n),
        ),
        "not-itself": wrong(
            "每个词也看得见自己。",
            "Every word sees itself, too.",
            lambda lengths, n: causal_mask(n).tril(-1) | mask_from_lengths(lengths, n),
        ),
        "prefix-forgotten": wrong(
            "前缀以后的词看不见前缀了：前缀也是它们的过去。",
            "Words after the prefix no longer see it: it is part of their past.",
            lambda lengths, n: (
                _square_alone(lengths, n) | (causal_mask(n) & ~mask_from_lengths(lengths, n))
            ),
        ),
    },
)

EXERCISES = (
    FIXED_PATTERN,
    LAYERS_NEEDED,
    MERGE_SOFTMAX,
    MASE,
    SCALED_BY_THE_PAST,
    PATCHES,
    HIDE_PATCHES,
    TOP_P,
    PREFIX_MASK,
)
