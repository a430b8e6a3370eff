"""An exercise on scores: scaled dot products."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import dot_product_attention, masked_softmax
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _queries_keys_values() -> Iterator[Probe]:
    first = torch.tensor([[True, False, False], [True, True, True]])
    yield Probe(
        (torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first | True),
        Bilingual("什么都没有遮住", "nothing is hidden"),
    )
    yield Probe((torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 2), first))
    square = torch.ones(3, 3, dtype=torch.bool).tril()
    yield Probe(
        (torch.randn(3, 7), torch.randn(3, 7), torch.randn(3, 7), square),
        Bilingual("查询与键一样多", "there are as many queries as keys"),
    )
    batch = torch.tensor([[[True, True, True, False, False]], [[True] * 5]])
    yield Probe(
        (torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 2), batch),
        Bilingual("前面还有批量的轴", "a batch axis comes first"),
    )
    far, keys = 40 * torch.randn(2, 5), 40 * torch.randn(3, 5)
    keys[0] = -far[0]  # the only key that the first query sees is the least like it
    yield Probe(
        (far, keys, torch.randn(3, 2), first), Bilingual("评分相差很大", "scores are far apart")
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


def _swapped(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    scores = keys @ queries.mT * _root(keys, values)
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num() @ values


def _of_queries(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return masked_softmax(queries @ keys.mT / math.sqrt(queries.shape[-2]), mask) @ values


def _of_scores(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an attention whose weights are made of scaled scores and the mask."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return weigh(queries @ keys.mT * _root(keys, values), mask) @ values

    return attend


def _bare_exponentials(scores: Tensor, mask: Tensor) -> Tensor:
    likeness = scores.exp() * mask
    return likeness / likeness.sum(dim=-1, keepdim=True).clamp(min=1e-9)


_WRONG_AXIS = Bilingual(
    "softmax 用错了轴：要沿键，也就是评分的最后一个轴。",
    "The softmax runs over the wrong axis: it goes over the keys, the last axis of the scores.",
)
_WRONG_ROOT = Bilingual(
    "根号下是键的特征数 d_k：评分是 d_k 项之和，方差随它增长；与键的个数、值的大小无关。",
    "The root is of d_k, the features of a key: a score is a sum of d_k terms and its variance"
    " grows with that, not with the number of keys or the size of the values.",
)

SCALED_DOT_PRODUCT = Exercise(
    name="scaled-dot-product",
    task=Bilingual(
        "写 `attend(queries, keys, values, mask)`：缩放点积注意力，mask 为 True 表示可"
        "以看；每个查询至少看得见一个键，评分可大可小。",
        "Write `attend(queries, keys, values, mask)`: scaled dot-product attention; "
        "True in the mask means “may attend”; every query sees at least one key, and "
        "scores may be of any size.",
    ),
    solution=lambda queries, keys, values, mask: dot_product_attention(queries, keys, values, mask),
    probes=_queries_keys_values,
    mistakes=(
        Mistake(
            "divided-by-d",
            _attend(lambda keys, values: 1 / keys.shape[-1]),
            Bilingual(
                "除以了 d_k 而不是 √d_k：权重几乎成了平均。",
                "Divided by d_k, not by √d_k: the weights are nearly even.",
            ),
        ),
        Mistake(
            "not-scaled",
            _attend(lambda keys, values: 1.0),
            Bilingual(
                "没有缩放：d_k 越大，评分越分散，softmax 越接近只取一个。",
                "Not scaled: the larger d_k, the wider the scores spread, and the softmax nearly"
                " picks a single key.",
            ),
        ),
        Mistake(
            "multiplied",
            _attend(lambda keys, values: math.sqrt(keys.shape[-1])),
            Bilingual("是除以 √d_k，不是乘以。", "Divide by √d_k; do not multiply."),
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
            Bilingual(
                "缩放的是评分，要在 softmax 之前；之后再除，权重之和就不是 1 了。",
                "It is the scores that are scaled, before the softmax; afterwards the weights no"
                " longer sum to 1.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _attend(_root, over_queries=True),
            _WRONG_AXIS,
        ),
        Mistake(
            "mask-inverted",
            _attend(_root, hide=lambda mask: ~mask),
            Bilingual(
                "掩码反了：True 的位置可以看。",
                "The mask is inverted: where it is True the query may look.",
            ),
        ),
        Mistake(
            "mask-ignored",
            _attend(_root, hide=torch.ones_like),
            Bilingual(
                "什么都没有遮住时对：掩码没有用上。",
                "Right where nothing is hidden: the mask is not used.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _of_scores(
                lambda scores, mask: (
                    scores.masked_fill(~mask, -torch.inf).softmax(dim=1).nan_to_num()
                )
            ),
            _WRONG_AXIS,
        ),
        Mistake("wrong-root", _of_queries, _WRONG_ROOT),
        Mistake(
            "masked-afterwards",
            _of_scores(lambda scores, mask: scores.softmax(dim=-1) * mask),
            Bilingual(
                "先做 softmax 再遮，每行之和就小于 1：分母里还有看不见的键。",
                "Masking after the softmax leaves rows that sum to less than 1: the hidden "
                "keys are still in the denominator.",
            ),
        ),
        Mistake(
            "scores-set-to-zero",
            _of_scores(lambda scores, mask: (scores * mask).softmax(dim=-1)),
            Bilingual(
                "把评分乘以 0 并没有遮住它：`exp(0)` 是 1，不是 0。",
                "A score times 0 is not hidden: `exp(0)` is 1, not 0.",
            ),
        ),
        Mistake(
            "finite-fill",
            _of_scores(lambda scores, mask: scores.masked_fill(~mask, -100.0).softmax(dim=-1)),
            Bilingual(
                "有限的填充值不够低：真正的评分可能比它还低，被遮住的键就又看得见了。填 `-inf`。",
                "A finite fill is not low enough: real scores may be lower, and hidden keys "
                "are seen again. Fill with `-inf`.",
            ),
        ),
        Mistake(
            "sign",
            _attend(lambda keys, values: -_root(keys, values)),
            Bilingual(
                "符号反了：越相似，评分越高。",
                "The sign is reversed: the more alike, the higher the score.",
            ),
        ),
        Mistake(
            "swapped",
            _swapped,
            Bilingual(
                "查询与键对调了：行是查询，列是键。",
                "Queries and keys are swapped: rows are queries, columns are keys.",
            ),
        ),
        Mistake(
            "no-softmax",
            _of_scores(torch.mul),
            Bilingual(
                "没有 softmax：评分还不是权重。", "There is no softmax: scores are no weights yet."
            ),
        ),
        Mistake(
            "bare-exponentials",
            _of_scores(_bare_exponentials),
            Bilingual(
                "评分大时指数溢出成无穷：先减去一行的最大值，或者交给 `softmax`。",
                "For large scores the exponential overflows to infinity: subtract the row's "
                "maximum first, or leave it to `softmax`.",
            ),
        ),
    ),
)

EXERCISES = (SCALED_DOT_PRODUCT,)
