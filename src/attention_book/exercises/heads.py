"""Exercises on heads: splitting features, merging them again, and one head that looks back."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, masked_softmax, merge_heads, split_heads
from attention_book.exercises.exercise import Exercise, Mistake, Probe
from attention_book.exercises.words import Words


def _vectors_and_heads() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 3, 4), 2))
    yield Probe((torch.randn(2, 5, 12), 3))
    yield Probe(
        (torch.randn(1, 4, 8), 4),
        Words("头数与位置数相等", "there are as many heads as positions"),
    )


def _split_by_view(x: Tensor, num_heads: int) -> Tensor:
    batch, position, d_model = x.shape
    return x.reshape(batch, num_heads, position, d_model // num_heads)


def _split_without_swap(x: Tensor, num_heads: int) -> Tensor:
    parts: Tensor = x.unflatten(-1, (num_heads, -1))
    return parts


def _split_interleaved(x: Tensor, num_heads: int) -> Tensor:
    parts: Tensor = x.unflatten(-1, (-1, num_heads))
    return parts.movedim(-1, 1)


SPLIT_HEADS = Exercise(
    name="split-heads",
    task=Words(
        "写 `split_heads(x, num_heads)`：从（批量，位置，特征）到（批量，头，位置，特征），"
        "第 1 个头得到开头的那些特征。",
        "Write `split_heads(x, num_heads)`: from (batch, position, feature) to (batch, head,"
        " position, feature), where head 1 gets the first features.",
    ),
    solution=split_heads,
    probes=_vectors_and_heads,
    mistakes=(
        Mistake(
            "view-instead-of-swap",
            _split_by_view,
            Words(
                "形状对了，内容错了：`view` 按内存里的次序重排，一个头里混进了别的位置。"
                "先把特征轴拆成（头，特征），再交换头与位置两个轴。",
                "The shape is right and the contents are not: `view` goes by the order in"
                " memory, and a head gets a mixture of positions. Split the feature axis into"
                " (head, feature) first, then swap the axes of heads and positions.",
            ),
        ),
        Mistake(
            "no-swap",
            _split_without_swap,
            Words(
                "拆开了，还没有换轴：头的轴要排在位置之前。",
                "Split, but not swapped: the axis of the heads comes before that of the positions.",
            ),
        ),
        Mistake(
            "features-dealt-out",
            _split_interleaved,
            Words(
                "特征像发牌一样轮流分给了各个头；应当是连续的一段归一个头：拆成（头，特征），"
                "不是（特征，头）。",
                "The features are dealt out to the heads in turn; each head should get a run of"
                " neighbours: split into (head, feature), not (feature, head).",
            ),
        ),
    ),
)


def _heads() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 2, 3, 2),))
    yield Probe((torch.randn(2, 3, 5, 4),))
    yield Probe(
        (torch.randn(1, 4, 4, 2),),
        Words("头数与位置数相等", "there are as many heads as positions"),
    )


def _merged_by_view(heads: Tensor) -> Tensor:
    batch, num_heads, position, d_k = heads.shape
    return heads.reshape(batch, position, num_heads * d_k)


def _merged_interleaved(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(-2)


def _added_up(heads: Tensor) -> Tensor:
    return heads.sum(dim=1)


MERGE_HEADS = Exercise(
    name="merge-heads",
    task=Words(
        "写 `merge_heads(heads)`：`split_heads` 的逆，"
        "从（批量，头，位置，特征）到（批量，位置，特征）。",
        "Write `merge_heads(heads)`, the inverse of `split_heads`: from (batch, head, position,"
        " feature) to (batch, position, feature).",
    ),
    solution=merge_heads,
    probes=_heads,
    mistakes=(
        Mistake(
            "view-instead-of-swap",
            _merged_by_view,
            Words(
                "合并之前要先把头和位置换回来；不换，一个位置的输出就由别的位置拼成，未来也会漏进来。",
                "Swap heads and positions back before merging; otherwise the output of a position"
                " is put together from others, and the future leaks in as well.",
            ),
        ),
        Mistake(
            "features-dealt-out",
            _merged_interleaved,
            Words(
                "一个头的特征要连在一起：合并前的次序是（头，特征），不是（特征，头）。",
                "The features of a head stay together: before merging, the order is (head,"
                " feature), not (feature, head).",
            ),
        ),
        Mistake(
            "heads-added",
            _added_up,
            Words(
                "各个头是并排拼接的，不是相加。",
                "The heads are put side by side, not added up.",
            ),
        ),
    ),
)


def _words_and_projections() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 4), *torch.randn(3, 4, 4)))
    yield Probe((torch.randn(5, 8), torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 6)))


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


_OFF_BY_ONE = Words(
    "因果掩码差了一格：第 i 个词可以看第 1 到第 i 个，包括它自己。",
    "The causal mask is off by one: word i may see the words 1 to i, itself included.",
)

CAUSAL_SELF_ATTENTION = Exercise(
    name="causal-self-attention",
    task=Words(
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
            Words("没有掩码：每个词都看见了未来。", "No mask: every word sees the future."),
        ),
        Mistake(
            "masked-afterwards",
            _masked_afterwards,
            Words(
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
            Words(
                "掩码上下颠倒，每个词只看得见自己和未来：要 `tril`，不要 `triu`。",
                "The mask is upside down, and a word sees itself and the future: take `tril`, not"
                " `triu`.",
            ),
        ),
        Mistake(
            "divided-by-d",
            _divided_by_d,
            Words("除以的是 √d_k，不是 d_k。", "Divide by √d_k, not by d_k."),
        ),
        Mistake(
            "not-scaled",
            _unscaled,
            Words("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
    ),
)

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, CAUSAL_SELF_ATTENTION)
