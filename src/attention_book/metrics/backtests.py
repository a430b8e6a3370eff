"""Backtests: forecast from many points of the past, with what was known there, and compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.foundations.checks import check_sizes, reject_where
from attention_book.foundations.shapes import Forecast, History, Method

Table = Float[Tensor, "origin horizon"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Backtest:
    """Forecasts from several origins, beside what came.

    Attributes:
        origins: How many values each forecast knew, (origin,).
        forecasts: (origin, horizon).
        actual: What came, (origin, horizon).
        naive_errors: For each origin, the mean error of seasonal naive forecasts, one step
            ahead, within the past; the unit of :attr:`mase`, (origin,).

    >>> result = Backtest(origins=torch.tensor([8]), forecasts=torch.tensor([[1.0, 5.0]]),
    ...                   actual=torch.tensor([[2.0, 2.0]]), naive_errors=torch.tensor([4.0]))
    >>> result.mae, result.mase, result.mae_by_horizon
    (2.0, 0.5, tensor([1., 3.]))
    """

    origins: Int[Tensor, " origin"]
    forecasts: Table
    actual: Table
    naive_errors: Float[Tensor, " origin"]

    @property
    def errors(self) -> Table:
        """The absolute errors."""
        return (self.forecasts - self.actual).abs()

    @property
    def mae(self) -> float:
        """The mean absolute error, in the units of the series."""
        return self.errors.mean().item()

    @property
    def mae_by_horizon(self) -> Float[Tensor, " horizon"]:
        """The mean absolute error one step ahead, two steps ahead, …"""
        return self.errors.mean(dim=0)

    @property
    def mase(self) -> float:
        """The mean absolute scaled error, without units (Hyndman and Koehler 2006)."""
        return (self.errors / self.naive_errors[:, None]).mean().item()

    def skill(self, reference: "Backtest") -> Float[Tensor, " horizon"]:
        """Return by which share it errs less than a reference, one step ahead, two, …

        .. math:: 1 - \\frac{\\text{MAE}_h}{\\text{MAE}_h(\\text{reference})}

        1 is perfect, 0 as good as the reference, negative worse.

        Raises:
            ValueError: if the reference was asked for something else.
        """
        if not torch.equal(self.actual, reference.actual):
            raise ValueError("reference: expected forecasts of the same values, got others")
        return 1 - self.mae_by_horizon / reference.mae_by_horizon


def rolling_origins(num_values: int, *, first: int, horizon: int, step: int = 1) -> list[int]:
    """Return origins: the first, and then one every few steps while a whole horizon is left.

    An origin is the number of values that are known there.

    Raises:
        ValueError: if a number is below 1, or not even the first leaves a horizon.

    >>> rolling_origins(20, first=8, horizon=4, step=3)
    [8, 11, 14]
    """
    check_sizes(first=first, horizon=horizon, step=step)
    if first + horizon > num_values:
        raise ValueError(
            f"first: expected at most {num_values} values - horizon={horizon}, got {first}"
        )
    return list(range(first, num_values - horizon + 1, step))


def backtest(
    method: Method,
    values: History,
    *,
    origins: Sequence[int],
    horizon: int,
    period: int = 1,
    refit_every: int = 1,
) -> Backtest:
    """Forecast from each origin with what lies before it, and set it beside what came.

    The past grows from origin to origin (an expanding window). ``method`` is handed a copy
    of the past and nothing else, so what comes later cannot reach it.

    Args:
        method: Is fitted to a past, ``method(past)``, and returns a function that goes on
            from a past, ``go_on(past, horizon)``.
        values: The whole series.
        origins: How many values are known at each, rising.
        horizon: How many steps ahead.
        period: Period of the seasonal naive forecasts that the errors are compared with.
        refit_every: Fit only at every ``refit_every``-th origin; in between, the latest fit
            continues from the longer past.

    Raises:
        TypeError: if a method's forecast is no tensor.
        ValueError: if the origins do not rise, leave no horizon or no two values to compare,
            a value is not finite, or a method's forecast is no row of ``horizon`` finite
            numbers.

    >>> again = lambda past: lambda past, horizon: past[-1:].repeat(horizon)
    >>> values = torch.tensor([1.0, 2.0, 4.0, 7.0, 11.0])
    >>> result = backtest(again, values, origins=[2, 3], horizon=2)
    >>> result.forecasts, result.mae, result.naive_errors
    (tensor([[2., 2.],
            [4., 4.]]), 4.25, tensor([1.0000, 1.5000]))
    """
    check_sizes(horizon=horizon, period=period, refit_every=refit_every)
    reject_where(~values.isfinite(), values, "values", "finite numbers")
    _check_origins(origins, len(values), horizon, period)
    forecasts = []
    for number, origin in enumerate(origins):
        past = values[:origin].clone()
        if number % refit_every == 0:
            go_on = method(past)
        forecasts.append(_checked(go_on(past, horizon), horizon, origin))
    return Backtest(
        origins=torch.tensor(list(origins)),
        forecasts=torch.stack(forecasts),
        actual=torch.stack([values[origin : origin + horizon] for origin in origins]),
        naive_errors=torch.stack([naive_error(values[:origin], period) for origin in origins]),
    )


def naive_error(past: History, period: int = 1) -> Float[Tensor, ""]:
    """Return the mean absolute difference of values one period apart.

    .. math:: \\frac{1}{n - m} \\sum_{t=m+1}^{n} |y_t - y_{t-m}|

    The unit in which MASE measures: the error of seasonal naive forecasts within the past.

    Raises:
        ValueError: if the past is no longer than the period, or it repeats exactly.

    >>> naive_error(torch.tensor([1.0, 2.0, 4.0, 7.0]))
    tensor(2.)
    """
    if len(past) <= period:
        raise ValueError(f"past: expected more than period={period} values, got {len(past)}")
    error = (past[period:] - past[:-period]).abs().mean()
    if error == 0:
        raise ValueError("past: expected values that change from period to period, got a repeat")
    return error


def _check_origins(origins: Sequence[int], num_values: int, horizon: int, period: int) -> None:
    if not origins or any(later <= origin for origin, later in pairwise(origins)):
        raise ValueError(f"origins: expected rising numbers, got {list(origins)}")
    if origins[0] <= period or origins[-1] + horizon > num_values:
        raise ValueError(
            f"origins: expected more than period={period} values before the first and "
            f"horizon={horizon} after the last of {num_values}, got {origins[0]} to {origins[-1]}"
        )


def _checked(forecast: Forecast, horizon: int, origin: int) -> Forecast:
    expected = f"method: expected {horizon} finite numbers from origin {origin}"
    if not isinstance(forecast, Tensor):
        raise TypeError(f"{expected}, got {type(forecast).__name__}")
    if forecast.shape != (horizon,):
        raise ValueError(f"{expected}, got the shape {tuple(forecast.shape)}")
    if not forecast.isfinite().all():
        raise ValueError(f"{expected}, got {forecast.tolist()}")
    return forecast


__all__ = ["Backtest", "backtest", "naive_error", "rolling_origins"]
