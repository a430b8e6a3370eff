"""Exercises on masks and scores: a softmax with a mask, causal masks, two scores."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import (
    causal_mask,
    dot_product_attention,
    masked_softmax,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import (
    Answer,
    Law,
    Probe,
    exercise,
    probe,
    shares,
    whole,
    wrong,
)
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- masked-softmax ----------------------------------------------------------------------------


def _scores_and_masks() -> Iterator[Probe]:
    scores = torch.randn(2, 3)
    mask = torch.tensor([[True, True, False], [True, False, True]])
    yield probe((scores, torch.ones(2, 3, dtype=torch.bool)))
    yield probe((scores, mask))
    lengths = torch.tensor([[[True] * 3 + [False] * 2], [[True] + [False] * 4]])
    yield probe((torch.randn(2, 3, 5), lengths))
    empty = torch.tensor([[True, True, False], [False, False, False]])
    yield probe((scores, empty), "有一个查询什么都看不见", "one query may see nothing")
    yield probe((scores.half(), mask), "精度是 float16", "the precision is float16")
    yield probe(
        (scores.half(), empty),
        "精度是 float16，有一个查询什么都看不见",
        "the precision is float16 and one query may see nothing",
    )
    yield probe((torch.randn(2, 1), torch.tensor([[True], [False]])), *hints.ONE_KEY)
    large = torch.tensor([[1000.0, 999.0, 0.0], [0.0, 2000.0, 2000.0]])
    yield probe((large, mask), *hints.LARGE_SCORES)
    far = torch.tensor([[-5e6, -5e6, 0.0], [-4e6, 0.0, -4e6]])
    yield probe((far, mask), "看得见的评分很低", "the visible scores are very low")


def _rows_sum_to_one(answer: Answer) -> Finding | None:
    scores, mask = torch.randn(3, 4), torch.rand(3, 4) < 0.7
    mask[:, 0] = True
    sums = answer(scores, mask).sum(dim=-1)
    if torch.allclose(sums.float(), torch.ones(3), atol=1e-4):
        return None
    return Finding(
        {"scores": scores, "mask": mask},
        Bilingual("每行之和为 1", "rows that sum to 1"),
        Bilingual(f"每行之和 {sums.tolist()}", f"rows that sum to {sums.tolist()}"),
    )


def _gradients_are_finite(answer: Answer) -> Finding | None:
    scores = torch.randn(2, 3).requires_grad_()
    mask = torch.tensor([[True, True, False], [False, False, False]])
    answer(scores, mask)[0, 0].backward()
    if scores.grad is not None and scores.grad.isfinite().all():
        return None
    return Finding(
        {"scores": scores, "mask": mask},
        Bilingual("对评分的梯度处处有限", "finite gradients of all scores"),
        scores.grad,
    )


def _renormalized(scores: Tensor, mask: Tensor, add: float = 0.0, floor: float = 0.0) -> Tensor:
    weights = scores.softmax(dim=-1) * mask
    return weights / (weights.sum(dim=-1, keepdim=True) + add).clamp(min=floor)


MASKED_SOFTMAX = exercise(
    "masked-softmax",
    "写 `masked_softmax(scores, mask)`：沿最后一个轴的 softmax，mask 为 False 处权重为 0；"
    "一行全为 False 时，权重全为 0，梯度有限。评分可以很大、很小，也可以是 float16。",
    "Write `masked_softmax(scores, mask)`: a softmax over the last axis with weight 0 where mask"
    " is False; a row of nothing but False gets zeros and finite gradients. Scores may be very"
    " high, very low, or float16.",
    solution=masked_softmax,
    probes=_scores_and_masks,
    mistakes={
        "wrong-axis": wrong(
            "softmax 用错了轴：每个查询的权重沿键，也就是沿最后一个轴相加为 1。",
            "The softmax runs over the wrong axis: the weights of a query sum to 1 over the keys,"
            " the last axis.",
            lambda s, m: masked_softmax(s.mT, m.expand_as(s).mT).mT,
            lambda s, m: s.masked_fill(~m, -torch.inf).softmax(dim=-2),
            lambda s, m: s.masked_fill(~m, -torch.inf).softmax(dim=1),
        ),
        "all-axes": wrong(
            "所有权重加起来才等于 1：softmax 应当逐行做，只沿最后一个轴。",
            "Only all weights together sum to 1: take the softmax of each row, over the last axis"
            " alone.",
            lambda s, m: s.masked_fill(~m, -torch.inf).flatten().softmax(dim=0).reshape(s.shape),
        ),
        "mask-inverted": wrong(
            "掩码反了：True 表示可以看，要填充的是 `~mask` 的位置。",
            "The mask is inverted: True means “may attend”; what gets filled is `~mask`.",
            lambda s, m: s.masked_fill(m, -torch.inf).softmax(dim=-1),
        ),
        "scores-set-to-zero": wrong(*hints.SET_TO_ZERO, lambda s, m: (s * m).softmax(dim=-1)),
        "masked-afterwards": wrong(*hints.MASKED_LATE, lambda s, m: s.softmax(dim=-1) * m),
        "minus-infinity": wrong(
            "一行全被遮住时是 0/0，得到 NaN：这样的行要另外处理，权重全为 0。",
            "A row that may see nothing is 0/0, hence NaN: treat such rows apart, with zeros for"
            " weights.",
            lambda s, m: s.masked_fill(~m, -torch.inf).softmax(dim=-1),
        ),
        "finite-fill": wrong(
            "有限的填充值有三处破绽：一行全被遮住时，权重平分给了填充；真正的评分可能比它还低；"
            "float16 装不下它。先填 `-inf`，再另外处理全被遮住的行。",
            "A finite fill fails in three ways: in a row that sees nothing the padding shares the"
            " weight; real scores may be lower still; and float16 can't hold it. Fill with `-inf`,"
            " and treat rows that see nothing apart.",
            lambda s, m: s.masked_fill(~m, -1e6).softmax(dim=-1),
            lambda s, m: s.masked_fill(~m, -1e9).softmax(dim=-1),
            lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(dim=-1),
            lambda s, m: (s + (~m).to(s.dtype) * -1e9).softmax(dim=-1),
            lambda s, m: s.masked_fill(~m, -1e4).softmax(dim=-1),
            lambda s, m: s.masked_fill(~m, -100.0).softmax(dim=-1),
            lambda s, m: s.masked_fill(~m, -1e30).softmax(dim=-1),
        ),
        "bare-exponentials": wrong(
            "`exp(1000)` 溢出成无穷：取指数之前先减去一行的最大值，或者交给 `softmax`。",
            "`exp(1000)` overflows to infinity: subtract the row's maximum before the exponential,"
            " or leave it to `softmax`.",
            lambda s, m: shares(s.exp() * m),
            lambda s, m: (s.exp() * m) / ((s.exp() * m).sum(dim=-1, keepdim=True) + 1e-9),
        ),
        "in-place": wrong(
            "`masked_fill_` 改写了调用者的评分：用不带下划线的 `masked_fill`。",
            "`masked_fill_` overwrites the caller's scores: take `masked_fill`, without the"
            " underscore.",
            lambda s, m: s.masked_fill_(~m, -torch.inf).softmax(dim=-1).nan_to_num(),
        ),
        "renormalized": wrong(
            "先做 softmax 再遮、再除以和：看不见的键评分高时，看得见的权重先下溢成 0，除不回来。"
            "掩码要放在 softmax 之前。",
            "A softmax, then the mask, then a division by the sum: where a hidden key has a high"
            " score the visible weights underflow to 0 first, and no division brings them back."
            " Mask before the softmax.",
            _renormalized,
            lambda s, m: _renormalized(s, m, add=1e-9),
            lambda s, m: _renormalized(s, m, floor=1e-6),
        ),
        "even-where-nothing": wrong(
            "什么都看不见的一行也分到了权重：这样的行要全为 0。",
            "A row that may see nothing gets weight all the same: such rows are all zeros.",
            lambda s, m: masked_softmax(s, m | ~m.any(dim=-1, keepdim=True)),
        ),
        "mask-ignored": wrong(
            "掩码没有用上。", "The mask is not used.", lambda s, m: s.softmax(dim=-1)
        ),
        "softmax-twice": wrong(
            *hints.SOFTMAX_TWICE, lambda s, m: masked_softmax(s.softmax(dim=-1), m)
        ),
    },
    laws=(
        Law(
            "rows-sum-to-one",
            Bilingual("看得见的键，权重之和为 1。", "The weights of visible keys sum to 1."),
            _rows_sum_to_one,
        ),
        Law(
            "finite-gradients",
            Bilingual(
                "有一行什么都看不见时，梯度仍然有限。",
                "Gradients stay finite where a row may see nothing.",
            ),
            _gradients_are_finite,
            Bilingual(
                "前向看不见的 NaN，反向会传给评分：不要事后擦掉它，要让它从头到尾不出现。",
                "A NaN that the forward pass hides reaches the scores in the backward pass: do"
                " not wipe it away afterwards, but let none come up.",
            ),
        ),
    ),
)


# --- causal-with-cache -------------------------------------------------------------------------


def _cached(num_queries: int, num_keys: int) -> Tensor:
    return causal_mask(num_queries, num_keys, offset=num_keys - num_queries)


CAUSAL_WITH_CACHE = exercise(
    "causal-with-cache",
    "写 `mask(num_queries, num_keys)`：查询是最后 num_queries 个位置，各自看见自己及之前的键；"
    "返回布尔张量（查询，键），True 表示可以看。",
    "Write `mask(num_queries, num_keys)`: the queries stand at the last positions, and each sees"
    " the keys up to its own; return a boolean tensor (query, key), where True means “may"
    " attend”.",
    solution=_cached,
    probes=lambda: [
        probe((3, 3), "还没有缓存", "nothing is cached yet"),
        probe((1, 4), "缓存里有 3 个键", "3 keys are cached"),
        probe((2, 5), "缓存里有 3 个键，一次来了 2 个查询", "3 keys are cached, 2 queries come"),
        probe((4, 5), "缓存里有 1 个键，来了 4 个查询", "1 key is cached, 4 queries come"),
        probe((1, 1), "这是第一个词", "it is the first word"),
    ],
    mistakes={
        "from-position-zero": wrong(
            "没有缓存时对，有缓存就错：第一个查询站在 `num_keys - num_queries`，不在位置 0。",
            "Right without a cache, wrong with one: the first query stands at"
            " `num_keys - num_queries`, not at position 0.",
            lambda m, n: causal_mask(m, n),
        ),
        "future": wrong(
            "反了：True 表示可以看，现在每个查询只看得见未来。",
            "Inverted: True means “may attend”, and now every query sees the future only.",
            lambda m, n: ~_cached(m, n),
        ),
        "without-itself": wrong(
            "每个查询也看得见自己的位置：是 `<=`，不是 `<`。",
            "A query also sees its own position: `<=`, not `<`.",
            lambda m, n: causal_mask(m, n, offset=n - m - 1),
        ),
        "everything": wrong(
            "一次只来一个查询时，什么都不遮也对；一次来几个，先来的就看见了后来的。",
            "With one query at a time nothing need be hidden; where several come at once, the first"
            " would see the later ones.",
            lambda m, n: torch.ones(m, n, dtype=torch.bool),
        ),
        "one-ahead": wrong(
            "差了一格：每个查询多看见了后面一个键。",
            "Off by one: every query sees the key after its own as well.",
            lambda m, n: causal_mask(m, n, offset=n - m + 1),
        ),
    },
)


# --- scaled-dot-product ------------------------------------------------------------------------


def _queries_keys_values() -> Iterator[Probe]:
    first = torch.tensor([[True, False, False], [True, True, True]])
    yield probe(
        (torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first | True),
        "什么都没有遮住",
        "nothing is hidden",
    )
    yield probe((torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first))
    square = torch.ones(3, 3, dtype=torch.bool).tril()
    yield probe((torch.randn(3, 7), torch.randn(3, 7), torch.randn(3, 7), square), *hints.AS_MANY)
    batch = torch.tensor([[[True, True, True, False, False]], [[True] * 5]])
    yield probe(
        (torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 2), batch),
        "前面还有批量的轴",
        "a batch axis comes first",
    )
    far, keys = 8 * whole(2, 4, most=80), 8 * whole(3, 4, most=80)
    keys[0] = -far[0]  # the only key that the first query sees is the least like it
    yield probe((far, keys, torch.randn(3, 2), first), *hints.FAR_APART)


def _attend(
    scale: Callable[[Tensor, Tensor], float],
    *,
    hide: Callable[[Tensor], Tensor] = lambda mask: mask,
    over_queries: bool = False,
) -> Callable[..., Tensor]:
    """Return an attention whose scale is made of keys and values."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.mT * scale(keys, values)
        visible = hide(mask).expand_as(scores)
        if over_queries:
            return masked_softmax(scores.mT, visible.mT).mT @ values
        return masked_softmax(scores, visible) @ values

    return attend


def _root(keys: Tensor, values: Tensor) -> float:
    return 1 / math.sqrt(keys.shape[-1])


def _of_scores(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an attention whose weights are made of scaled scores and the mask."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return weigh(queries @ keys.mT * _root(keys, values), mask) @ values

    return attend


SCALED_DOT_PRODUCT = exercise(
    "scaled-dot-product",
    "写 `attend(queries, keys, values, mask)`：缩放点积注意力，mask 为 True 表示可以看；"
    "每个查询至少看得见一个键，评分可大可小。",
    "Write `attend(queries, keys, values, mask)`: scaled dot-product attention; True in the mask"
    " means “may attend”; every query sees at least one key, and scores may be of any size.",
    solution=lambda queries, keys, values, mask: dot_product_attention(queries, keys, values, mask),
    probes=_queries_keys_values,
    mistakes={
        "divided-by-d": wrong(
            "除以了 d_k 而不是 √d_k：权重几乎成了平均。",
            "Divided by d_k, not by √d_k: the weights are nearly even.",
            _attend(lambda keys, values: 1 / keys.shape[-1]),
        ),
        "not-scaled": wrong(
            "没有缩放：d_k 越大，评分越分散，softmax 越接近只取一个。",
            "Not scaled: the larger d_k, the wider the scores spread, and the softmax nearly picks"
            " a single key.",
            _attend(lambda keys, values: 1.0),
        ),
        "multiplied": wrong(
            "是除以 √d_k，不是乘以。",
            "Divide by √d_k; do not multiply.",
            _attend(lambda keys, values: math.sqrt(keys.shape[-1])),
        ),
        "wrong-root": wrong(
            "根号下是键的特征数 d_k：评分是 d_k 项之和，方差随它增长；与键的个数、值的大小无关。",
            "The root is of d_k, the features of a key: a score is a sum of d_k terms and its"
            " variance grows with that, not with the number of keys or the size of the values.",
            _attend(lambda keys, values: 1 / math.sqrt(keys.shape[-2])),
            _attend(lambda keys, values: 1 / math.sqrt(values.shape[-1])),
            lambda q, k, v, m: masked_softmax(q @ k.mT / math.sqrt(q.shape[-2]), m) @ v,
        ),
        "scaled-afterwards": wrong(
            "缩放的是评分，要在 softmax 之前；之后再除，权重之和就不是 1 了。",
            "It is the scores that are scaled, before the softmax; afterwards the weights no longer"
            " sum to 1.",
            lambda q, k, v, m: masked_softmax(q @ k.mT, m) * _root(k, v) @ v,
        ),
        "wrong-axis": wrong(
            "softmax 用错了轴：要沿键，也就是评分的最后一个轴。",
            "The softmax runs over the wrong axis: it goes over the keys, the last axis of the"
            " scores.",
            _attend(_root, over_queries=True),
            _of_scores(
                lambda scores, mask: (
                    scores.masked_fill(~mask, -torch.inf).softmax(dim=1).nan_to_num()
                )
            ),
        ),
        "mask-inverted": wrong(
            "掩码反了：True 的位置可以看。",
            "The mask is inverted: where it is True the query may look.",
            _attend(_root, hide=lambda mask: ~mask),
        ),
        "mask-ignored": wrong(
            "什么都没有遮住时对：掩码没有用上。",
            "Right where nothing is hidden: the mask is not used.",
            _attend(_root, hide=torch.ones_like),
        ),
        "masked-afterwards": wrong(
            *hints.MASKED_LATE, _of_scores(lambda scores, mask: scores.softmax(dim=-1) * mask)
        ),
        "scores-set-to-zero": wrong(
            *hints.SET_TO_ZERO, _of_scores(lambda scores, mask: (scores * mask).softmax(dim=-1))
        ),
        "finite-fill": wrong(
            "有限的填充值不够低：真正的评分可能比它还低，被遮住的键就又看得见了。填 `-inf`。",
            "A finite fill is not low enough: real scores may be lower, and hidden keys are seen"
            " again. Fill with `-inf`.",
            _of_scores(lambda scores, mask: scores.masked_fill(~mask, -100.0).softmax(dim=-1)),
        ),
        "sign": wrong(*hints.LIKENESS_REVERSED, _attend(lambda keys, values: -_root(keys, values))),
        "swapped": wrong(
            "查询与键对调了：行是查询，列是键。",
            "Queries and keys are swapped: rows are queries, columns are keys.",
            lambda q, k, v, m: (
                (k @ q.mT * _root(k, v)).masked_fill(~m, -torch.inf).softmax(dim=-1).nan_to_num()
                @ v
            ),
        ),
        "no-softmax": wrong(*hints.NO_SOFTMAX, _of_scores(torch.mul)),
        "bare-exponentials": wrong(
            *hints.EXPONENTIALS_OVERFLOW, _of_scores(lambda s, m: shares(s.exp() * m, floor=1e-9))
        ),
    },
)


# --- additive-score ----------------------------------------------------------------------------


def _additive_inputs() -> Iterator[Probe]:
    for num_queries, num_keys in ((2, 3), (3, 3), (1, 4), (2, 1)):
        W_q, W_k, w_v = torch.randn(7, 5), torch.randn(7, 2), torch.randn(7)
        one = Bilingual("只有一个查询，或一个键", "there is a single query, or a single key")
        about = one if 1 in (num_queries, num_keys) else None
        yield Probe((torch.randn(num_queries, 5), torch.randn(num_keys, 2), W_q, W_k, w_v), about)


def _projected(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (queries @ W_q.T)[:, None], keys @ W_k.T


def _additive(hidden: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a score whose hidden layer is made of projected queries and keys."""

    def score(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        return hidden(*_projected(queries, keys, W_q, W_k)) @ w_v

    return score


_RIGHT = _additive(lambda q, k: torch.tanh(q + k))


def _afterwards(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a score that does something to the right one, which may need d_h or d_q."""

    def score(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        return change(_RIGHT(queries, keys, W_q, W_k, w_v), *W_q.shape)

    return score


ADDITIVE_SCORE = exercise(
    "additive-score",
    "写 `score(queries, keys, W_q, W_k, w_v)`：加性评分，每个查询对每个键一个数；"
    "W 的形状是（d_h，特征数）。",
    "Write `score(queries, keys, W_q, W_k, w_v)`: the additive score, one number for each query"
    " and key; the shape of a W is (d_h, features).",
    solution=_RIGHT,
    probes=_additive_inputs,
    mistakes={
        "not-broadcast": wrong(
            "第 i 个查询只加了第 i 个键：给查询补一个长度为 1 的轴，让每个查询遇到每个键。",
            "Query i was added to key i alone: give the queries an axis of size 1, so that each"
            " meets every key.",
            lambda q, k, W_q, W_k, w_v: torch.tanh(q @ W_q.T + k @ W_k.T) @ w_v,
        ),
        "no-tanh": wrong(
            "没有 tanh：评分成了“查询的一部分加键的一部分”，softmax 一做，查询就约掉了。",
            "No tanh: the score is a part of the query plus a part of the key, and the softmax"
            " cancels the query.",
            _additive(lambda q, k: q + k),
        ),
        "tanh-apart": wrong(
            "先各自 tanh 再相加，查询与键就没有相遇，softmax 会把查询约掉：先相加。",
            "With a tanh for each, query and key never meet and the softmax cancels the query: add"
            " first.",
            _additive(lambda q, k: torch.tanh(q) + torch.tanh(k)),
        ),
        "multiplied": wrong(
            "加性评分是相加，不是相乘。",
            "The additive score adds; it does not multiply.",
            _additive(lambda q, k: torch.tanh(q * k)),
        ),
        "plain-sum": wrong(
            "最后要与 `w_v` 做内积，不是把各分量直接相加。",
            "The last step is a product with `w_v`, not the plain sum of the components.",
            lambda q, k, W_q, W_k, w_v: torch.add(*_projected(q, k, W_q, W_k)).tanh().sum(dim=-1),
            lambda q, k, W_q, W_k, w_v: torch.add(*_projected(q, k, W_q, W_k)).tanh().mean(dim=-1),
        ),
        "transposed": wrong(
            "行是查询，列是键：结果转置了。",
            "Rows are queries and columns are keys: the result is transposed.",
            _afterwards(lambda scores, *sizes: scores.mT),
        ),
        "softmax-taken": wrong(
            "要的是评分，还没有到 softmax。",
            "The scores are asked for; the softmax comes later.",
            _afterwards(lambda scores, *sizes: scores.softmax(dim=-1)),
        ),
        "scaled": wrong(
            "加性评分不除以 √d：tanh 的值已在 −1 与 1 之间。",
            "The additive score is not divided by √d: tanh lies between −1 and 1 already.",
            _afterwards(lambda scores, d_h, d_q: scores / d_h**0.5),
            _afterwards(lambda scores, d_h, d_q: scores / d_q**0.5),
        ),
        "sign": wrong(*hints.SIGN_ALONE, _afterwards(lambda scores, *sizes: -scores)),
        "tanh-last": wrong(
            "tanh 放到了最后：先做 tanh，再与 `w_v` 做内积。",
            "The tanh comes last here: take it first, then the product with `w_v`.",
            lambda queries, keys, W_q, W_k, w_v: _additive(lambda q, k: q + k)(
                queries, keys, W_q, W_k, w_v
            ).tanh(),
        ),
        "squeezed": wrong(
            "只有一个查询或一个键时，`squeeze` 把它的轴也去掉了：结果总有两个轴。",
            "With a single query or key, `squeeze` removes its axis as well: the result always has"
            " two axes.",
            _afterwards(lambda scores, *sizes: scores.squeeze()),
        ),
        "dot-product": wrong(
            "这是投影之后的点积：加性评分是先相加，再 tanh，再与 `w_v` 做内积。",
            "This is a dot product of projections: the additive score adds them, takes the tanh,"
            " then the product with `w_v`.",
            lambda q, k, W_q, W_k, w_v: q @ W_q.T @ (k @ W_k.T).T,
        ),
    },
)

EXERCISES = (MASKED_SOFTMAX, CAUSAL_WITH_CACHE, SCALED_DOT_PRODUCT, ADDITIVE_SCORE)
