"""Exercises on the Transformer's layers: norms, and a mask in both modes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import causal_mask, dot_product_attention
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import (
    Answer,
    Law,
    Named,
    Probe,
    exercise,
    probe,
    whole,
    wrong,
)
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- layer-norm --------------------------------------------------------------------------------

_EPSILON = 1e-5


def _to_normalize() -> Iterator[Probe]:
    yield probe((3 * torch.randn(3, 4) + 1, torch.ones(4), torch.zeros(4)))
    yield probe((torch.randn(2, 5, 8), torch.rand(8) + 0.5, torch.randn(8)))
    yield probe((torch.randn(4, 4), torch.rand(4) + 0.5, torch.randn(4)))
    constant = torch.tensor([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]])
    yield probe(
        (constant, torch.rand(3) + 0.5, torch.randn(3)),
        "有的词各个特征都相等",
        "all features of some words are equal",
    )
    shifted = torch.tensor([[4096.0, 4096.5, 4097.0, 4095.5], [-8000.0, -8000.5, -7999.5, -8000.0]])
    yield probe(
        (shifted, torch.rand(4) + 0.5, torch.randn(4)),
        "特征离 0 很远，彼此很近",
        "the features are far from 0 and close to each other",
    )
    yield probe(
        (3e-3 * torch.randn(2, 5), torch.rand(5) + 0.5, torch.randn(5)),
        "特征很小，ε 看得出来",
        "the features are small, and ε shows",
    )


def _over(x: Tensor, axes: tuple[int, ...], correction: int = 0) -> Tensor:
    mean = x.mean(dim=axes, keepdim=True)
    return (x - mean) / (x.var(dim=axes, keepdim=True, correction=correction) + _EPSILON).sqrt()


def _with_epsilon(epsilon: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    return lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, epsilon)


def _plain(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=_EPSILON)


def _nobody_peeks(answer: Answer) -> Finding | None:
    x, gain, bias = torch.randn(4, 6), torch.ones(6), torch.zeros(6)
    later = x.clone()
    later[-1] += 1 + torch.randn(6)
    moved = (answer(x, gain, bias) - answer(later, gain, bias))[:-1].abs().max()
    if moved < 1e-5:
        return None
    return Finding(
        {"x": x, "gain": gain, "bias": bias},
        Bilingual(
            "只改最后一个词，前面的输出不动", "with another last word, the same earlier outputs"
        ),
        Bilingual(f"前面的输出动了 {moved:.3f}", f"earlier outputs that move by {moved:.3f}"),
    )


LAYER_NORM = exercise(
    "layer-norm",
    "写 `norm(x, gain, bias)`：层归一化，x 的最后两个轴是（位置，特征）；ε = 1e-5，在根号里面与方"
    "差相加。",
    "Write `norm(x, gain, bias)`: layer normalization; the last two axes of x are (position,"
    " feature), and ε = 1e-5 is added to the variance, inside the root.",
    solution=lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, _EPSILON),
    probes=_to_normalize,
    mistakes={
        "over-time": wrong(
            "平均和方差里有别的词，未来漏进了过去：只沿最后一个轴（特征）归一化。",
            "Mean and variance contain other words, and the future leaks into the past: normalize"
            " over the last axis, the features, alone.",
            lambda x, g, b: _over(x, (-2, -1)) * g + b,
            lambda x, g, b: _over(x, (-2,)) * g + b,
        ),
        "over-batch": wrong(
            "这是批量归一化：一个词的结果取决于同一批的别的句子。",
            "This is batch normalization: the result of a word depends on the other sentences of"
            " its batch.",
            lambda x, g, b: _over(x, tuple(range(x.ndim - 1))) * g + b,
        ),
        "unbiased-variance": wrong(
            "方差除以的是特征数 d，不是 d − 1（`correction=0`）。",
            "The variance is divided by the number of features d, not by d − 1 (`correction=0`).",
            lambda x, g, b: _over(x, (-1,), correction=1) * g + b,
        ),
        "divided-by-variance": wrong(
            "除以的是标准差，不是方差。",
            "Divide by the standard deviation, not the variance.",
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True))
                / (x.var(dim=-1, keepdim=True, correction=0) + _EPSILON)
                * g
                + b
            ),
        ),
        "not-centered": wrong(
            "还没有减去平均。",
            "The mean has not been subtracted.",
            lambda x, g, b: (
                x / (x.var(dim=-1, keepdim=True, correction=0) + _EPSILON).sqrt() * g + b
            ),
        ),
        "no-epsilon": wrong(
            "没有 ε：一个词的各个特征相等时方差为 0，结果是 0/0。",
            "There is no ε: where all features of a word are equal the variance is 0, and this is"
            " 0/0.",
            _with_epsilon(0.0),
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True, correction=0) * g
                + b
            ),
        ),
        "epsilon-outside": wrong(
            "ε 加在了根号外面：它与方差相加，再开根号。",
            "ε was added outside of the root: add it to the variance, then take the root.",
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True))
                / (x.std(dim=-1, keepdim=True, correction=0) + _EPSILON)
                * g
                + b
            ),
        ),
        "other-epsilon": wrong(
            "ε 应当是 1e-5。",
            "ε should be 1e-5.",
            _with_epsilon(1e-6),
            _with_epsilon(1e-8),
            _with_epsilon(1e-3),
        ),
        "no-gain-no-bias": wrong(
            "增益和偏置都没有用上。", "Neither gain nor bias is used.", lambda x, g, b: _plain(x)
        ),
        "no-gain": wrong("增益没有用上。", "The gain is not used.", lambda x, g, b: _plain(x) + b),
        "no-bias": wrong("偏置没有用上。", "The bias is not used.", lambda x, g, b: _plain(x) * g),
        "bias-before-gain": wrong(
            "先乘增益，再加偏置。",
            "Multiply by the gain first, then add the bias.",
            lambda x, g, b: (_plain(x) + b) * g,
        ),
        "gain-plus-one": wrong(
            "乘以增益本身，不是 1 加增益。",
            "Multiply by the gain itself, not by 1 plus it.",
            lambda x, g, b: _plain(x) * (1 + g) + b,
        ),
        "gain-and-bias-swapped": wrong(
            "增益与偏置对调了。", "Gain and bias are swapped.", lambda x, g, b: _plain(x) * b + g
        ),
        "root-mean-square": wrong(
            "这是 RMSNorm：层归一化先减去平均。",
            "This is RMSNorm: layer normalization subtracts the mean first.",
            lambda x, g, b: x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON).sqrt() * g + b,
        ),
        "not-divided": wrong(
            "还没有除以标准差。",
            "Nothing is divided by the standard deviation.",
            lambda x, g, b: (x - x.mean(dim=-1, keepdim=True)) * g + b,
        ),
        "unit-length": wrong(
            "除以的是长度，应当除以标准差：差一个因子 √d。",
            "Divided by the length, not by the standard deviation: they differ by a factor of √d.",
            lambda x, g, b: F.normalize(x - x.mean(dim=-1, keepdim=True), dim=-1) * g + b,
        ),
    },
    laws=(
        Law(
            "nobody-peeks",
            Bilingual(
                "每个词的归一化只看它自己。", "The norm of a word looks at nothing but that word."
            ),
            _nobody_peeks,
        ),
    ),
)


# --- post-norm ---------------------------------------------------------------------------------

Layer = Callable[[Tensor], Tensor]


def _sublayers() -> Iterator[Probe]:
    W, norm = torch.randn(4, 4), Named("layer_norm", lambda x: F.layer_norm(x, x.shape[-1:]))
    yield probe((torch.randn(3, 4), Named("linear", lambda x: x @ W), norm))
    yield probe((torch.randn(2, 5, 4), Named("tanh", torch.tanh), norm))


POST_NORM = exercise(
    "post-norm",
    "写 `add_norm(x, sublayer, norm)`：后置归一化的一个子层，次序同 2017 年的论文。",
    "Write `add_norm(x, sublayer, norm)`: one sublayer with post-norm, in the order of the paper"
    " of 2017.",
    solution=lambda x, sublayer, norm: norm(x + sublayer(x)),
    probes=_sublayers,
    mistakes={
        "pre-norm": wrong(
            "这是前置归一化：后置的先相加，再归一化。",
            "This is pre-norm: with post-norm, add first and normalize the sum.",
            lambda x, f, norm: x + f(norm(x)),
        ),
        "no-residual": wrong(
            "残差不见了：x 没有加回来。",
            "The residual is missing: x is not added back.",
            lambda x, f, norm: norm(f(x)),
        ),
        "sum-not-normalized": wrong(
            "归一化的只是子层的输出；该归一化的是相加之后的和。",
            "Only the sublayer's output is normalized; it should be the sum.",
            lambda x, f, norm: x + norm(f(x)),
        ),
        "normalized-path": wrong(
            "残差那条路也被归一化了，而和没有。",
            "The residual path is normalized as well, and the sum is not.",
            lambda x, f, norm: norm(x) + f(norm(x)),
        ),
        "no-norm": wrong("还没有归一化。", "Nothing is normalized.", lambda x, f, norm: x + f(x)),
        "residual-normalized": wrong(
            "归一化的只是残差；该归一化的是相加之后的和。",
            "Only the residual is normalized; it should be the sum.",
            lambda x, f, norm: norm(x) + f(x),
        ),
        "norm-twice": wrong(
            "归一化了两次：子层的输入不归一化。",
            "Normalized twice: the sublayer's input is not.",
            lambda x, f, norm: norm(x + f(norm(x))),
        ),
        "multiplied": wrong(
            "残差是相加，不是相乘。",
            "A residual is added, not multiplied.",
            lambda x, f, norm: norm(x * f(x)),
        ),
    },
)


# --- causal-in-both-modes ----------------------------------------------------------------------


def _both_modes() -> Iterator[Probe]:
    x = torch.randn(3, 4)
    yield probe((x, True), "是训练模式", "the mode is training")
    yield probe((x, False), "是评估模式", "the mode is evaluation")
    yield probe((torch.randn(2, 5, 4), True))
    yield probe((torch.randn(2, 5, 4), False))
    yield probe((torch.randn(1, 3), True), *hints.ONE_WORD)
    yield probe((whole(3, 4, most=60), False), *hints.LARGE_SCORES)


def _causal(x: Tensor, training: bool, *, ahead: int = 0) -> Tensor:
    return dot_product_attention(x, x, x, causal_mask(x.shape[-2], offset=ahead))


def _in_training_only(x: Tensor, training: bool) -> Tensor:
    return _causal(x, training) if training else dot_product_attention(x, x, x)


def _of_scores(weigh: Callable[[Tensor], Tensor], power: float = -0.5) -> Callable[..., Tensor]:
    def decode(x: Tensor, training: bool) -> Tensor:
        return weigh(x @ x.mT * x.shape[-1] ** power) @ x

    return decode


def _masked(scores: Tensor) -> Tensor:
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def _upside_down(scores: Tensor) -> Tensor:
    earlier = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    return scores.masked_fill(earlier, -torch.inf).softmax(dim=-1)


def _future_is_hidden(answer: Answer) -> Finding | None:
    x = torch.randn(4, 4)
    later = x.clone()
    later[-1] += 1 + torch.rand(4)
    for training in (True, False):
        moved = (answer(x, training) - answer(later, training))[:-1].abs().max()
        if not moved < 1e-5:
            return Finding(
                {"x": x, "training": training},
                Bilingual(
                    "只改最后一个词，前面的输出不动",
                    "with another last word, the same earlier outputs",
                ),
                Bilingual(
                    f"前面的输出动了 {moved:.3f}", f"earlier outputs that move by {moved:.3f}"
                ),
            )
    return None


CAUSAL_IN_BOTH_MODES = exercise(
    "causal-in-both-modes",
    "写 `decode(x, training)`：以 x（位置，特征）为查询、键和值的因果点积注意力。",
    "Write `decode(x, training)`: causal dot-product attention with x (position, feature) for"
    " queries, keys and values.",
    solution=lambda x, training: _causal(x, training),
    probes=_both_modes,
    mistakes={
        "in-training-only": wrong(
            "评估模式下没有掩码：可是算留出数据的损失、给译文打分，也在评估模式下送进整句。"
            "因果性不归 `train()` 管。",
            "No mask in evaluation mode, though held-out losses and scores run whole sentences in"
            " that mode. Causality is not for `train()` to decide.",
            _in_training_only,
        ),
        "in-evaluation-only": wrong(
            "训练时没有掩码：模型会学着抄答案。",
            "No mask in training: the model will learn to copy the answers.",
            lambda x, t: _in_training_only(x, not t),
        ),
        "off-by-one": wrong(
            "因果掩码差了一格：每个词看得见自己和前面的词，不多也不少。",
            "The causal mask is off by one: a word sees itself and the words before it, no more, no"
            " less.",
            lambda x, t: _causal(x, t, ahead=1),
            lambda x, t: _causal(x, t, ahead=-1),
        ),
        "no-mask": wrong(*hints.NO_MASK, lambda x, t: dot_product_attention(x, x, x)),
        "masked-afterwards": wrong(
            *hints.FUTURE_MASKED_LATE, _of_scores(lambda scores: scores.softmax(dim=-1).tril())
        ),
        "upside-down": wrong(*hints.UPSIDE_DOWN, _of_scores(_upside_down)),
        "not-scaled": wrong(
            "评分还没有除以 √d。",
            "The scores have not been divided by √d.",
            _of_scores(_masked, 0.0),
        ),
        "divided-by-d": wrong(
            "除以的是 √d，不是 d。", "Divide by √d, not by d.", _of_scores(_masked, -1.0)
        ),
    },
    laws=(
        Law(
            "future-is-hidden",
            Bilingual(
                "改动后面的词，前面的输出不动，两种模式都一样。",
                "A change of a later word moves no earlier output, in either mode.",
            ),
            _future_is_hidden,
        ),
    ),
)

EXERCISES = (LAYER_NORM, POST_NORM, CAUSAL_IN_BOTH_MODES)
