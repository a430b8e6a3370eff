"""Exercises on forecasting: an error without units, and a scale that knows no future."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import naive_error

# --- mase ------------------------------------------------------------------------------------


def _forecasts() -> Iterator[Probe]:
    past = torch.tensor([3.0, 8.0, 4.0, 9.0, 5.0, 11.0])
    yield Probe(
        (torch.tensor([5.0, 11.0, 5.0]), torch.tensor([6.0, 10.0, 9.0]), past, 2),
        Bilingual("周期是 2", "the period is 2"),
    )
    yield Probe(
        (torch.tensor([11.0, 11.0]), torch.tensor([6.0, 14.0]), past, 1),
        Bilingual("周期是 1", "the period is 1"),
    )
    yield Probe((torch.randn(11), torch.randn(11), 10 * torch.randn(29), 7))


def _mase(
    *,
    error: Callable[[Tensor], Tensor] = lambda difference: difference.abs().mean(),
    unit: Callable[[Tensor, Tensor, int], Tensor] = lambda past, _, period: naive_error(
        past, period
    ),
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    def mase(forecast: Tensor, actual: Tensor, past: Tensor, period: int) -> Tensor:
        return error(forecast - actual) / unit(past, actual, period)

    return mase


def _root_mean_square(difference: Tensor) -> Tensor:
    return difference.square().mean().sqrt()


MASE = Exercise(
    name="mase",
    task=Bilingual(
        "写 `mase(forecast, actual, past, period)`：平均绝对误差，除以过去里相隔一个周期的两个值的"
        "平均绝对差。",
        "Write `mase(forecast, actual, past, period)`: the mean absolute error, divided by the mean"
        " absolute difference of values of the past that are one period apart.",
    ),
    solution=_mase(),
    probes=_forecasts,
    mistakes=(
        Mistake(
            "unit-from-the-future",
            _mase(unit=lambda _, actual, period: naive_error(actual, min(period, len(actual) - 1))),
            Bilingual(
                "单位是从要预测的值里量的，做预测时还不知道它们：应当用过去。",
                "The unit was measured on the values to forecast, which nobody knew: use the past.",
            ),
        ),
        Mistake(
            "period-ignored",
            _mase(unit=lambda past, _, __: naive_error(past, 1)),
            Bilingual(
                "单位里比的是相邻的值：应当相隔一个周期。",
                "The unit compares neighbors: compare values one period apart.",
            ),
        ),
        Mistake(
            "spread-as-unit",
            _mase(unit=lambda past, _, __: past.std()),
            Bilingual(
                "除以的是标准差：MASE 的单位是朴素预测的误差。",
                "This divides by the standard deviation: MASE's unit is the error of naive"
                " forecasts.",
            ),
        ),
        Mistake(
            "squared",
            _mase(error=_root_mean_square),
            Bilingual(
                "误差先平方了：这里要的是绝对值的平均。",
                "The errors were squared: take the mean of absolute values.",
            ),
        ),
        Mistake(
            "signed",
            _mase(error=Tensor.mean),
            Bilingual(
                "正负误差互相抵消了：先取绝对值，再求平均。",
                "Errors of opposite sign cancel: take absolute values before the mean.",
            ),
        ),
    ),
)

# --- scaled-by-the-past ----------------------------------------------------------------------


def _series() -> Iterator[Probe]:
    yield Probe((torch.tensor([2.0, 4.0, 6.0, 100.0, 200.0]), 3))
    yield Probe((torch.arange(12.0), 6), Bilingual("有趋势", "there is a trend"))
    yield Probe((torch.randn(23).cumsum(dim=0), 17))


def _scaled(
    reference: Callable[[Tensor, int], Tensor], *, divide: bool = True
) -> Callable[[Tensor, int], Tensor]:
    def scaled(values: Tensor, origin: int) -> Tensor:
        known = reference(values, origin)
        return (values - known.mean()) / (known.std() if divide else 1)

    return scaled


def _each_by_its_own(values: Tensor, origin: int) -> Tensor:
    past, future = values[:origin], values[origin:]
    return torch.cat([(part - part.mean()) / part.std() for part in (past, future)])


SCALED_BY_THE_PAST = Exercise(
    name="scaled-by-the-past",
    task=Bilingual(
        "写 `scaled(values, origin)`：缩放整个序列，使起点之前的 origin 个值均值为 0、标准差"
        "（`std()`）为 1。",
        "Write `scaled(values, origin)`: scale the whole series so that its first `origin` values,"
        " those before the origin, have mean 0 and standard deviation (`std()`) 1.",
    ),
    solution=_scaled(lambda values, origin: values[:origin]),
    probes=_series,
    mistakes=(
        Mistake(
            "the-future-counts",
            _scaled(lambda values, origin: values),
            Bilingual(
                "均值和标准差里混进了起点之后的值：这就是泄漏。",
                "The mean and the deviation contain values from after the origin: that is a leak.",
            ),
        ),
        Mistake(
            "one-too-many",
            _scaled(lambda values, origin: values[: origin + 1]),
            Bilingual(
                "多算了一个：下标 origin 的值是第一个要预测的。",
                "One too many: the value at index `origin` is the first to forecast.",
            ),
        ),
        Mistake(
            "each-by-its-own",
            _each_by_its_own,
            Bilingual(
                "未来用了它自己的均值：两段要用同一个尺度，而且来自过去。",
                "The future was scaled by its own mean: both parts need one scale, the past's.",
            ),
        ),
        Mistake(
            "not-divided",
            _scaled(lambda values, origin: values[:origin], divide=False),
            Bilingual("还要除以标准差。", "Divide by the standard deviation, too."),
        ),
    ),
)

EXERCISES = (MASE, SCALED_BY_THE_PAST)

__all__ = ["EXERCISES"]
