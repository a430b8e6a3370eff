"""Exercises on heads: causal self-attention, features split among heads and merged."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_book.attention import (
    causal_mask,
    masked_softmax,
    merge_heads,
    split_heads,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import exercise, probe, shares, whole, wrong

# --- causal-self-attention ---------------------------------------------------------------------


def _scores(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return x @ W_q @ (x @ W_k).mT


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


CAUSAL_SELF_ATTENTION = exercise(
    "causal-self-attention",
    "写 `attend(x, W_q, W_k, W_v)`：一个头的因果自注意力，x 的形状是（位置，特征），"
    "各投影是 `x @ W`。",
    "Write `attend(x, W_q, W_k, W_v)`: causal self-attention with one head; x has the shape"
    " (position, feature), and the projections are `x @ W`.",
    solution=lambda x, W_q, W_k, W_v: (
        masked_softmax((_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])), causal_mask(len(x)))
        @ x
        @ W_v
    ),
    probes=lambda: [
        probe((torch.randn(3, 4), *torch.randn(3, 4, 4))),
        probe((torch.randn(5, 8), torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 6))),
        probe(
            (torch.randn(1, 4), torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 2)),
            *hints.ONE_WORD,
        ),
        probe(
            (whole(4, 5, most=40), *whole(2, 5, 4, most=3), whole(5, 2, most=3)),
            *hints.LARGE_SCORES,
        ),
    ],
    mistakes={
        "no-mask": wrong(
            *hints.NO_MASK,
            lambda x, W_q, W_k, W_v: (
                (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])).softmax(dim=-1) @ x @ W_v
            ),
        ),
        "masked-afterwards": wrong(
            *hints.FUTURE_MASKED_LATE,
            lambda x, W_q, W_k, W_v: (
                (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])).softmax(dim=-1).tril() @ x @ W_v
            ),
        ),
        "off-by-one": wrong(
            "因果掩码差了一格：第 i 个词可以看第 1 到第 i 个，包括它自己。",
            "The causal mask is off by one: word i may see the words 1 to i, itself included.",
            lambda x, W_q, W_k, W_v: (
                masked_softmax(
                    (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])),
                    causal_mask(len(x), offset=-1),
                )
                @ x
                @ W_v
            ),
            lambda x, W_q, W_k, W_v: (
                (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1]))
                .masked_fill((~causal_mask(len(x), offset=-1)), -torch.inf)
                .softmax(dim=-1)
                @ x
                @ W_v
            ),
            lambda x, W_q, W_k, W_v: (
                masked_softmax(
                    (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])), causal_mask(len(x), offset=1)
                )
                @ x
                @ W_v
            ),
        ),
        "mask-upside-down": wrong(
            *hints.UPSIDE_DOWN,
            lambda x, W_q, W_k, W_v: (
                masked_softmax(
                    (_scores(x, W_q, W_k) / math.sqrt(W_k.shape[-1])), causal_mask(len(x)).mT
                )
                @ x
                @ W_v
            ),
        ),
        "divided-by-d": wrong(
            *hints.DIVIDED_BY_D,
            lambda x, W_q, W_k, W_v: (
                masked_softmax((_scores(x, W_q, W_k) / W_k.shape[-1]), causal_mask(len(x)))
                @ x
                @ W_v
            ),
        ),
        "not-scaled": wrong(
            *hints.NOT_SCALED,
            lambda x, W_q, W_k, W_v: (
                masked_softmax(_scores(x, W_q, W_k), causal_mask(len(x))) @ x @ W_v
            ),
        ),
        "root-of-d-model": wrong(
            "除以了 √d_model：一个头的评分要除以 √d_k，即投影之后的特征数。",
            "Divided by √d_model: the scores of a head are divided by √d_k, the number of features"
            " after the projection.",
            _of_scores(_causal, lambda x, W_k, W_v: x.shape[-1]),
        ),
        "wrong-root": wrong(
            "根号下是键的特征数 d_k，不是位置数，也不是值的特征数。",
            "The root is of d_k, the features of a key, not of the number of positions or of the"
            " features of a value.",
            _of_scores(_causal, lambda x, W_k, W_v: W_v.shape[-1]),
            _of_scores(_causal, lambda x, W_k, W_v: len(x)),
        ),
        "wrong-axis": wrong(
            *hints.OVER_OTHER_AXIS,
            _of_scores(
                lambda scores: scores.masked_fill(~causal_mask(len(scores)), -torch.inf).softmax(
                    dim=0
                )
            ),
        ),
        "queries-and-keys-swapped": wrong(
            "查询与键对调了：评分是 q·k，行是查询，列是键。",
            "Queries and keys are swapped: scores are q·k, with queries in rows and keys in"
            " columns.",
            _of_scores(_causal, swapped=True),
        ),
        "scores-set-to-zero": wrong(
            "把未来的评分变成 0 并没有遮住它：`exp(0)` 是 1，不是 0。填 `-inf`。",
            "A score of 0 does not hide the future: `exp(0)` is 1, not 0. Fill with `-inf`.",
            _of_scores(lambda scores: scores.tril().softmax(dim=-1)),
        ),
        "bare-exponentials": wrong(
            *hints.EXPONENTIALS_OVERFLOW, _of_scores(lambda scores: shares(scores.exp().tril()))
        ),
        "sign": wrong(*hints.LIKENESS_REVERSED, _of_scores(lambda scores: _causal(-scores))),
    },
)


# --- split-heads -------------------------------------------------------------------------------


SPLIT_HEADS = exercise(
    "split-heads",
    "写 `split_heads(x, num_heads)`：从（批量，位置，特征）到（批量，头，位置，特征），"
    "第 1 个头得到开头的那些特征。",
    "Write `split_heads(x, num_heads)`: from (batch, position, feature) to (batch, head,"
    " position, feature), where head 1 gets the first features.",
    solution=split_heads,
    probes=lambda: [
        probe((torch.randn(1, 3, 4), 2)),
        probe((torch.randn(2, 5, 12), 3)),
        probe(
            (torch.randn(1, 4, 8), 4), "头数与位置数相等", "there are as many heads as positions"
        ),
        probe((torch.randn(2, 3, 5), 1), *hints.ONE_HEAD),
        probe((torch.randn(1, 1, 4), 4), "每个头只有一个特征", "a head has a single feature"),
    ],
    mistakes={
        "view-instead-of-swap": wrong(
            "形状对了，内容错了：`view` 只按内存里的次序切分，一个头里混进了别的位置。"
            "先把特征轴拆成（头，特征），再交换头与位置两个轴。",
            "The shape is right and the contents are not: `view` goes by the order in memory, and a"
            " head gets a mixture of positions. Split the feature axis into (head, feature) first,"
            " then swap the axes of heads and positions.",
            lambda x, h: x.reshape(len(x), h, x.shape[1], -1),
        ),
        "no-swap": wrong(
            "拆开了，还没有换轴：头的轴要排在位置之前。",
            "Split, but not swapped: the axis of the heads comes before that of the positions.",
            lambda x, h: x.unflatten(-1, (h, -1)),
        ),
        "features-dealt-out": wrong(
            "特征像发牌一样轮流分给了各个头；应当是连续的一段归一个头：拆成（头，特征），"
            "不是（特征，头）。",
            "The features are dealt out to the heads in turn; each head should get a run of"
            " neighbors: split into (head, feature), not (feature, head).",
            lambda x, h: x.unflatten(-1, (-1, h)).movedim(-1, 1),
        ),
        "heads-reversed": wrong(
            "头的次序反了：第 1 个头得到开头的那些特征。",
            "The heads come in the wrong order: head 1 gets the first features.",
            lambda x, h: split_heads(x, h).flip(1),
        ),
        "features-before-positions": wrong(
            "最后两个轴换了：位置在前，特征在后。",
            "The last two axes are swapped: positions first, then features.",
            lambda x, h: split_heads(x, h).mT,
        ),
        "heads-first": wrong(
            "批量的轴要留在最前。",
            "The batch axis stays first.",
            lambda x, h: split_heads(x, h).transpose(0, 1),
        ),
        "batch-lost": wrong(
            "批量的轴不见了。", "The batch axis is gone.", lambda x, h: split_heads(x, h)[0]
        ),
        "batch-and-heads-joined": wrong(
            "批量与头并成了一个轴：它们要各占一个。",
            "Batch and heads were joined into one axis: each has its own.",
            lambda x, h: split_heads(x, h).flatten(0, 1),
        ),
        "copied-to-every-head": wrong(
            "每个头都得到了全部特征：要分给它们。",
            "Every head gets all features: share them out.",
            lambda x, h: x[:, None].expand(-1, h, -1, -1),
        ),
        "positions-split": wrong(
            "切开的是位置：要切的是特征。",
            "The positions are split: it is the features that should be.",
            lambda x, h: x.unflatten(1, (h, -1)),
        ),
        "sizes-mixed-up": wrong(
            "头数与每个头的特征数弄混了：一共 num_heads 个头，每个有 d_model / num_heads 个特征。",
            "The number of heads is mixed up with their size: there are num_heads heads with"
            " d_model / num_heads features each.",
            lambda x, h: split_heads(x, x.shape[-1] // h),
        ),
    },
)


# --- merge-heads -------------------------------------------------------------------------------


MERGE_HEADS = exercise(
    "merge-heads",
    "写 `merge_heads(heads)`：`split_heads` 的逆，从（批量，头，位置，特征）到（批量，位置，"
    "特征）。",
    "Write `merge_heads(heads)`, the inverse of `split_heads`: from (batch, head, position,"
    " feature) to (batch, position, feature).",
    solution=merge_heads,
    probes=lambda: [
        probe((torch.randn(1, 2, 3, 2),)),
        probe((torch.randn(2, 3, 5, 4),)),
        probe((torch.randn(2, 1, 3, 4),), *hints.ONE_HEAD),
        probe(
            (torch.randn(1, 2, 1, 3),), "只有一句，只有一个词", "there is one sentence of one word"
        ),
        probe(
            (torch.randn(1, 4, 4, 2),), "头数与位置数相等", "there are as many heads as positions"
        ),
    ],
    mistakes={
        "view-instead-of-swap": wrong(
            "合并之前要先把头和位置换回来；不换，一个位置的输出就由别的位置拼成，未来也会漏进来。",
            "Swap heads and positions back before merging; otherwise the output of a position is"
            " put together from others, and the future leaks in as well.",
            lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
        ),
        "features-dealt-out": wrong(
            "一个头的特征要连在一起：合并前的次序是（头，特征），不是（特征，头）。",
            "The features of a head stay together: before merging, the order is (head, feature),"
            " not (feature, head).",
            lambda heads: heads.permute(0, 2, 3, 1).flatten(-2),
        ),
        "heads-added": wrong(
            "各个头是并排拼接的，不是相加。",
            "The heads are put side by side, not added up.",
            lambda heads: heads.sum(dim=1),
        ),
        "heads-averaged": wrong(
            "各个头是并排拼接的，不是平均。",
            "The heads are put side by side, not averaged.",
            lambda heads: heads.mean(dim=1),
        ),
        "not-merged": wrong(
            "换了轴，还没有合并：把最后两个轴拉平。",
            "Swapped, but not merged yet: flatten the last two axes.",
            lambda heads: heads.transpose(1, 2),
        ),
        "positions-merged": wrong(
            "头接到了位置的轴上：要并进特征的轴。",
            "The heads were joined with the axis of the positions: it is that of the features.",
            lambda heads: heads.flatten(1, 2),
        ),
        "first-head-alone": wrong(
            "只取了第一个头。", "Only the first head is taken.", lambda heads: heads[:, 0]
        ),
        "heads-reversed": wrong(
            "头的次序反了：第 1 个头的特征在最前。",
            "The heads come in the wrong order: the features of head 1 come first.",
            lambda heads: merge_heads(heads.flip(1)),
        ),
        "batch-lost": wrong(
            "只有一句时，`squeeze` 把批量的轴也去掉了。",
            "Where there is one sentence, `squeeze` removes the batch axis as well.",
            lambda heads: merge_heads(heads).squeeze(0),
        ),
    },
)

EXERCISES = (CAUSAL_SELF_ATTENTION, SPLIT_HEADS, MERGE_HEADS)
