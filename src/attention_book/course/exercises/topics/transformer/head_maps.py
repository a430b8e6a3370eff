"""An exercise on what a head looks at: its weight on the previous word."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, masked_softmax
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _maps() -> Iterator[Probe]:
    yield Probe((torch.randn(2, 4, 4).softmax(dim=-1),))
    yield Probe((torch.randn(3, 5, 5).softmax(dim=-1),))
    yield Probe(
        (masked_softmax(torch.randn(2, 4, 4), causal_mask(4)),),
        Bilingual("权重是因果的", "the weights are causal"),
    )
    yield Probe(
        (torch.randn(1, 2, 2).softmax(dim=-1),),
        Bilingual("只有一个头、两个词", "there are one head and two words"),
    )


def _on_previous(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def _on_next(weights: Tensor) -> Tensor:
    return weights.diagonal(1, dim1=-2, dim2=-1).mean(dim=-1)


def _on_itself(weights: Tensor) -> Tensor:
    return weights.diagonal(0, dim1=-2, dim2=-1).mean(dim=-1)


def _first_counted(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1) / weights.shape[-1]


def _first_wraps(weights: Tensor) -> Tensor:
    return weights.roll(1, dims=-1).diagonal(0, dim1=-2, dim2=-1).mean(dim=-1)


def _heads_mixed(weights: Tensor) -> Tensor:
    return _on_previous(weights).mean().expand(len(weights))


def _before(weights: Tensor) -> Tensor:
    """Return each query's weight on all earlier words."""
    return weights.tril(-1).sum(dim=-1)


def _most_on_previous(weights: Tensor) -> Tensor:
    previous = torch.arange(weights.shape[-1] - 1)
    return (weights.argmax(dim=-1)[:, 1:] == previous).float().mean(dim=-1)


_ALL_BEFORE = Bilingual(
    "前面所有的词都算进来了：只要紧挨着的一个。",
    "All earlier words are counted: only the one right before is asked for.",
)
_OWN_HEADS = Bilingual("各个头不要平均到一起。", "Do not average over the heads.")
_FIRST = Bilingual(
    "第一个词没有前一个词：平均只取其余的 n − 1 个查询。",
    "The first word has no previous one: take the mean over the other n − 1 queries.",
)

PREVIOUS_WEIGHT = Exercise(
    name="previous-weight",
    task=Bilingual(
        "写 `on_previous(weights)`：每个头平均把多少权重放在前一个词上；"
        "weights 的形状是（头，查询，键），返回（头）。",
        "Write `on_previous(weights)`: how much weight each head puts on the previous word on"
        " average; weights has the shape (head, query, key), the result (head).",
    ),
    solution=_on_previous,
    probes=_maps,
    mistakes=(
        Mistake(
            "next-word",
            _on_next,
            Bilingual(
                "这是后一个词：行是查询，列是键，前一个在对角线的下方。",
                "That is the next word: rows are queries, columns keys, and the previous one is"
                " below the diagonal.",
            ),
        ),
        Mistake(
            "own-word",
            _on_itself,
            Bilingual(
                "这是词自己：要对角线下方的一条。",
                "That is the word itself: take the diagonal below.",
            ),
        ),
        Mistake("first-counted", _first_counted, _FIRST),
        Mistake("first-counted", _first_wraps, _FIRST),
        Mistake(
            "heads-mixed",
            _heads_mixed,
            _OWN_HEADS,
        ),
        Mistake("heads-mixed", lambda weights: _on_previous(weights).mean(), _OWN_HEADS),
        Mistake(
            "sum",
            lambda weights: weights.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1),
            Bilingual(
                "加起来了，还没有除以个数。", "This is the sum: divide by how many there are."
            ),
        ),
        Mistake(
            "largest",
            lambda weights: weights.diagonal(-1, dim1=-2, dim2=-1).amax(dim=-1),
            Bilingual("要的是平均，不是最大的一个。", "The mean is asked for, not the largest."),
        ),
        Mistake(
            "two-before",
            lambda weights: weights.diagonal(-2, dim1=-2, dim2=-1).mean(dim=-1),
            Bilingual(
                "差了一格：这是前面第二个词。", "Off by one: this is the word two places before."
            ),
        ),
        Mistake("all-before", lambda weights: _before(weights).mean(dim=-1), _ALL_BEFORE),
        Mistake("all-before", lambda weights: _before(weights)[:, 1:].mean(dim=-1), _ALL_BEFORE),
        Mistake(
            "share-of-words",
            _most_on_previous,
            Bilingual(
                "数的是有多少个词最看重前一个词；要的是权重的平均。",
                "This counts for how many words the previous one weighs most; asked for is the "
                "mean weight.",
            ),
        ),
    ),
)

EXERCISES = (PREVIOUS_WEIGHT,)
