"""Exercises on scores: scaled dot products, and the additive score."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import dot_product_attention, masked_softmax
from attention_book.exercises.exercise import Exercise, Mistake, Probe
from attention_book.exercises.words import Words

# --- scaled-dot-product ----------------------------------------------------------------------


def _queries_keys_values() -> Iterator[Probe]:
    first = torch.tensor([[True, False, False], [True, True, True]])
    yield Probe(
        (torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first | True),
        Words("什么都没有遮住", "nothing is hidden"),
    )
    yield Probe((torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first))
    square = torch.ones(3, 3, dtype=torch.bool).tril()
    yield Probe(
        (torch.randn(3, 7), torch.randn(3, 7), torch.randn(3, 7), square),
        Words("查询与键一样多", "there are as many queries as keys"),
    )
    batch = torch.tensor([[[True, True, True, False, False]], [[True] * 5]])
    yield Probe(
        (torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 2), batch),
        Words("前面还有批量的轴", "a batch axis comes first"),
    )


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


def _scaled_afterwards(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return masked_softmax(queries @ keys.mT, mask) * _root(keys, values) @ values


_WRONG_ROOT = Words(
    "根号下是键的特征数 d_k：评分是 d_k 项之和，方差随它增长；与键的个数、值的大小无关。",
    "The root is of d_k, the features of a key: a score is a sum of d_k terms and its variance"
    " grows with that, not with the number of keys or the size of the values.",
)

SCALED_DOT_PRODUCT = Exercise(
    name="scaled-dot-product",
    task=Words(
        "写 `attend(queries, keys, values, mask)`：缩放点积注意力，mask 为 True 表示可以看。",
        "Write `attend(queries, keys, values, mask)`: scaled dot-product attention; True in the"
        " mask means “may attend”.",
    ),
    solution=dot_product_attention,
    probes=_queries_keys_values,
    mistakes=(
        Mistake(
            "divided-by-d",
            _attend(lambda keys, values: 1 / keys.shape[-1]),
            Words(
                "除以了 d_k 而不是 √d_k：权重几乎成了平均。",
                "Divided by d_k, not by √d_k: the weights are nearly even.",
            ),
        ),
        Mistake(
            "not-scaled",
            _attend(lambda keys, values: 1.0),
            Words(
                "没有缩放：d_k 越大，评分越分散，softmax 越接近只取一个。",
                "Not scaled: the larger d_k, the wider the scores spread, and the softmax nearly"
                " picks a single key.",
            ),
        ),
        Mistake(
            "multiplied",
            _attend(lambda keys, values: math.sqrt(keys.shape[-1])),
            Words("是除以 √d_k，不是乘以。", "Divide by √d_k; do not multiply."),
        ),
        Mistake(
            "wrong-root",
            _attend(lambda keys, values: 1 / math.sqrt(keys.shape[-2])),
            _WRONG_ROOT,
        ),
        Mistake(
            "wrong-root",
            _attend(lambda keys, values: 1 / math.sqrt(values.shape[-1])),
            _WRONG_ROOT,
        ),
        Mistake(
            "scaled-afterwards",
            _scaled_afterwards,
            Words(
                "缩放的是评分，要在 softmax 之前；之后再除，权重之和就不是 1 了。",
                "It is the scores that are scaled, before the softmax; afterwards the weights no"
                " longer sum to 1.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _attend(_root, over_queries=True),
            Words(
                "softmax 用错了轴：要沿键，也就是评分的最后一个轴。",
                "The softmax runs over the wrong axis: it goes over the keys, the last axis of"
                " the scores.",
            ),
        ),
        Mistake(
            "mask-inverted",
            _attend(_root, hide=lambda mask: ~mask),
            Words(
                "掩码反了：True 的位置可以看。",
                "The mask is inverted: where it is True the query may look.",
            ),
        ),
        Mistake(
            "mask-ignored",
            _attend(_root, hide=torch.ones_like),
            Words(
                "什么都没有遮住时对：掩码没有用上。",
                "Right where nothing is hidden: the mask is not used.",
            ),
        ),
    ),
)

# --- additive-score --------------------------------------------------------------------------


def _additive_inputs() -> Iterator[Probe]:
    for num_queries, num_keys in ((2, 3), (3, 3)):
        W_q, W_k, w_v = torch.randn(7, 5), torch.randn(7, 2), torch.randn(7)
        yield Probe((torch.randn(num_queries, 5), torch.randn(num_keys, 2), W_q, W_k, w_v))


def _projected(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (queries @ W_q.T)[:, None], keys @ W_k.T


def _additive(hidden: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a score whose hidden layer is made of projected queries and keys."""

    def score(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        return hidden(*_projected(queries, keys, W_q, W_k)) @ w_v

    return score


def _no_axis(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh(queries @ W_q.T + keys @ W_k.T) @ w_v


def _plain_sum(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    q, k = _projected(queries, keys, W_q, W_k)
    return torch.tanh(q + k).sum(dim=-1)


ADDITIVE_SCORE = Exercise(
    name="additive-score",
    task=Words(
        "写 `score(queries, keys, W_q, W_k, w_v)`：加性评分，"
        "每个查询对每个键一个数；W 的形状是（d_h，特征数）。",
        "Write `score(queries, keys, W_q, W_k, w_v)`: the additive score, one number for each"
        " query and key; the shape of a W is (d_h, features).",
    ),
    solution=_additive(lambda q, k: torch.tanh(q + k)),
    probes=_additive_inputs,
    mistakes=(
        Mistake(
            "not-broadcast",
            _no_axis,
            Words(
                "第 i 个查询只加了第 i 个键：给查询补一个长度为 1 的轴，让每个查询遇到每个键。",
                "Query i was added to key i alone: give the queries an axis of size 1, so that"
                " each meets every key.",
            ),
        ),
        Mistake(
            "no-tanh",
            _additive(lambda q, k: q + k),
            Words(
                "没有 tanh：评分成了“查询的一部分加键的一部分”，softmax 一做，查询就约掉了。",
                "No tanh: the score is a part of the query plus a part of the key, and the"
                " softmax cancels the query.",
            ),
        ),
        Mistake(
            "tanh-apart",
            _additive(lambda q, k: torch.tanh(q) + torch.tanh(k)),
            Words(
                "先各自 tanh 再相加，查询与键就没有相遇，softmax 会把查询约掉：先相加。",
                "With a tanh for each, query and key never meet and the softmax cancels the"
                " query: add first.",
            ),
        ),
        Mistake(
            "multiplied",
            _additive(lambda q, k: torch.tanh(q * k)),
            Words("加性评分是相加，不是相乘。", "The additive score adds; it does not multiply."),
        ),
        Mistake(
            "plain-sum",
            _plain_sum,
            Words(
                "最后要与 `w_v` 做内积，不是把各分量直接相加。",
                "The last step is a product with `w_v`, not the plain sum of the components.",
            ),
        ),
        Mistake(
            "transposed",
            lambda queries, keys, W_q, W_k, w_v: (
                _additive(lambda q, k: torch.tanh(q + k))(queries, keys, W_q, W_k, w_v).mT
            ),
            Words(
                "行是查询，列是键：结果转置了。",
                "Rows are queries and columns are keys: the result is transposed.",
            ),
        ),
    ),
)

EXERCISES = (SCALED_DOT_PRODUCT, ADDITIVE_SCORE)
