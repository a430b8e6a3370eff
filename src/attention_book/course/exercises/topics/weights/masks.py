"""An exercise on masks: a softmax that respects one."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import masked_softmax
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual


def _scores_and_masks() -> Iterator[Probe]:
    scores = torch.randn(2, 3)
    mask = torch.tensor([[True, True, False], [True, False, True]])
    yield Probe((scores, torch.ones(2, 3, dtype=torch.bool)))
    yield Probe((scores, mask))
    lengths = torch.tensor([[[True] * 3 + [False] * 2], [[True] + [False] * 4]])
    yield Probe((torch.randn(2, 3, 5), lengths))
    empty = torch.tensor([[True, True, False], [False, False, False]])
    yield Probe((scores, empty), Bilingual("有一个查询什么都看不见", "one query may see nothing"))
    yield Probe((scores.half(), mask), Bilingual("精度是 float16", "the precision is float16"))
    yield Probe(
        (scores.half(), empty),
        Bilingual(
            "精度是 float16，有一个查询什么都看不见",
            "the precision is float16 and one query may see nothing",
        ),
    )
    yield Probe(
        (torch.randn(2, 1), torch.tensor([[True], [False]])),
        Bilingual("只有一个键", "there is a single key"),
    )
    large = torch.tensor([[1000.0, 999.0, 0.0], [0.0, 2000.0, 2000.0]])
    yield Probe((large, mask), Bilingual("评分很大", "the scores are large"))
    far = torch.tensor([[-5e6, -5e6, 0.0], [-4e6, 0.0, -4e6]])
    yield Probe((far, mask), Bilingual("看得见的评分很低", "the visible scores are very low"))


def _over_queries(scores: Tensor, mask: Tensor) -> Tensor:
    return masked_softmax(scores.mT, mask.expand_as(scores).mT).mT


def _over_queries_with_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-2)


def _over_everything(scores: Tensor, mask: Tensor) -> Tensor:
    filled = scores.masked_fill(~mask, -torch.inf)
    return filled.flatten().softmax(dim=0).reshape(scores.shape)


def _inverted(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask, -torch.inf).softmax(dim=-1)


def _multiplied(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(dim=-1)


def _masked_afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(dim=-1) * mask


def _minus_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def _large_negative(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e6).softmax(dim=-1)


def _larger_negative(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1)


def _lowest_number(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)


def _added(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores + (~mask).to(scores.dtype) * -1e9).softmax(dim=-1)


def _bare_exponentials(scores: Tensor, mask: Tensor) -> Tensor:
    likeness = scores.exp() * mask
    return likeness / likeness.sum(dim=-1, keepdim=True)


def _in_place(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill_(~mask, -torch.inf).softmax(dim=-1).nan_to_num()


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


_OVERFLOW = Bilingual(
    "`exp(1000)` 溢出成无穷：取指数之前先减去一行的最大值，或者交给 `softmax`。",
    "`exp(1000)` overflows to infinity: subtract the row's maximum before the exponential, or leave"
    " it to `softmax`.",
)


def _renormalized(scores: Tensor, mask: Tensor, add: float = 0.0, floor: float = 0.0) -> Tensor:
    weights = scores.softmax(dim=-1) * mask
    return weights / (weights.sum(dim=-1, keepdim=True) + add).clamp(min=floor)


def _even_where_nothing(scores: Tensor, mask: Tensor) -> Tensor:
    return masked_softmax(scores, mask | ~mask.any(dim=-1, keepdim=True))


_RENORMALIZED = Bilingual(
    "先做 softmax 再遮、再除以和：看不见的键评分高时，看得见的权重先下溢成 0，除不回来。"
    "掩码要放在 softmax 之前。",
    "A softmax, then the mask, then a division by the sum: where a hidden key has a high score the"
    " visible weights underflow to 0 first, and no division brings them back. Mask before the"
    " softmax.",
)
_FINITE_FILL = Bilingual(
    "有限的填充值有三处破绽：一行全被遮住时，权重平分给了填充；真正的评分可能比它还低；"
    "float16 装不下它。先填 `-inf`，再另外处理全被遮住的行。",
    "A finite fill fails in three ways: in a row that sees nothing the padding shares the weight;"
    " real scores may be lower still; and float16 can't hold it. Fill with `-inf`, and treat"
    " rows that see nothing apart.",
)
_WRONG_AXIS = Bilingual(
    "softmax 用错了轴：每个查询的权重沿键，也就是沿最后一个轴相加为 1。",
    "The softmax runs over the wrong axis: the weights of a query sum to 1 over the keys, the"
    " last axis.",
)

MASKED_SOFTMAX = Exercise(
    name="masked-softmax",
    task=Bilingual(
        "写 `masked_softmax(scores, mask)`：沿最后一个轴的 softmax，mask 为 False 处权"
        "重为 0；一行全为 False 时，权重全为 0，梯度有限。评分可以很大、很小，也可以是"
        " float16。",
        "Write `masked_softmax(scores, mask)`: a softmax over the last axis with "
        "weight 0 where mask is False; a row of nothing but False gets zeros and "
        "finite gradients. Scores may be very high, very low, or float16.",
    ),
    solution=masked_softmax,
    probes=_scores_and_masks,
    mistakes=(
        Mistake("wrong-axis", _over_queries, _WRONG_AXIS),
        Mistake("wrong-axis", _over_queries_with_infinity, _WRONG_AXIS),
        Mistake(
            "all-axes",
            _over_everything,
            Bilingual(
                "所有权重加起来才等于 1：softmax 应当逐行做，只沿最后一个轴。",
                "Only all weights together sum to 1: take the softmax of each row, over the last"
                " axis alone.",
            ),
        ),
        Mistake(
            "mask-inverted",
            _inverted,
            Bilingual(
                "掩码反了：True 表示可以看，要填充的是 `~mask` 的位置。",
                "The mask is inverted: True means “may attend”; what gets filled is `~mask`.",
            ),
        ),
        Mistake(
            "scores-set-to-zero",
            _multiplied,
            Bilingual(
                "把评分乘以 0 并没有遮住它：`exp(0)` 是 1，不是 0。",
                "A score times 0 is not hidden: `exp(0)` is 1, not 0.",
            ),
        ),
        Mistake(
            "masked-afterwards",
            _masked_afterwards,
            Bilingual(
                "先做 softmax 再遮，每行之和就小于 1：分母里还有看不见的键。",
                "Masking after the softmax leaves rows that sum to less than 1: the hidden keys"
                " are still in the denominator.",
            ),
        ),
        Mistake(
            "minus-infinity",
            _minus_infinity,
            Bilingual(
                "一行全被遮住时是 0/0，得到 NaN：这样的行要另外处理，权重全为 0。",
                "A row that may see nothing is 0/0, hence NaN: treat such rows apart, with zeros"
                " for weights.",
            ),
        ),
        Mistake("finite-fill", _large_negative, _FINITE_FILL),
        Mistake("finite-fill", _larger_negative, _FINITE_FILL),
        Mistake("finite-fill", _lowest_number, _FINITE_FILL),
        Mistake("finite-fill", _added, _FINITE_FILL),
        Mistake(
            "bare-exponentials",
            _bare_exponentials,
            _OVERFLOW,
        ),
        Mistake(
            "in-place",
            _in_place,
            Bilingual(
                "`masked_fill_` 改写了调用者的评分：用不带下划线的 `masked_fill`。",
                "`masked_fill_` overwrites the caller's scores: take `masked_fill`, without the"
                " underscore.",
            ),
        ),
        Mistake(
            "wrong-axis",
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(dim=1),
            _WRONG_AXIS,
        ),
        Mistake(
            "finite-fill",
            lambda scores, mask: scores.masked_fill(~mask, -1e4).softmax(dim=-1),
            _FINITE_FILL,
        ),
        Mistake(
            "finite-fill",
            lambda scores, mask: scores.masked_fill(~mask, -100.0).softmax(dim=-1),
            _FINITE_FILL,
        ),
        Mistake(
            "finite-fill",
            lambda scores, mask: scores.masked_fill(~mask, -1e30).softmax(dim=-1),
            _FINITE_FILL,
        ),
        Mistake("renormalized", _renormalized, _RENORMALIZED),
        Mistake(
            "renormalized",
            lambda scores, mask: _renormalized(scores, mask, add=1e-9),
            _RENORMALIZED,
        ),
        Mistake(
            "renormalized",
            lambda scores, mask: _renormalized(scores, mask, floor=1e-6),
            _RENORMALIZED,
        ),
        Mistake(
            "bare-exponentials",
            lambda scores, mask: (
                (scores.exp() * mask) / ((scores.exp() * mask).sum(dim=-1, keepdim=True) + 1e-9)
            ),
            _OVERFLOW,
        ),
        Mistake(
            "even-where-nothing",
            _even_where_nothing,
            Bilingual(
                "什么都看不见的一行也分到了权重：这样的行要全为 0。",
                "A row that may see nothing gets weight all the same: such rows are all zeros.",
            ),
        ),
        Mistake(
            "mask-ignored",
            lambda scores, mask: scores.softmax(dim=-1),
            Bilingual("掩码没有用上。", "The mask is not used."),
        ),
        Mistake(
            "softmax-twice",
            lambda scores, mask: masked_softmax(scores.softmax(dim=-1), mask),
            Bilingual("softmax 做了两次。", "The softmax was taken twice."),
        ),
    ),
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

EXERCISES = (MASKED_SOFTMAX,)
