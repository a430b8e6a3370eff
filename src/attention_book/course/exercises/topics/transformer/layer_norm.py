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
    constant = torch.tensor([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]])
    yield Probe(
        (constant, torch.rand(3) + 0.5, torch.randn(3)),
        Bilingual("有的词各个特征都相等", "all features of some words are equal"),
    )
    yield Probe(
        (3e-3 * torch.randn(2, 5), torch.rand(5) + 0.5, torch.randn(5)),
        Bilingual("特征很小，ε 看得出来", "the features are small, and ε shows"),
    )


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


def _with_epsilon(epsilon: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    return lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, epsilon)


def _without_epsilon(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    spread = x.std(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / spread * gain + bias


def _epsilon_outside(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    spread = x.std(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / (spread + _EPSILON) * gain + bias


def _plain(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=_EPSILON)


def _root_mean_square(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON).sqrt() * gain + bias


def _unit_length(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return F.normalize(x - x.mean(dim=-1, keepdim=True), dim=-1) * gain + bias


_NO_EPSILON = Bilingual(
    "没有 ε：一个词的各个特征相等时方差为 0，结果是 0/0。",
    "There is no ε: where all features of a word are equal the variance is 0, and this is 0/0.",
)
_OTHER_EPSILON = Bilingual("ε 应当是 1e-5。", "ε should be 1e-5.")


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
        "写 `norm(x, gain, bias)`：层归一化，x 的最后两个轴是（位置，特征）；ε = 1e-5，"
        "在根号里面与方差相加。",
        "Write `norm(x, gain, bias)`: layer normalization; the last two axes of x are "
        "(position, feature), and ε = 1e-5 is added to the variance, inside the root.",
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
        Mistake("no-epsilon", _with_epsilon(0.0), _NO_EPSILON),
        Mistake("no-epsilon", _without_epsilon, _NO_EPSILON),
        Mistake(
            "epsilon-outside",
            _epsilon_outside,
            Bilingual(
                "ε 加在了根号外面：它与方差相加，再开根号。",
                "ε was added outside of the root: add it to the variance, then take the root.",
            ),
        ),
        Mistake("other-epsilon", _with_epsilon(1e-6), _OTHER_EPSILON),
        Mistake("other-epsilon", _with_epsilon(1e-8), _OTHER_EPSILON),
        Mistake("other-epsilon", _with_epsilon(1e-3), _OTHER_EPSILON),
        Mistake(
            "no-gain-no-bias",
            lambda x, gain, bias: _plain(x),
            Bilingual("增益和偏置都没有用上。", "Neither gain nor bias is used."),
        ),
        Mistake(
            "no-gain",
            lambda x, gain, bias: _plain(x) + bias,
            Bilingual("增益没有用上。", "The gain is not used."),
        ),
        Mistake(
            "no-bias",
            lambda x, gain, bias: _plain(x) * gain,
            Bilingual("偏置没有用上。", "The bias is not used."),
        ),
        Mistake(
            "bias-before-gain",
            lambda x, gain, bias: (_plain(x) + bias) * gain,
            Bilingual("先乘增益，再加偏置。", "Multiply by the gain first, then add the bias."),
        ),
        Mistake(
            "gain-plus-one",
            lambda x, gain, bias: _plain(x) * (1 + gain) + bias,
            Bilingual(
                "乘以增益本身，不是 1 加增益。", "Multiply by the gain itself, not by 1 plus it."
            ),
        ),
        Mistake(
            "gain-and-bias-swapped",
            lambda x, gain, bias: _plain(x) * bias + gain,
            Bilingual("增益与偏置对调了。", "Gain and bias are swapped."),
        ),
        Mistake(
            "root-mean-square",
            _root_mean_square,
            Bilingual(
                "这是 RMSNorm：层归一化先减去平均。",
                "This is RMSNorm: layer normalization subtracts the mean first.",
            ),
        ),
        Mistake(
            "not-divided",
            lambda x, gain, bias: (x - x.mean(dim=-1, keepdim=True)) * gain + bias,
            Bilingual("还没有除以标准差。", "Nothing is divided by the standard deviation."),
        ),
        Mistake(
            "unit-length",
            _unit_length,
            Bilingual(
                "除以的是长度，应当除以标准差：差一个因子 √d。",
                "Divided by the length, not by the standard deviation: they differ by a factor "
                "of √d.",
            ),
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
        Mistake(
            "no-norm",
            lambda x, sublayer, norm: x + sublayer(x),
            Bilingual("还没有归一化。", "Nothing is normalized."),
        ),
        Mistake(
            "residual-normalized",
            lambda x, sublayer, norm: norm(x) + sublayer(x),
            Bilingual(
                "归一化的只是残差；该归一化的是相加之后的和。",
                "Only the residual is normalized; it should be the sum.",
            ),
        ),
        Mistake(
            "norm-twice",
            lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
            Bilingual(
                "归一化了两次：子层的输入不归一化。",
                "Normalized twice: the sublayer's input is not.",
            ),
        ),
        Mistake(
            "multiplied",
            lambda x, sublayer, norm: norm(x * sublayer(x)),
            Bilingual("残差是相加，不是相乘。", "A residual is added, not multiplied."),
        ),
    ),
)

EXERCISES = (LAYER_NORM, POST_NORM)
