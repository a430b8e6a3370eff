"""An exercise on choosing the bandwidth: the leave-one-out error."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import kernel_weights, leave_one_out_mask
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _regression_data() -> Iterator[Probe]:
    for num_keys, bandwidth in ((3, 1.0), (5, 0.5), (7, 2.0)):
        yield Probe((torch.randn(num_keys), torch.randn(num_keys), bandwidth))


def _errors(
    keys: Tensor, values: Tensor, bandwidth: float, *, keep: bool = False, late: bool = False
) -> Tensor:
    others = leave_one_out_mask(len(keys))
    mask = None if keep or late else others
    weights = kernel_weights(keys, keys, bandwidth=bandwidth, mask=mask)
    return (weights * others if late else weights) @ values - values


LEAVE_ONE_OUT = Exercise(
    name="leave-one-out",
    task=Bilingual(
        "写 `error(keys, values, bandwidth)`："
        "留一法的均方误差，每个点都由其余的点来预测（高斯核）。",
        "Write `error(keys, values, bandwidth)`: the leave-one-out mean squared error, each"
        " point predicted from all others (Gaussian kernel).",
    ),
    solution=lambda keys, values, bandwidth: _errors(keys, values, bandwidth).square().mean(),
    probes=_regression_data,
    mistakes=(
        Mistake(
            "keeps-itself",
            lambda keys, values, h: _errors(keys, values, h, keep=True).square().mean(),
            Bilingual(
                "每个点也看见了自己：带宽越小，误差越接近 0，选出来的总是最小的带宽。",
                "Every point sees itself as well: the smaller the bandwidth the smaller the"
                " error, and the smallest one would always win.",
            ),
        ),
        Mistake(
            "removed-afterwards",
            lambda keys, values, h: _errors(keys, values, h, late=True).square().mean(),
            Bilingual(
                "归一化之后才拿掉自己，其余的权重之和就小于 1：先遮住，再归一化。",
                "Removed after normalizing, the point leaves weights that sum to less than 1:"
                " hide it first, then normalize.",
            ),
        ),
        Mistake(
            "sum",
            lambda keys, values, h: _errors(keys, values, h).square().sum(),
            Bilingual("求的是和，不是平均。", "This is the sum, not the mean."),
        ),
        Mistake(
            "absolute",
            lambda keys, values, h: _errors(keys, values, h).abs().mean(),
            Bilingual(
                "误差要平方，不是取绝对值。", "Square the errors; do not take absolute values."
            ),
        ),
        Mistake(
            "root",
            lambda keys, values, h: _errors(keys, values, h).square().mean().sqrt(),
            Bilingual("均方误差不开根号。", "The mean squared error has no root."),
        ),
    ),
)

EXERCISES = (LEAVE_ONE_OUT,)
