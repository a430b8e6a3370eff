"""Exercises on the Transformer's layers: the layer norm, and where it stands."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.named import Named
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

_EPSILON = 1e-5


def _to_normalize() -> Iterator[Probe]:
    yield Probe((3 * torch.randn(3, 4) + 1, torch.ones(4), torch.zeros(4)))
    yield Probe((torch.randn(2, 5, 8), torch.rand(8) + 0.5, torch.randn(8)))
    yield Probe((torch.randn(4, 4), torch.rand(4) + 0.5, torch.randn(4)))


def _layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, bias, _EPSILON)


def _over(x: Tensor, axes: tuple[int, ...], correction: int = 0) -> Tensor:
    mean = x.mean(dim=axes, keepdim=True)
    return (x - mean) / (x.var(dim=axes, keepdim=True, correction=correction) + _EPSILON).sqrt()


def _over_time(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return _over(x, (-2,)) * gain + bias


def _over_the_sentence(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return _over(x, (-2, -1)) * gain + bias


def _over_the_batch(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return _over(x, tuple(range(x.ndim - 1))) * gain + bias


def _one_less(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return _over(x, (-1,), correction=1) * gain + bias


def _by_variance(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    mean, variance = x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (variance + _EPSILON) * gain + bias


def _not_centered(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return x / (x.var(dim=-1, keepdim=True, correction=0) + _EPSILON).sqrt() * gain + bias


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


_TIME = Bilingual(
    "平均和方差里有别的词，未来漏进了过去：只沿最后一个轴（特征）归一化。",
    "Mean and variance contain other words, and the future leaks into the past: normalize over"
    " the last axis, the features, alone.",
)

LAYER_NORM = Exercise(
    name="layer-norm",
    task=Bilingual(
        "写 `norm(x, gain, bias)`：层归一化，x 的最后两个轴是（位置，特征），ε = 1e-5。",
        "Write `norm(x, gain, bias)`: layer normalization; the last two axes of x are (position,"
        " feature), and ε = 1e-5.",
    ),
    solution=_layer_norm,
    probes=_to_normalize,
    mistakes=(
        Mistake("over-time", _over_the_sentence, _TIME),
        Mistake("over-time", _over_time, _TIME),
        Mistake(
            "over-batch",
            _over_the_batch,
            Bilingual(
                "这是批量归一化：一个词的结果取决于同一批的别的句子。",
                "This is batch normalization: the result of a word depends on the other sentences"
                " of its batch.",
            ),
        ),
        Mistake(
            "unbiased-variance",
            _one_less,
            Bilingual(
                "方差除以的是特征数 d，不是 d − 1（`correction=0`）。",
                "The variance is divided by the number of features d, not by d − 1"
                " (`correction=0`).",
            ),
        ),
        Mistake(
            "divided-by-variance",
            _by_variance,
            Bilingual(
                "除以的是标准差，不是方差。", "Divide by the standard deviation, not the variance."
            ),
        ),
        Mistake(
            "not-centered",
            _not_centered,
            Bilingual("还没有减去平均。", "The mean has not been subtracted."),
        ),
    ),
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

Layer = Callable[[Tensor], Tensor]


def _sublayers() -> Iterator[Probe]:
    W, norm = torch.randn(4, 4), Named("layer_norm", lambda x: F.layer_norm(x, x.shape[-1:]))
    yield Probe((torch.randn(3, 4), Named("linear", lambda x: x @ W), norm))
    yield Probe((torch.randn(2, 5, 4), Named("tanh", torch.tanh), norm))


def _post_norm(x: Tensor, sublayer: Layer, norm: Layer) -> Tensor:
    return norm(x + sublayer(x))


def _pre_norm(x: Tensor, sublayer: Layer, norm: Layer) -> Tensor:
    return x + sublayer(norm(x))


def _no_residual(x: Tensor, sublayer: Layer, norm: Layer) -> Tensor:
    return norm(sublayer(x))


def _norm_inside(x: Tensor, sublayer: Layer, norm: Layer) -> Tensor:
    return x + norm(sublayer(x))


def _normalized_path(x: Tensor, sublayer: Layer, norm: Layer) -> Tensor:
    return norm(x) + sublayer(norm(x))


POST_NORM = Exercise(
    name="post-norm",
    task=Bilingual(
        "写 `add_norm(x, sublayer, norm)`：后置归一化的一个子层，次序同 2017 年的论文。",
        "Write `add_norm(x, sublayer, norm)`: one sublayer with post-norm, in the order of the"
        " paper of 2017.",
    ),
    solution=_post_norm,
    probes=_sublayers,
    mistakes=(
        Mistake(
            "pre-norm",
            _pre_norm,
            Bilingual(
                "这是前置归一化：后置的先相加，再归一化。",
                "This is pre-norm: with post-norm, add first and normalize the sum.",
            ),
        ),
        Mistake(
            "no-residual",
            _no_residual,
            Bilingual(
                "残差不见了：x 没有加回来。", "The residual is missing: x is not added back."
            ),
        ),
        Mistake(
            "sum-not-normalized",
            _norm_inside,
            Bilingual(
                "归一化的只是子层的输出；该归一化的是相加之后的和。",
                "Only the sublayer's output is normalized; it should be the sum.",
            ),
        ),
        Mistake(
            "normalized-path",
            _normalized_path,
            Bilingual(
                "残差那条路也被归一化了，而和没有。",
                "The residual path is normalized as well, and the sum is not.",
            ),
        ),
    ),
)

EXERCISES = (LAYER_NORM, POST_NORM)
