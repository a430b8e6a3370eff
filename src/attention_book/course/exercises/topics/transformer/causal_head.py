"""An exercise on causal self-attention: one head that looks back."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, masked_softmax
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _words_and_projections() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 4), *torch.randn(3, 4, 4)))
    yield Probe((torch.randn(5, 8), torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 6)))
    yield Probe(
        (torch.randn(1, 4), torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 2)),
        Bilingual("只有一个词", "there is a single word"),
    )
    yield Probe(
        (20 * torch.randn(4, 5), torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 2)),
        Bilingual("评分很大", "the scores are large"),
    )


def _causal_self_attention(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])
    return masked_softmax(scores, causal_mask(len(x))) @ x @ W_v


def _scores(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return x @ W_q @ (x @ W_k).mT


def _sees_all(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])).softmax(dim=-1) @ x @ W_v


def _masked_afterwards(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])).softmax(dim=-1).tril() @ x @ W_v


def _not_itself(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])
    return masked_softmax(scores, causal_mask(len(x), offset=-1)) @ x @ W_v


def _not_itself_with_nan(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])
    hidden = ~causal_mask(len(x), offset=-1)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ x @ W_v


def _one_ahead(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])
    return masked_softmax(scores, causal_mask(len(x), offset=1)) @ x @ W_v


def _future_only(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])
    return masked_softmax(scores, causal_mask(len(x)).mT) @ x @ W_v


def _divided_by_d(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = _scores(x, W_q, W_k) / W_k.shape[-1]
    return masked_softmax(scores, causal_mask(len(x))) @ x @ W_v


def _unscaled(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return masked_softmax(_scores(x, W_q, W_k), causal_mask(len(x))) @ x @ W_v


def _of_scores(
    weigh: Callable[[Tensor], Tensor],
    square: Callable[[Tensor, Tensor, Tensor], int] = lambda x, W_k, W_v: W_k.shape[-1],
    *,
    swapped: bool = False,
) -> Callable[..., Tensor]:
    """Return a head that makes weights of the scores, which it divides by a root."""

    def attend(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
        queries, keys = (W_k, W_q) if swapped else (W_q, W_k)
        return weigh(_scores(x, queries, keys) / math.sqrt(square(x, W_k, W_v))) @ x @ W_v

    return attend


def _causal(scores: Tensor) -> Tensor:
    return masked_softmax(scores, causal_mask(len(scores)))


def _over_queries(scores: Tensor) -> Tensor:
    return scores.masked_fill(~causal_mask(len(scores)), -torch.inf).softmax(dim=0)


def _bare(scores: Tensor) -> Tensor:
    likeness = scores.exp().tril()
    return likeness / likeness.sum(dim=-1, keepdim=True)


_WRONG_ROOT = Bilingual(
    "根号下是键的特征数 d_k，不是位置数，也不是值的特征数。",
    "The root is of d_k, the features of a key, not of the number of positions or of the features"
    " of a value.",
)
_OFF_BY_ONE = Bilingual(
    "因果掩码差了一格：第 i 个词可以看第 1 到第 i 个，包括它自己。",
    "The causal mask is off by one: word i may see the words 1 to i, itself included.",
)

CAUSAL_SELF_ATTENTION = Exercise(
    name="causal-self-attention",
    task=Bilingual(
        "写 `attend(x, W_q, W_k, W_v)`：一个头的因果自注意力，"
        "x 的形状是（位置，特征），各投影是 `x @ W`。",
        "Write `attend(x, W_q, W_k, W_v)`: causal self-attention with one head; x has the shape"
        " (position, feature), and the projections are `x @ W`.",
    ),
    solution=_causal_self_attention,
    probes=_words_and_projections,
    mistakes=(
        Mistake(
            "no-mask",
            _sees_all,
            Bilingual("没有掩码：每个词都看见了未来。", "No mask: every word sees the future."),
        ),
        Mistake(
            "masked-afterwards",
            _masked_afterwards,
            Bilingual(
                "softmax 之后才遮，分母里还有未来：掩码要放在 softmax 之前。",
                "Masked after the softmax, the future is still in the denominator: mask before.",
            ),
        ),
        Mistake("off-by-one", _not_itself, _OFF_BY_ONE),
        Mistake("off-by-one", _not_itself_with_nan, _OFF_BY_ONE),
        Mistake("off-by-one", _one_ahead, _OFF_BY_ONE),
        Mistake(
            "mask-upside-down",
            _future_only,
            Bilingual(
                "掩码上下颠倒，每个词只看得见自己和未来：要 `tril`，不要 `triu`。",
                "The mask is upside down, and a word sees itself and the future: take `tril`, not"
                " `triu`.",
            ),
        ),
        Mistake(
            "divided-by-d",
            _divided_by_d,
            Bilingual("除以的是 √d_k，不是 d_k。", "Divide by √d_k, not by d_k."),
        ),
        Mistake(
            "not-scaled",
            _unscaled,
            Bilingual("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
        Mistake(
            "root-of-d-model",
            _of_scores(_causal, lambda x, W_k, W_v: x.shape[-1]),
            Bilingual(
                "除以了 √d_model：一个头的评分要除以 √d_k，即投影之后的特征数。",
                "Divided by √d_model: the scores of a head are divided by √d_k, the number of "
                "features after the projection.",
            ),
        ),
        Mistake("wrong-root", _of_scores(_causal, lambda x, W_k, W_v: W_v.shape[-1]), _WRONG_ROOT),
        Mistake("wrong-root", _of_scores(_causal, lambda x, W_k, W_v: len(x)), _WRONG_ROOT),
        Mistake(
            "wrong-axis",
            _of_scores(_over_queries),
            Bilingual(
                "softmax 用错了轴：要沿键，也就是最后一个轴。",
                "The softmax runs over the wrong axis: it goes over the keys, the last axis.",
            ),
        ),
        Mistake(
            "queries-and-keys-swapped",
            _of_scores(_causal, swapped=True),
            Bilingual(
                "查询与键对调了：评分是 q·k，行是查询，列是键。",
                "Queries and keys are swapped: scores are q·k, with queries in rows and keys "
                "in columns.",
            ),
        ),
        Mistake(
            "scores-set-to-zero",
            _of_scores(lambda scores: scores.tril().softmax(dim=-1)),
            Bilingual(
                "把未来的评分变成 0 并没有遮住它：`exp(0)` 是 1，不是 0。填 `-inf`。",
                "A score of 0 does not hide the future: `exp(0)` is 1, not 0. Fill with `-inf`.",
            ),
        ),
        Mistake(
            "bare-exponentials",
            _of_scores(_bare),
            Bilingual(
                "评分大时指数溢出成无穷：先减去一行的最大值，或者交给 `softmax`。",
                "For large scores the exponential overflows to infinity: subtract the row's "
                "maximum first, or leave it to `softmax`.",
            ),
        ),
        Mistake(
            "sign",
            _of_scores(lambda scores: _causal(-scores)),
            Bilingual(
                "符号反了：越相似，评分越高。",
                "The sign is reversed: the more alike, the higher the score.",
            ),
        ),
    ),
)

EXERCISES = (CAUSAL_SELF_ATTENTION,)
