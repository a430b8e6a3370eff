"""Simple forecasting methods: the baselines that a large model has to beat.

A *method* is fitted to a past and returns a function that goes on from a past, the same or a
longer one: ``method(past)(past, horizon)``. It is given what lies before and nothing else, so
it cannot look ahead.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.environment import from_extra
from attention_book.foundations.shapes import Forecast, GoOn, History, Method


def persistence(past: History) -> GoOn:
    """Forecast the last value at every step.

    .. math:: \\hat y_{t+h} = y_t

    >>> past = torch.tensor([3.0, 1.0, 4.0])
    >>> persistence(past)(past, 2)
    tensor([4., 4.])
    """
    return lambda past, horizon: past[-1:].repeat(horizon)


def seasonal_naive(past: History, *, period: int) -> GoOn:
    """Forecast the last period again and again.

    .. math:: \\hat y_{t+h} = y_{t+h-m\\lceil h/m \\rceil}

    Args:
        past: Is not looked at: there is nothing to fit.
        period: How many steps it is long, m.

    Raises:
        ValueError: if ``period`` is below 1, or from the forecast, if the past is shorter.

    >>> past = torch.tensor([3.0, 1.0, 4.0, 1.0])
    >>> seasonal_naive(past, period=3)(past, 5)
    tensor([1., 4., 1., 1., 4.])
    """
    check_sizes(period=period)

    def go_on(past: History, horizon: int) -> Forecast:
        if len(past) < period:
            raise ValueError(f"past: expected a period of {period} values, got {len(past)}")
        return past[-period:].repeat(-(-horizon // period))[:horizon]

    return go_on


def differenced(method: Method) -> Method:
    """Make a method forecast the changes, and add them up (differencing).

    .. math:: \\hat y_{t+h} = y_t + \\sum_{i=1}^{h} \\widehat{\\Delta y}_{t+i},
        \\qquad \\Delta y_t = y_t - y_{t-1}

    The changes of a series with a trend stay in one range, its values do not (Box and
    Jenkins 1970). Differenced persistence prolongs the last change in a straight line.

    >>> past = torch.tensor([1.0, 2.0, 4.0])
    >>> differenced(persistence)(past)(past, 3)
    tensor([ 6.,  8., 10.])
    """

    def fit(past: History) -> GoOn:
        go_on = method(past.diff())
        return lambda past, horizon: past[-1] + go_on(past.diff(), horizon).cumsum(dim=0)

    return fit


@dataclass(frozen=True, eq=False)
class Autoregression:
    """A weighted sum of the last values; what was forecast counts as a value for the next step.

    .. math:: \\hat y_{t+1} = c + \\sum_{i=1}^{p} \\varphi_i \\, y_{t+1-i}

    Attributes:
        constant: The number $c$ that is added.
        weights: :math:`\\varphi_1` (for the last value) to :math:`\\varphi_p`.

    >>> double = Autoregression(0.0, torch.tensor([2.0]))
    >>> double(torch.tensor([5.0, 1.0]), 3)
    tensor([2., 4., 8.])
    """

    constant: float
    weights: Float[Tensor, " lag"]

    def __call__(self, past: History, horizon: int) -> Forecast:
        """Go on from a past.

        Raises:
            ValueError: if the past is shorter than the weights reach.
        """
        lags = len(self.weights)
        if len(past) < lags:
            raise ValueError(f"past: expected {lags} values or more, got {len(past)}")
        known = past
        for _ in range(horizon):
            recent = known[len(known) - lags :].flip(0)
            known = torch.cat([known, self.constant + (self.weights * recent).sum().reshape(1)])
        return known[len(past) :]


def fit_autoregression(
    past: History, *, max_lags: int, criterion: Literal["aic", "bic"] = "aic"
) -> Autoregression:
    """Fit an autoregression by least squares, and choose its number of lags.

    statsmodels does both; the number of lags is the one with the least information criterion.
    Where the values never change after the first ``max_lags``, none is needed.

    Args:
        past: All it may know.
        max_lags: The largest number of lags tried.
        criterion: "aic" (Akaike) or "bic" (Bayes), which prefers fewer lags.

    Raises:
        ValueError: if ``max_lags`` is below 1, or the past too short for it.
        ImportError: if statsmodels is not installed.

    >>> past = torch.arange(40.0).sin()                  # sin(t+1) = 2 cos(1) sin(t) - sin(t-1)
    >>> fit_autoregression(past.double(), max_lags=2).weights
    tensor([ 1.0806, -1.0000], dtype=torch.float64)
    """
    check_sizes(max_lags=max_lags)
    if len(past) < 2 * max_lags + 2:
        raise ValueError(
            f"past: expected {2 * max_lags + 2} values for {max_lags} lags, got {len(past)}"
        )
    if (past[max_lags:] == past[-1]).all():  # an error of 0 has no logarithm, so no criterion
        return Autoregression(past[-1].item(), past.new_zeros(0))
    with from_extra("data", "statsmodels"):
        from statsmodels.tsa import ar_model
    numbers = past.detach().cpu().double().numpy()
    lags = ar_model.ar_select_order(numbers, max_lags, ic=criterion).ar_lags
    params = ar_model.AutoReg(numbers, lags=lags).fit().params.tolist()
    return Autoregression(params[0], past.new_tensor(params[1:]))


__all__ = [
    "Autoregression",
    "differenced",
    "fit_autoregression",
    "persistence",
    "seasonal_naive",
]
