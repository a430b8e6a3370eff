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


_WRONG_ROOT = Bilingual(
    "根号下是键的特征数 d_k：评分是 d_k 项之和，方差随它增长；与键的个数、值的大小无关。",
    "The root is of d_k, the features of a key: a score is a sum of d_k terms and its variance"
    " grows with that, not with the number of keys or the size of the values.",
)

SCALED_DOT_PRODUCT = Exercise(
    name="scaled-dot-product",
    task=Bilingual(
        "写 `attend(queries, keys, values, mask)`：缩放点积注意力，mask 为 True 表示可以看。",
        "Write `attend(queries, keys, values, mask)`: scaled dot-product attention; True in the"
        " mask means “may attend”.",
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
            Bilingual(
                "softmax 用错了轴：要沿键，也就是评分的最后一个轴。",
                "The softmax runs over the wrong axis: it goes over the keys, the last axis of"
                " the scores.",
            ),
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
    ),
)

EXERCISES = (SCALED_DOT_PRODUCT,)
