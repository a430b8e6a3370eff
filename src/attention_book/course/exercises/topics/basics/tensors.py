"""Exercises on tensors: broadcasting, a linear layer, a lookup in a table of embeddings."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _two_vectors() -> Iterator[Probe]:
    yield Probe((torch.tensor([1.0, 4.0]), torch.tensor([1.0, 2.0, 3.0])))
    yield Probe(
        (torch.tensor([1.0, 5.0, 2.0]), torch.tensor([0.0, 3.0, 4.0])),
        Bilingual("两个向量一样长", "the two vectors are equally long"),
    )
    single = Bilingual("有一个向量只有一个数", "one of the vectors has a single number")
    yield Probe((torch.tensor([2.0]), torch.tensor([1.0, 5.0, 2.0])), single)
    yield Probe((torch.tensor([3.0, 1.0]), torch.tensor([2.0])), single)


BROADCAST = Exercise(
    name="broadcast",
    task=Bilingual(
        "写 `differences(a, b)`：不用循环，返回所有的差 a[i] − b[j]，形状是 (len(a), len(b))。",
        "Write `differences(a, b)` without a loop: all differences a[i] − b[j], in the shape"
        " (len(a), len(b)).",
    ),
    solution=lambda a, b: a[:, None] - b[None, :],
    probes=_two_vectors,
    mistakes=(
        Mistake(
            "no-new-axis",
            lambda a, b: a - b,
            Bilingual(
                "两个向量各只有一个轴，相减是逐个对齐，不是两两配对。先用 `[:, None]` 给 `a` 添一个"
                "轴（见“张量与形状”）。",
                "Each vector has a single axis, so they are subtracted entry by entry, not in"
                " all pairs. Give `a` a second axis with `[:, None]` (section “Tensors and"
                " shapes”).",
            ),
        ),
        Mistake(
            "transposed",
            lambda a, b: a[None, :] - b[:, None],
            Bilingual(
                "行和列对调了：`a` 的下标要走第一个轴。",
                "Rows and columns are swapped: the index of `a` belongs to the first axis.",
            ),
        ),
        Mistake(
            "sign",
            lambda a, b: b[None, :] - a[:, None],
            Bilingual(
                "符号反了：要的是 a[i] − b[j]。", "The sign is wrong: a[i] − b[j] is asked for."
            ),
        ),
        Mistake(
            "added",
            lambda a, b: a[:, None] + b[None, :],
            Bilingual("要的是差，不是和。", "Differences are asked for, not sums."),
        ),
        Mistake(
            "absolute",
            lambda a, b: (a[:, None] - b[None, :]).abs(),
            Bilingual(
                "差有正有负：不要取绝对值，那是距离。",
                "A difference has a sign: its absolute value would be a distance.",
            ),
        ),
        Mistake(
            "squeezed",
            lambda a, b: (a[:, None] - b[None, :]).squeeze(),
            Bilingual(
                "一个向量只有一个数时，`squeeze` 把它的轴也去掉了：形状总是 (len(a), len(b))。",
                "Where a vector has a single number, `squeeze` removes its axis as well: the "
                "shape is always (len(a), len(b)).",
            ),
        ),
    ),
)


def _inputs_weight_bias() -> Iterator[Probe]:
    yield Probe((torch.randn(5, 3), torch.randn(2, 3), torch.randn(2)))
    yield Probe(
        (torch.randn(4, 7, 3), torch.randn(3, 3), torch.randn(3)),
        Bilingual(
            "输入是一批句子，权重矩阵是方阵", "the input is a batch, the weight matrix is square"
        ),
    )
    yield Probe(
        (torch.randn(3), torch.randn(2, 3), torch.randn(2)),
        Bilingual("输入是一个向量", "the input is a single vector"),
    )
    yield Probe(
        (torch.randn(4, 3), torch.randn(1, 3), torch.randn(1)),
        Bilingual("输出只有一个特征", "there is a single output feature"),
    )


_NO_ACTIVATION = Bilingual(
    "线性层里没有激活函数。",
    "There is no activation function in a linear layer.",
)

LINEAR_LAYER = Exercise(
    name="linear-layer",
    task=Bilingual(
        "写 `linear(x, W, b)`：与 `nn.Linear` 一样，x 的最后一个轴是特征，前面可以有任"
        "意多个轴；W 的形状是（输出特征，输入特征）。",
        "Write `linear(x, W, b)`, which does what `nn.Linear` does: the last axis of x "
        "holds the features, and any number of axes may come before it; W has the "
        "shape (output features, input features).",
    ),
    solution=lambda x, W, b: x @ W.mT + b,
    probes=_inputs_weight_bias,
    mistakes=(
        Mistake(
            "not-transposed",
            lambda x, W, b: x @ W + b,
            Bilingual(
                "W 的每一行是一个输出特征：要乘以 W 的转置（见“线性层”）。",
                "Each row of W makes one output feature: multiply by the transpose of W (section"
                " “A linear layer”).",
            ),
        ),
        Mistake(
            "no-bias",
            lambda x, W, b: x @ W.mT,
            Bilingual("少了偏置 b。", "The bias b is missing."),
        ),
        Mistake(
            "activation",
            lambda x, W, b: (x @ W.mT + b).tanh(),
            _NO_ACTIVATION,
        ),
        Mistake("activation", lambda x, W, b: (x @ W.mT + b).relu(), _NO_ACTIVATION),
        Mistake("activation", lambda x, W, b: (x @ W.mT + b).sigmoid(), _NO_ACTIVATION),
        Mistake(
            "bias-subtracted",
            lambda x, W, b: x @ W.mT - b,
            Bilingual("偏置是加上去的。", "The bias is added."),
        ),
    ),
)


def _tokens_table() -> Iterator[Probe]:
    yield Probe((torch.tensor([0, 1, 0]), torch.randn(3, 2)))
    yield Probe(
        (torch.tensor([[2, 0], [1, 2]]), torch.randn(5, 5)),
        Bilingual("词元成批，表是方的", "the tokens come as a batch and the table is square"),
    )
    yield Probe(
        (torch.tensor(2), torch.randn(3, 2)),
        Bilingual("只有一个编号，没有轴", "there is a single number, without an axis"),
    )
    yield Probe(
        (torch.tensor([[[1], [0]]]), torch.randn(3, 1)),
        Bilingual("有些轴长度是 1", "some axes have size 1"),
    )


def _add_up(tokens: Tensor, table: Tensor) -> Tensor:
    return table[tokens].sum(dim=-2)


_OWN_VECTORS = Bilingual(
    "每个词元要有自己的向量，不能加在一起。",
    "Each token gets a vector of its own; do not add them up.",
)
_ROWS = Bilingual(
    "取成了列：一个词是表里的一行（见“词嵌入”）。",
    "These are columns: a word is one row of the table (section “An embedding”).",
)

EMBEDDING = Exercise(
    name="embedding",
    task=Bilingual(
        "写 `embed(tokens, table)`：每个词元的编号换成表里的那一行；词元可以有任意多个轴。",
        "Write `embed(tokens, table)`, which replaces each token's number by that row of the"
        " table; tokens may have any number of axes.",
    ),
    solution=lambda tokens, table: table[tokens],
    probes=_tokens_table,
    mistakes=(
        Mistake(
            "columns",
            lambda tokens, table: table[:, tokens],
            _ROWS,
        ),
        Mistake("columns", lambda tokens, table: table.mT[tokens], _ROWS),
        Mistake("added-up", _add_up, _OWN_VECTORS),
        Mistake("added-up", lambda tokens, table: table[tokens].mean(dim=-2), _OWN_VECTORS),
        Mistake(
            "first-rows",
            lambda tokens, table: table[: tokens.shape[-1]].expand(*tokens.shape, -1),
            Bilingual(
                "取的是表的前几行，没有看词元的编号。",
                "These are the first rows of the table; the tokens' numbers were not used.",
            ),
        ),
        Mistake(
            "counted-from-one",
            lambda tokens, table: table[tokens - 1],
            Bilingual(
                "编号从 0 数起：编号 0 是第一行。",
                "Numbers count from 0: number 0 is the first row.",
            ),
        ),
        Mistake(
            "axes-lost",
            lambda tokens, table: table[tokens.flatten()],
            Bilingual(
                "词元的各个轴要保留：结果的形状是词元的形状，后面再加一个特征的轴。",
                "Keep the axes of the tokens: the result has the shape of the tokens, and one "
                "more axis for the features.",
            ),
        ),
        Mistake(
            "id-zero-lost",
            lambda tokens, table: table[tokens] * (tokens != 0)[..., None],
            Bilingual(
                "编号 0 也是一个词元，表里也有它的一行。",
                "Number 0 is a token like any other, with a row of its own.",
            ),
        ),
    ),
)

EXERCISES = (BROADCAST, LINEAR_LAYER, EMBEDDING)
