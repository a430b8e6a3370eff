"""Exercises on sparse and efficient attention: selected keys and blocks, reach, merging."""

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
    route_blocks,
    select_keys,
    strided_mask,
    window_mask,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- select-keys -------------------------------------------------------------------------------


def _scores(num_queries: int, num_keys: int) -> Tensor:
    """Draw scores that are all different, and none close to another."""
    drawn = torch.stack([torch.randperm(num_keys) for _ in range(num_queries)])
    return drawn.float() - num_keys / 2


def _some(num_queries: int, num_keys: int) -> Tensor:
    seen = torch.rand(num_queries, num_keys) < 0.6
    return seen | torch.nn.functional.one_hot(torch.arange(num_queries) % num_keys, num_keys).bool()


def _selections() -> Iterator[Probe]:
    yield probe((_scores(5, 5), 2, causal_mask(5)))
    yield probe((_scores(4, 9), 3, _some(4, 9)), "有的键看不见", "some keys are hidden")
    yield probe((_scores(3, 6), 6, _some(3, 6)), "要的与键一样多", "as many as there are keys")
    yield probe((_scores(6, 6), 4, causal_mask(6)), "过去不够长", "the past is too short")
    yield probe((_scores(3, 4), 9, _some(3, 4)), "要的比键还多", "more than there are keys")
    nothing = torch.zeros(2, 4, dtype=torch.bool)
    yield probe((_scores(2, 4), 2, nothing), "什么也看不见", "nothing is visible")
    yield probe((_scores(4, 7) - 100, 2, _some(4, 7)), "评分都是负的", "all scores are negative")
    yield probe((_scores(4, 7) + 100, 1, _some(4, 7)), "只要一个", "just one")
    yield probe((_scores(1, 1), 1, torch.ones(1, 1).bool()), "只有一个键", "a single key")
    yield probe((_scores(5, 3), 2, _some(5, 3)), "查询比键多", "more queries than keys")


def _selected(scores: Tensor, k: int, see: Tensor) -> Tensor:
    return select_keys(scores, k, see)


def _ranked(scores: Tensor) -> Tensor:
    return scores.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def _best_first(scores: Tensor, k: int, see: Tensor) -> Tensor:
    """Choose, and mask afterwards."""
    return (_ranked(scores) < k) & see


def _without_last_mask(scores: Tensor, k: int, see: Tensor) -> Tensor:
    return _ranked(scores.masked_fill(~see, -math.inf)) < k


def _for_all_alike(scores: Tensor, k: int, see: Tensor) -> Tensor:
    total = scores.masked_fill(~see, 0.0).sum(dim=0, keepdim=True).expand_as(scores)
    return select_keys(total, k, see)


def _axis_of_queries(scores: Tensor, k: int, see: Tensor) -> Tensor:
    return select_keys(scores.mT, k, see.mT).mT


def _hidden_as_zero(scores: Tensor, k: int, see: Tensor) -> Tensor:
    return (_ranked(scores.masked_fill(~see, 0.0)) < k) & see


def _at_least_the_kth(scores: Tensor, k: int, see: Tensor) -> Tensor:
    """Compare with the k-th best of all keys, hidden ones included."""
    kth = scores.sort(dim=-1, descending=True).values[:, [min(k, scores.shape[-1]) - 1]]
    return (scores >= kth) & see


SELECT_KEYS = exercise(
    "select-keys",
    "写 `select(scores, k, see)`：`scores` 是（查询，键），`see` 是布尔掩码。每个查询在看得见的键里"
    "留下评分最高的 `k` 个，不到 `k` 个就全留下；返回布尔掩码。",
    "Write `select(scores, k, see)`: `scores` is (query, key), `see` a boolean mask. Each query"
    " keeps the `k` keys with the highest scores of those it may see, or all of them if there are"
    " fewer; return a boolean mask.",
    solution=_selected,
    probes=_selections,
    mistakes={
        "mask-too-late": wrong(
            "先挑后遮：看不见的键占掉了名额。先把它们的评分改成负无穷，再挑。",
            "Chosen first and masked afterwards: hidden keys took places. Set their scores to minus"
            " infinity, and then choose.",
            _best_first,
            _at_least_the_kth,
        ),
        "hidden-fill-up": wrong(
            "看得见的不够 `k` 个时，名额落到了看不见的键上：最后再 `& see`。",
            "Where fewer than `k` are visible, hidden keys fill the places: `& see` at the end.",
            _without_last_mask,
        ),
        "hidden-as-zero": wrong(
            "看不见的评分改成了 0：比负的评分还高。要改成负无穷。",
            "Hidden scores became 0, which is more than a negative score. Make them minus"
            " infinity.",
            _hidden_as_zero,
        ),
        "lowest": wrong(
            "留下的是评分最低的：从高到低排。",
            "These are the keys with the lowest scores: sort in descending order.",
            lambda scores, k, see: select_keys(-scores, k, see),
        ),
        "one-too-many": wrong(
            "多留了一个：名次从 0 数起，留下小于 `k` 的。",
            "One too many: ranks count from 0, so keep those below `k`.",
            lambda scores, k, see: select_keys(scores, k + 1, see),
        ),
        "one-too-few": wrong(
            "少留了一个：名次从 0 数起，留下小于 `k` 的。",
            "One too few: ranks count from 0, so keep those below `k`.",
            lambda scores, k, see: select_keys(scores, k - 1, see),
        ),
        "axis": wrong(
            "沿查询的轴挑了：每个查询为自己挑键，是最后一个轴。",
            "Chosen along the axis of the queries: each query chooses keys, along the last axis.",
            _axis_of_queries,
        ),
        "all-alike": wrong(
            "所有查询挑的一样了：各挑各的。",
            "All queries choose alike: each chooses for itself.",
            _for_all_alike,
        ),
        "nothing-chosen": wrong(
            "什么也没有挑，只是把掩码还了回来。",
            "Nothing is chosen: that is the mask itself.",
            lambda scores, k, see: see.clone(),
        ),
        "inverted": wrong(
            *hints.MASK_INVERTED, lambda scores, k, see: ~select_keys(scores, k, see) & see
        ),
    },
)


# --- route-blocks ------------------------------------------------------------------------------


def _routings() -> Iterator[Probe]:
    yield probe((torch.randn(12, 4), torch.randn(12, 4), 3, 2))
    yield probe((torch.randn(16, 3), torch.randn(16, 3), 4, 3))
    last = "最后一块不满", "the last block is not full"
    yield probe((torch.randn(11, 4), torch.randn(11, 4), 4, 2), *last)
    yield probe((torch.randn(9, 4), torch.randn(9, 4), 3, 1), "只看自己的块", "its own block alone")
    yield probe((torch.randn(9, 4), torch.randn(9, 4), 3, 7), "看得见全部过去", "all of the past")
    yield probe((torch.randn(6, 4), torch.randn(6, 4), 1, 3), "一块一个键", "blocks of one key")
    yield probe(
        (torch.randn(3, 4), torch.randn(3, 4), 5, 2), "一块也没有满", "not one block is full"
    )
    yield probe((torch.randn(1, 2), torch.randn(1, 2), 2, 2), "只有一个位置", "a single position")
    loud = torch.randn(12, 4)
    loud[1::3] *= 9
    yield probe((torch.randn(12, 4), loud, 3, 2), "有的键很长", "some keys are long")


def _home(num_positions: int, size: int) -> tuple[Tensor, Tensor]:
    """Return the block of each query, as a column, and the number of each block."""
    return (torch.arange(num_positions) // size)[:, None], torch.arange(-(-num_positions // size))


def _block_scores(
    q: Tensor, k: Tensor, size: int, pool: Callable[[Tensor], Tensor] = lambda x: x.mean(0)
) -> Tensor:
    return q @ torch.stack([pool(part) for part in k.split(size)]).mT


def _spread(chosen: Tensor, size: int, num_positions: int) -> Tensor:
    seen = chosen.repeat_interleave(size, dim=1)[:, :num_positions]
    return seen & causal_mask(num_positions)


def _routed(queries: Tensor, keys: Tensor, size: int, count: int) -> Tensor:
    return route_blocks(queries, keys, block_size=size, num_blocks=count)


def _of_blocks(
    choose: Callable[[Tensor, Tensor, Tensor, int], Tensor],
    pool: Callable[[Tensor], Tensor] = lambda x: x.mean(0),
) -> Answer:
    """Return an answer that chooses blocks in its own way, and shows their keys up to the query."""

    def answer(q: Tensor, k: Tensor, size: int, count: int) -> Tensor:
        home, block = _home(len(q), size)
        chosen = choose(_block_scores(q, k, size, pool), home, block, count)
        return _spread(chosen, size, len(q))

    return answer


def _best_past(scores: Tensor, home: Tensor, block: Tensor, count: int) -> Tensor:
    return select_keys(scores, max(count, 0), block < home)


def _future_shown(q: Tensor, k: Tensor, size: int, count: int) -> Tensor:
    home, block = _home(len(q), size)
    chosen = _best_past(_block_scores(q, k, size), home, block, count - 1) | (block == home)
    return chosen.repeat_interleave(size, dim=1)[:, : len(q)]


def _all_scored(scores: Tensor, home: Tensor, block: Tensor, count: int) -> Tensor:
    """Rank the own block and the future ones like any other, and leave the causal mask to help."""
    return select_keys(scores, count) | (block == home)


ROUTE_BLOCKS = exercise(
    "route-blocks",
    "写 `route(queries, keys, size, count)`：返回布尔掩码，键每 `size` 个一块。每个查询看自己那"
    "一块（到自己为止），再看 `count - 1` 个已经过完的块：平均键与它点积最大的那些；不够就全看。",
    "Write `route(queries, keys, size, count)`, which returns a boolean mask. Keys come in blocks"
    " of `size`. A query sees its own block up to itself. Of the blocks that are wholly past, it"
    " sees the `count - 1` whose mean keys have the largest dot products with it, or all if there"
    " are fewer.",
    solution=_routed,
    probes=_routings,
    mistakes={
        "own-block-ranked": wrong(
            "自己那一块也参加了排名：它的平均键里有查询后面的键，未来就漏进了挑选。只给过完的块"
            "排名，自己那一块直接看得见。",
            "The own block is ranked, too: its mean knows keys after the query, and the future"
            " leaks into the choice. Rank past blocks alone; the own one is seen anyway.",
            _of_blocks(
                lambda s, home, block, c: select_keys(s, c, block <= home) | (block == home)
            ),
            _of_blocks(lambda s, home, block, c: select_keys(s, c, block <= home)),
            _of_blocks(
                lambda s, home, block, c: select_keys(s, c - 1, block <= home) | (block == home)
            ),
        ),
        "future-ranked": wrong(
            "未来的块也参加了排名，占掉了名额：先遮住它们的分数。",
            "Blocks of the future are ranked, too, and take places: hide their scores first.",
            _of_blocks(_all_scored),
            _of_blocks(lambda s, home, block, c: select_keys(s, c - 1) | (block == home)),
        ),
        "future": wrong(
            "自己那一块里，查询后面的键也看得见了：最后再用因果掩码裁一次。",
            "In its own block a query sees keys after itself: cut with the causal mask at the end.",
            _future_shown,
        ),
        "own-block-missing": wrong(
            "自己那一块不见了：它总是看得见。",
            "The own block is missing: it is always visible.",
            _of_blocks(lambda s, home, block, c: _best_past(s, home, block, c - 1)),
            _of_blocks(lambda s, home, block, c: _best_past(s, home, block, c)),
        ),
        "one-too-many": wrong(
            "多看了一块：`count` 把自己那一块算在内。",
            "One block too many: `count` includes the own block.",
            _of_blocks(lambda s, home, block, c: _best_past(s, home, block, c) | (block == home)),
        ),
        "one-too-few": wrong(
            "少看了一块：自己那一块之外还有 `count - 1` 块。",
            "One block too few: there are `count - 1` besides the own one.",
            _of_blocks(
                lambda s, home, block, c: _best_past(s, home, block, c - 2) | (block == home)
            ),
        ),
        "lowest": wrong(
            "挑的是点积最小的块。",
            "These are the blocks with the smallest dot products.",
            _of_blocks(
                lambda s, home, block, c: _best_past(-s, home, block, c - 1) | (block == home)
            ),
        ),
        "latest": wrong(
            "挑的是最近的块：没有看平均键。",
            "These are the latest blocks: the mean keys are not looked at.",
            _of_blocks(lambda s, home, block, c: (block <= home) & (block > home - c)),
        ),
        "largest-key": wrong(
            "用的是块里点积最大的那个键：应当先求平均键，再求点积。",
            "That is the key with the largest product in a block: take the mean of the keys first.",
            lambda q, k, size, c: _spread(
                _best_past(
                    torch.stack([(q @ part.mT).amax(1) for part in k.split(size)], dim=1),
                    *_home(len(q), size),
                    c - 1,
                )
                | (_home(len(q), size)[0] == _home(len(q), size)[1]),
                size,
                len(q),
            ),
        ),
        "first-key": wrong(
            "用的是每块的第一个键，不是平均键。",
            "That is the first key of each block and not the mean.",
            _of_blocks(
                lambda s, home, block, c: _best_past(s, home, block, c - 1) | (block == home),
                lambda x: x[0],
            ),
        ),
        "inverted": wrong(
            *hints.MASK_INVERTED,
            lambda q, k, size, c: ~_routed(q, k, size, c) & causal_mask(len(q)),
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

EXERCISES = (SELECT_KEYS, ROUTE_BLOCKS, LAYERS_NEEDED, MERGE_SOFTMAX)
