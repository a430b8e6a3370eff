"""Exercises on today's decoder block: the norm by the root mean square, and the gate."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

_EPSILON = 1e-6


def _to_normalize() -> Iterator[Probe]:
    yield Probe((3 * torch.randn(3, 4) + 1, torch.ones(4)))
    yield Probe((torch.randn(2, 5, 8) - 0.5, torch.rand(8) + 0.5))
    yield Probe((torch.randn(4, 4) + 2, torch.rand(4) + 0.5))
    negative = torch.tensor([-1.5, 0.0, 2.0])
    yield Probe((torch.randn(2, 3), negative), Bilingual("gain 有负有零", "a gain of any sign"))
    yield Probe((1e-4 * torch.randn(3, 4), torch.ones(4)), Bilingual("x 很小", "x is tiny"))
    nothing = torch.cat((torch.zeros(1, 4), torch.ones(1, 4)))
    yield Probe((nothing, torch.ones(4)), Bilingual("有一行全是 0", "a row of zeros"))


def _rms_over(x: Tensor, axes: tuple[int, ...], epsilon: float = _EPSILON) -> Tensor:
    return x / (x.square().mean(dim=axes, keepdim=True) + epsilon).sqrt()


def _rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_over(x, (-1,)) * gain


def _centered(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_norm(x - x.mean(dim=-1, keepdim=True), gain)


def _by_length(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().sum(dim=-1, keepdim=True) + _EPSILON).sqrt() * gain


def _by_mean_square(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON) * gain


def _over_time(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_over(x, (-2,)) * gain


def _over_the_sentence(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_over(x, (-2, -1)) * gain


def _without_gain(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_over(x, (-1,))


def _with_epsilon(epsilon: float) -> Answer:
    return lambda x, gain: _rms_over(x, (-1,), epsilon) * gain


def _outside(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True).sqrt() + _EPSILON) * gain


def _scale_is_lost(answer: Answer) -> Finding | None:
    x, gain = torch.randn(3, 6), torch.ones(6)
    moved = (answer(x, gain) - answer(10 * x, gain)).abs().max()
    if moved < 1e-4:
        return None
    return Finding(
        {"x": x, "gain": gain},
        Bilingual("x 与 10x 得到同样的结果", "the same result for x and for 10x"),
        Bilingual(f"两者相差 {moved:.3f}", f"results that differ by {moved:.3f}"),
    )


_TIME = Bilingual(
    "别的词也算进去了，未来漏进了过去：只沿最后一个轴（特征）取平均。",
    "Other words are counted in, and the future leaks into the past: take the mean over the last"
    " axis, the features, alone.",
)

_ANOTHER = Bilingual(
    "ε 是 1e-6，要自己写明：`torch` 的默认值是另一个数，层归一化常用的 1e-5 也不是。",
    "ε is 1e-6 and has to be given: the default of `torch` is another number, and so is the 1e-5"
    " that layer norm usually takes.",
)

RMS_NORM = Exercise(
    name="rms-norm",
    task=Bilingual(
        "写 `norm(x, gain)`：RMSNorm，x 的最后两个轴是（位置，特征），ε = 1e-6，加在根号里面。",
        "Write `norm(x, gain)`: RMSNorm; the last two axes of x are (position, feature), and"
        " ε = 1e-6 stands under the root.",
    ),
    solution=_rms_norm,
    probes=_to_normalize,
    mistakes=(
        Mistake(
            "centered",
            _centered,
            Bilingual(
                "平均数不必减：减了就是（没有偏置的）层归一化。",
                "The mean is not subtracted: with it this is layer norm, without the bias.",
            ),
        ),
        Mistake(
            "divided-by-length",
            _by_length,
            Bilingual(
                "除以的是均方根，不是长度：两者差 √d 倍。",
                "Divide by the root of the mean square, not by the length; they differ by √d.",
            ),
        ),
        Mistake(
            "no-root",
            _by_mean_square,
            Bilingual("均方还没有开根号。", "The root of the mean square has not been taken."),
        ),
        Mistake("over-time", _over_time, _TIME),
        Mistake("over-time", _over_the_sentence, _TIME),
        Mistake(
            "no-gain",
            _without_gain,
            Bilingual("还没有逐特征乘以 gain。", "The features are not multiplied by gain."),
        ),
        Mistake(
            "gain-plus-one",
            lambda x, gain: _rms_norm(x, 1 + gain),
            Bilingual(
                "乘的是 gain，不是 1 + gain（有的模型存的是与 1 的差）。",
                "Multiply by gain, not by 1 + gain; some models store the difference from 1.",
            ),
        ),
        Mistake(
            "gain-added",
            lambda x, gain: _rms_over(x, (-1,)) + gain,
            Bilingual(
                "gain 是乘的；RMSNorm 没有偏置。", "The gain multiplies; RMSNorm has no bias."
            ),
        ),
        Mistake(
            "no-epsilon",
            _with_epsilon(0.0),
            Bilingual(
                "没有 ε：全 0 的一行得到 0/0，即 NaN。",
                "There is no ε: a row of zeros becomes 0/0, which is NaN.",
            ),
        ),
        Mistake(
            "epsilon-outside",
            _outside,
            Bilingual(
                "ε 加在了根号外面：应当加在均方上，再开根号。x 很小时两者相差很多。",
                "ε stands outside the root: add it to the mean square and take the root then. For"
                " tiny x the two differ widely.",
            ),
        ),
        Mistake("another-epsilon", _with_epsilon(1e-5), _ANOTHER),
        Mistake("another-epsilon", _with_epsilon(1e-8), _ANOTHER),
        Mistake("another-epsilon", _with_epsilon(torch.finfo(torch.float32).eps), _ANOTHER),
    ),
    laws=(
        Law(
            "scale-is-lost",
            Bilingual(
                "整个向量乘以一个正数，结果不变。",
                "A vector times a positive number gives the same result.",
            ),
            _scale_is_lost,
        ),
    ),
)


def _gated() -> Iterator[Probe]:
    for d_model, d_ff in ((3, 5), (4, 4), (6, 2)):
        sizes = ((d_model, d_ff), (d_model, d_ff), (d_ff, d_model))
        yield Probe((torch.randn(5, d_model), *(torch.randn(size) for size in sizes)))
    wide = (torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5, 2.0]]), torch.tensor([[1.0], [3.0]]))
    x = torch.tensor([[200.0], [0.0], [-200.0]])
    yield Probe((x, *wide), Bilingual("门全开或全关", "gates wide open or shut"))


def _swiglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (F.silu(x @ gate) * (x @ up)) @ down


def _glu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (torch.sigmoid(x @ gate) * (x @ up)) @ down


def _reglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (torch.relu(x @ gate) * (x @ up)) @ down


def _exchanged(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return _swiglu(x, up, gate, down)


def _both_bent(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return F.silu((x @ gate) * (x @ up)) @ down


def _added(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (F.silu(x @ gate) + x @ up) @ down


def _geglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (F.gelu(x @ gate) * (x @ up)) @ down


def _bilinear(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return ((x @ gate) * (x @ up)) @ down


def _two_gates(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (F.silu(x @ gate) * F.silu(x @ up)) @ down


def _not_down(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return F.silu(x @ gate) * (x @ up)


def _with_residual(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return x + _swiglu(x, gate, up, down)


SWIGLU = Exercise(
    name="swiglu",
    task=Bilingual(
        "写 `swiglu(x, gate, up, down)`：三个矩阵，向量从左边乘，没有偏置；门可以全开或全关。",
        "Write `swiglu(x, gate, up, down)`: three matrices, multiplied by row vectors from the"
        " left, no biases; gates may be wide open or shut.",
    ),
    solution=_swiglu,
    probes=_gated,
    mistakes=(
        Mistake(
            "sigmoid",
            _glu,
            Bilingual(
                "门是 SiLU：z·σ(z)，不只是 σ(z)。",
                "The gate is SiLU, z·σ(z), and not σ(z) alone.",
            ),
        ),
        Mistake(
            "relu",
            _reglu,
            Bilingual("门是 SiLU，不是 ReLU。", "The gate is SiLU, not ReLU."),
        ),
        Mistake(
            "exchanged",
            _exchanged,
            Bilingual(
                "SiLU 套在了 up 上；该套在 gate 上。", "SiLU acts on up; it belongs to the gate."
            ),
        ),
        Mistake(
            "product-bent",
            _both_bent,
            Bilingual(
                "先过 SiLU 再相乘；这里是先乘了再过 SiLU。",
                "SiLU acts on the gate before the product, not on the product.",
            ),
        ),
        Mistake(
            "added",
            _added,
            Bilingual(
                "门是相乘，不是相加：门关上时，什么也不放过去。",
                "A gate multiplies and does not add: when it is shut, nothing passes.",
            ),
        ),
        Mistake(
            "gelu",
            _geglu,
            Bilingual("门是 SiLU，不是 GELU。", "The gate is SiLU, not GELU."),
        ),
        Mistake(
            "not-bent",
            _bilinear,
            Bilingual("门还没有过 SiLU。", "SiLU has not been applied to the gate."),
        ),
        Mistake(
            "both-bent",
            _two_gates,
            Bilingual(
                "SiLU 只套在 gate 上，up 保持线性。",
                "SiLU acts on the gate alone; up stays linear.",
            ),
        ),
        Mistake(
            "not-brought-back",
            _not_down,
            Bilingual(
                "还差最后一步：乘以 down，回到 d 个特征。",
                "One step is missing: multiply by down, back to d features.",
            ),
        ),
        Mistake(
            "residual-added",
            _with_residual,
            Bilingual(
                "x 不在里面加：残差连接是层的事。",
                "Don't add x here: the residual connection belongs to the layer.",
            ),
        ),
    ),
)


EXERCISES = (RMS_NORM, SWIGLU)
