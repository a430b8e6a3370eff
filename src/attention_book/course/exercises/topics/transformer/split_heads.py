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
    yield Probe((torch.randn(2, 3, 5), 1), Bilingual("只有一个头", "there is a single head"))
    yield Probe(
        (torch.randn(1, 1, 4), 4),
        Bilingual("每个头只有一个特征", "a head has a single feature"),
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


_SIZES = Bilingual(
    "头数与每个头的特征数弄混了：一共 num_heads 个头，每个有 d_model / num_heads 个特征。",
    "The number of heads is mixed up with their size: there are num_heads heads with d_model /"
    " num_heads features each.",
)

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
        Mistake(
            "heads-reversed",
            lambda x, num_heads: split_heads(x, num_heads).flip(1),
            Bilingual(
                "头的次序反了：第 1 个头得到开头的那些特征。",
                "The heads come in the wrong order: head 1 gets the first features.",
            ),
        ),
        Mistake(
            "features-before-positions",
            lambda x, num_heads: split_heads(x, num_heads).mT,
            Bilingual(
                "最后两个轴换了：位置在前，特征在后。",
                "The last two axes are swapped: positions first, then features.",
            ),
        ),
        Mistake(
            "heads-first",
            lambda x, num_heads: split_heads(x, num_heads).transpose(0, 1),
            Bilingual("批量的轴要留在最前。", "The batch axis stays first."),
        ),
        Mistake(
            "batch-lost",
            lambda x, num_heads: split_heads(x, num_heads)[0],
            Bilingual("批量的轴不见了。", "The batch axis is gone."),
        ),
        Mistake(
            "batch-and-heads-joined",
            lambda x, num_heads: split_heads(x, num_heads).flatten(0, 1),
            Bilingual(
                "批量与头并成了一个轴：它们要各占一个。",
                "Batch and heads were joined into one axis: each has its own.",
            ),
        ),
        Mistake(
            "copied-to-every-head",
            lambda x, num_heads: x[:, None].expand(-1, num_heads, -1, -1),
            Bilingual(
                "每个头都得到了全部特征：要分给它们。",
                "Every head gets all features: share them out.",
            ),
        ),
        Mistake(
            "positions-split",
            lambda x, num_heads: x.unflatten(1, (num_heads, -1)),
            Bilingual(
                "切开的是位置：要切的是特征。",
                "The positions are split: it is the features that should be.",
            ),
        ),
        Mistake(
            "sizes-mixed-up", lambda x, num_heads: split_heads(x, x.shape[-1] // num_heads), _SIZES
        ),
    ),
)


def _heads() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 2, 3, 2),))
    yield Probe((torch.randn(2, 3, 5, 4),))
    yield Probe((torch.randn(2, 1, 3, 4),), Bilingual("只有一个头", "there is a single head"))
    yield Probe(
        (torch.randn(1, 2, 1, 3),),
        Bilingual("只有一句，只有一个词", "there is one sentence of one word"),
    )
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


_POSITIONS = Bilingual(
    "头接到了位置的轴上：要并进特征的轴。",
    "The heads were joined with the axis of the positions: it is that of the features.",
)


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
        Mistake(
            "heads-averaged",
            lambda heads: heads.mean(dim=1),
            Bilingual(
                "各个头是并排拼接的，不是平均。", "The heads are put side by side, not averaged."
            ),
        ),
        Mistake(
            "not-merged",
            lambda heads: heads.transpose(1, 2),
            Bilingual(
                "换了轴，还没有合并：把最后两个轴拉平。",
                "Swapped, but not merged yet: flatten the last two axes.",
            ),
        ),
        Mistake("positions-merged", lambda heads: heads.flatten(1, 2), _POSITIONS),
        Mistake(
            "first-head-alone",
            lambda heads: heads[:, 0],
            Bilingual("只取了第一个头。", "Only the first head is taken."),
        ),
        Mistake(
            "heads-reversed",
            lambda heads: merge_heads(heads.flip(1)),
            Bilingual(
                "头的次序反了：第 1 个头的特征在最前。",
                "The heads come in the wrong order: the features of head 1 come first.",
            ),
        ),
        Mistake(
            "batch-lost",
            lambda heads: merge_heads(heads).squeeze(0),
            Bilingual(
                "只有一句时，`squeeze` 把批量的轴也去掉了。",
                "Where there is one sentence, `squeeze` removes the batch axis as well.",
            ),
        ),
    ),
)


EXERCISES = (SPLIT_HEADS, MERGE_HEADS)
