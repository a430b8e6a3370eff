"""Exercises on heads: splitting the features among them, and merging them again."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import merge_heads, split_heads
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _vectors_and_heads() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 3, 4), 2))
    yield Probe((torch.randn(2, 5, 12), 3))
    yield Probe(
        (torch.randn(1, 4, 8), 4),
        Bilingual("头数与位置数相等", "there are as many heads as positions"),
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
    task=Bilingual(
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
            Bilingual(
                "形状对了，内容错了：`view` 只按内存里的次序切分，一个头里混进了别的位置。"
                "先把特征轴拆成（头，特征），再交换头与位置两个轴。",
                "The shape is right and the contents are not: `view` goes by the order in"
                " memory, and a head gets a mixture of positions. Split the feature axis into"
                " (head, feature) first, then swap the axes of heads and positions.",
            ),
        ),
        Mistake(
            "no-swap",
            _split_without_swap,
            Bilingual(
                "拆开了，还没有换轴：头的轴要排在位置之前。",
                "Split, but not swapped: the axis of the heads comes before that of the positions.",
            ),
        ),
        Mistake(
            "features-dealt-out",
            _split_interleaved,
            Bilingual(
                "特征像发牌一样轮流分给了各个头；应当是连续的一段归一个头：拆成（头，特征），"
                "不是（特征，头）。",
                "The features are dealt out to the heads in turn; each head should get a run of"
                " neighbors: split into (head, feature), not (feature, head).",
            ),
        ),
    ),
)


def _heads() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 2, 3, 2),))
    yield Probe((torch.randn(2, 3, 5, 4),))
    yield Probe(
        (torch.randn(1, 4, 4, 2),),
        Bilingual("头数与位置数相等", "there are as many heads as positions"),
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
    task=Bilingual(
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
            Bilingual(
                "合并之前要先把头和位置换回来；不换，一个位置的输出就由别的位置拼成，未来也会漏进来。",
                "Swap heads and positions back before merging; otherwise the output of a position"
                " is put together from others, and the future leaks in as well.",
            ),
        ),
        Mistake(
            "features-dealt-out",
            _merged_interleaved,
            Bilingual(
                "一个头的特征要连在一起：合并前的次序是（头，特征），不是（特征，头）。",
                "The features of a head stay together: before merging, the order is (head,"
                " feature), not (feature, head).",
            ),
        ),
        Mistake(
            "heads-added",
            _added_up,
            Bilingual(
                "各个头是并排拼接的，不是相加。",
                "The heads are put side by side, not added up.",
            ),
        ),
    ),
)


EXERCISES = (SPLIT_HEADS, MERGE_HEADS)
