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


LINEAR_LAYER = Exercise(
    name="linear-layer",
    task=Bilingual(
        "写 `linear(x, W, b)`：与 `nn.Linear` 一样；W 的形状是（输出特征，输入特征）。",
        "Write `linear(x, W, b)`, which does what `nn.Linear` does; W has the shape (output"
        " features, input features).",
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
            Bilingual(
                "线性层里没有激活函数。",
                "There is no activation function in a linear layer.",
            ),
        ),
    ),
)


def _tokens_table() -> Iterator[Probe]:
    yield Probe((torch.tensor([0, 1, 0]), torch.randn(3, 2)))
    yield Probe(
        (torch.tensor([[2, 0], [1, 2]]), torch.randn(5, 5)),
        Bilingual("词元成批，表是方的", "the tokens come as a batch and the table is square"),
    )


def _add_up(tokens: Tensor, table: Tensor) -> Tensor:
    return table[tokens].sum(dim=-2)


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
            Bilingual(
                "取成了列：一个词是表里的一行（见“词嵌入”）。",
                "These are columns: a word is one row of the table (section “An embedding”).",
            ),
        ),
        Mistake(
            "added-up",
            _add_up,
            Bilingual(
                "每个词元要有自己的向量，不能加在一起。",
                "Each token gets a vector of its own; do not add them up.",
            ),
        ),
        Mistake(
            "first-rows",
            lambda tokens, table: table[: tokens.shape[-1]].expand(*tokens.shape, -1),
            Bilingual(
                "取的是表的前几行，没有看词元的编号。",
                "These are the first rows of the table; the tokens' numbers were not used.",
            ),
        ),
    ),
)

EXERCISES = (BROADCAST, LINEAR_LAYER, EMBEDDING)
