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
    actual = torch.tensor([4.0, 7.0])
    yield Probe((actual.clone(), actual, past, 2), Bilingual("预测全对", "a perfect forecast"))
    yield Probe((actual, past[:2], past, 5), Bilingual("只有一对值相隔一个周期", "a single pair"))
    yield Probe((actual, past[:2], past.flip(0), 1), Bilingual("过去在下降", "the past falls"))
    one = (torch.tensor([5.0]), torch.tensor([-3.0]), past - 20, 2)
    yield Probe(one, Bilingual("值是负的，只预测一个", "negative values, and one forecast"))


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


def _signed_unit(past: Tensor, period: int) -> Tensor:
    return (past[period:] - past[:-period]).mean()


def _naive_in_the_future(past: Tensor, actual: Tensor, period: int) -> Tensor:
    naive = past[-period:][torch.arange(len(actual)) % period]
    return (actual - naive).abs().mean()


_FROM_THE_FUTURE = Bilingual(
    "单位是从要预测的值里量的，做预测时还不知道它们：应当用过去。",
    "The unit was measured on the values to forecast, which nobody knew: use the past.",
)
_SIGNED_UNIT = Bilingual(
    "单位里的差也要先取绝对值，再求平均：涨与跌互相抵消了。",
    "The unit's differences need absolute values before the mean, too: rises and falls cancel.",
)
_MEAN_UNIT = Bilingual(
    "除以的是过去的平均：MASE 的单位是朴素预测的误差，加一个常数不变。",
    "This divides by the mean of the past: MASE's unit is the error of naive forecasts, which stays"
    " if a constant is added.",
)
_NOT_AVERAGED = Bilingual(
    "误差和单位各自求平均：两边的个数不同。",
    "Errors and differences each need their mean: there are not equally many.",
)

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
            _FROM_THE_FUTURE,
        ),
        Mistake("unit-from-the-future", _mase(unit=_naive_in_the_future), _FROM_THE_FUTURE),
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
        Mistake(
            "unit-signed",
            _mase(unit=lambda past, _, period: _signed_unit(past, period)),
            _SIGNED_UNIT,
        ),
        Mistake(
            "unit-signed",
            _mase(unit=lambda past, _, period: _signed_unit(past, period).abs()),
            _SIGNED_UNIT,
        ),
        Mistake(
            "no-unit",
            _mase(unit=lambda past, _, __: torch.ones(())),
            Bilingual(
                "这是平均绝对误差，还带着单位：要除以朴素预测的误差。",
                "That is the mean absolute error, which still has a unit: divide by the error of"
                " naive forecasts.",
            ),
        ),
        Mistake("mean-as-unit", _mase(unit=lambda past, _, __: past.mean()), _MEAN_UNIT),
        Mistake("mean-as-unit", _mase(unit=lambda past, _, __: past.abs().mean()), _MEAN_UNIT),
        Mistake(
            "not-averaged", _mase(error=lambda difference: difference.abs().sum()), _NOT_AVERAGED
        ),
        Mistake(
            "not-averaged",
            _mase(
                error=lambda difference: difference.abs().sum(),
                unit=lambda past, _, period: naive_error(past, period) * (len(past) - period),
            ),
            _NOT_AVERAGED,
        ),
        Mistake("not-averaged", _mase(error=Tensor.abs), _NOT_AVERAGED),
        Mistake(
            "divided-by-all",
            _mase(
                unit=lambda past, _, period: naive_error(past, period) * (1 - period / len(past))
            ),
            Bilingual(
                "单位是差的平均：n 个值只有 n − 周期 个差。",
                "The unit is the mean of the differences: n values have n minus period of them.",
            ),
        ),
        Mistake(
            "past-and-future",
            _mase(unit=lambda past, actual, period: naive_error(torch.cat((past, actual)), period)),
            Bilingual(
                "单位里混进了要预测的值：只用过去。",
                "Values to forecast are mixed into the unit: use the past alone.",
            ),
        ),
    ),
)

# --- scaled-by-the-past ----------------------------------------------------------------------


def _series() -> Iterator[Probe]:
    yield Probe((torch.tensor([2.0, 4.0, 6.0, 100.0, 200.0]), 3))
    yield Probe((torch.arange(12.0), 6), Bilingual("有趋势", "there is a trend"))
    yield Probe((torch.randn(23).cumsum(dim=0), 17))
    yield Probe((torch.randn(6), 6), Bilingual("全是过去", "there is no future"))
    yield Probe((1e-3 * torch.randn(8), 5), Bilingual("值很小", "small values"))


def _scaled(
    reference: Callable[[Tensor, int], Tensor], *, divide: bool = True
) -> Callable[[Tensor, int], Tensor]:
    def scaled(values: Tensor, origin: int) -> Tensor:
        known = reference(values, origin)
        return (values - known.mean()) / (known.std() if divide else 1)

    return scaled


def _each_by_its_own(values: Tensor, origin: int) -> Tensor:
    parts = [part for part in (values[:origin], values[origin:]) if len(part)]
    return torch.cat([(part - part.mean()) / part.std() for part in parts])


def _changed_scale(
    spread: Callable[[Tensor], Tensor | float], *, center: bool = True
) -> Callable[[Tensor, int], Tensor]:
    """Divide by another spread of the past."""

    def scaled(values: Tensor, origin: int) -> Tensor:
        known = values[:origin]
        return (values - (known.mean() if center else 0.0)) / spread(known)

    return scaled


_RIGHT = _scaled(lambda values, origin: values[:origin])


def _future_mean(values: Tensor, origin: int) -> Tensor:
    return (values - values.mean()) / values[:origin].std()


def _future_std(values: Tensor, origin: int) -> Tensor:
    return (values - values[:origin].mean()) / values.std()


def _only_the_past(values: Tensor, origin: int) -> Tensor:
    return torch.cat((_RIGHT(values, origin)[:origin], values[origin:]))


def _by_range(values: Tensor, origin: int) -> Tensor:
    low, high = values[:origin].aminmax()
    return (values - low) / (high - low)


_FUTURE_COUNTS = Bilingual(
    "均值或标准差里混进了起点之后的值：这就是泄漏。",
    "The mean or the deviation contains values from after the origin: that is a leak.",
)
_EXACTLY = Bilingual(
    "分母里加了一个小数：值本身就小的时候，标准差不再是 1。",
    "Something small is added to the denominator: where the values are small themselves, the"
    " deviation is no longer 1.",
)

SCALED_BY_THE_PAST = Exercise(
    name="scaled-by-the-past",
    task=Bilingual(
        "写 `scaled(values, origin)`：缩放整个序列，使起点之前的 origin 个值均值为 0、标准差"
        "（`std()`）为 1。",
        "Write `scaled(values, origin)`: scale the whole series so that its first `origin` values,"
        " those before the origin, have mean 0 and standard deviation (`std()`) 1.",
    ),
    solution=_RIGHT,
    probes=_series,
    mistakes=(
        Mistake(
            "the-future-counts",
            _scaled(lambda values, origin: values),
            _FUTURE_COUNTS,
        ),
        Mistake("the-future-counts", _future_mean, _FUTURE_COUNTS),
        Mistake("the-future-counts", _future_std, _FUTURE_COUNTS),
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
        Mistake(
            "one-too-few",
            _scaled(lambda values, origin: values[: origin - 1]),
            Bilingual(
                "少算了一个：过去是下标 0 到 origin − 1 的值，连后者在内。",
                "One too few: the past is the values at 0 to origin − 1, both included.",
            ),
        ),
        Mistake(
            "not-centered",
            _changed_scale(Tensor.std, center=False),
            Bilingual("还要先减去均值。", "Subtract the mean first."),
        ),
        Mistake(
            "not-corrected",
            _changed_scale(lambda known: known.std(correction=0)),
            Bilingual(
                "标准差除以了 n：`std()` 除以 n − 1，NumPy 的默认值则是 n。",
                "The deviation divides by n: `std()` divides by n − 1, while NumPy's default is n.",
            ),
        ),
        Mistake(
            "variance",
            _changed_scale(Tensor.var),
            Bilingual("除以的是方差：还要开根号。", "This divides by the variance: take its root."),
        ),
        Mistake("epsilon", _changed_scale(lambda known: known.std() + 1e-5), _EXACTLY),
        Mistake("epsilon", _changed_scale(lambda known: known.std() + 1e-6), _EXACTLY),
        Mistake(
            "future-dropped",
            lambda values, origin: _RIGHT(values, origin)[:origin],
            Bilingual(
                "只返回了过去：整个序列都要缩放。",
                "Only the past is returned: scale the whole series.",
            ),
        ),
        Mistake(
            "future-unscaled",
            _only_the_past,
            Bilingual(
                "未来没有缩放：两段用同一个尺度，过去的。",
                "The future is not scaled: both parts take one scale, the past's.",
            ),
        ),
        Mistake(
            "future-alone",
            _scaled(lambda values, origin: values[origin:] if origin < len(values) else values),
            Bilingual(
                "均值和标准差取自未来：应当取自过去，`values[:origin]`。",
                "Mean and deviation are those of the future: take the past's, `values[:origin]`.",
            ),
        ),
        Mistake(
            "range",
            _by_range,
            Bilingual(
                "缩放到了 0 与 1 之间：这里要的是均值 0、标准差 1。",
                "That is a scale from 0 to 1: asked for are mean 0 and standard deviation 1.",
            ),
        ),
    ),
)

EXERCISES = (MASE, SCALED_BY_THE_PAST)

__all__ = ["EXERCISES"]
