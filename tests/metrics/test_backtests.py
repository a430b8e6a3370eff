"""Backtests: nothing after the origin reaches a forecast, and the errors are the formulas'."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import Backtest, backtest, naive_error, rolling_origins
from attention_book.models import (
    Forecaster,
    ForecasterConfig,
    differenced,
    fit_autoregression,
    persistence,
    seasonal_naive,
)
from attention_book.training import train_forecaster

VALUES = torch.randn(83, generator=torch.Generator().manual_seed(2)).double().cumsum(dim=0)


def transformer(past: torch.Tensor):
    torch.manual_seed(1)
    model = Forecaster.scaled_to(past, ForecasterConfig(context=7, num_layers=1))
    for _ in train_forecaster(model, past, steps=3):
        pass
    return model.forecast


METHODS = {
    "persistence": persistence,
    "seasonal": lambda past: seasonal_naive(past, period=7),
    "autoregression": lambda past: fit_autoregression(past, max_lags=5),
    "differenced": differenced(lambda past: fit_autoregression(past, max_lags=5)),
    "transformer": transformer,
    "differenced transformer": differenced(transformer),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("refit_every", [1, 2])
def test_no_value_after_the_origin_reaches_a_forecast(method, refit_every: int) -> None:
    origins, late = [53, 59, 67], 59
    changed = VALUES.clone()
    changed[late:] = 100 + changed[late:].square()
    before, after = (
        backtest(method, values, origins=origins, horizon=5, refit_every=refit_every)
        for values in (VALUES, changed)
    )
    # 53 and 59 know nothing of the change; 67 does.
    assert torch.equal(before.forecasts[:2], after.forecasts[:2])
    assert torch.equal(before.naive_errors[:2], after.naive_errors[:2])
    assert (before.forecasts[2] - after.forecasts[2]).abs().min() > 1
    assert not torch.equal(before.actual[1], after.actual[1])


def test_a_method_that_changes_its_past_changes_nothing_else() -> None:
    def vandal(past: torch.Tensor):
        past.zero_()
        return persistence(past)

    values = VALUES.clone()
    result = backtest(vandal, values, origins=[50, 60], horizon=3)
    assert torch.equal(values, VALUES)
    assert torch.equal(result.actual[0], VALUES[50:53])


def test_the_window_expands_and_is_fitted_when_said() -> None:
    fitted, asked = [], []

    def spy(past: torch.Tensor):
        fitted.append(len(past))

        def go_on(past: torch.Tensor, horizon: int) -> torch.Tensor:
            asked.append((len(past), horizon))
            return past[-1:].repeat(horizon)

        return go_on

    backtest(spy, VALUES, origins=[20, 23, 26, 29, 32], horizon=7, refit_every=2)
    assert fitted == [20, 26, 32]  # never later than what is asked
    assert asked == [(20, 7), (23, 7), (26, 7), (29, 7), (32, 7)]


@given(
    num_values=st.integers(2, 60), first=st.integers(1, 50), horizon=st.integers(1, 13),
    step=st.integers(1, 7),
)  # fmt: skip
def test_origins_leave_a_whole_horizon_and_waste_none(
    num_values: int, first: int, horizon: int, step: int
) -> None:
    if first + horizon > num_values:
        with pytest.raises(ValueError, match="first: expected at most"):
            rolling_origins(num_values, first=first, horizon=horizon, step=step)
        return
    origins = rolling_origins(num_values, first=first, horizon=horizon, step=step)
    assert origins[0] == first
    assert all(b - a == step for a, b in pairwise(origins))
    assert origins[-1] + horizon <= num_values < origins[-1] + step + horizon


def example() -> Backtest:
    return backtest(METHODS["seasonal"], VALUES, origins=[29, 37, 53], horizon=5, period=7)


def test_the_errors_are_the_formulas() -> None:
    result, errors, scaled = example(), [], []
    for row, origin in enumerate((29, 37, 53)):
        past = VALUES[:origin].tolist()
        unit = sum(abs(past[t] - past[t - 7]) for t in range(7, origin)) / (origin - 7)
        for step in range(5):
            error = abs(VALUES[origin + step].item() - past[origin - 7 + step])
            assert result.errors[row, step].item() == pytest.approx(error)
            errors.append(error)
            scaled.append(error / unit)
    assert result.mae == pytest.approx(sum(errors) / 15)
    assert result.mase == pytest.approx(sum(scaled) / 15)
    assert result.mae_by_horizon[2].item() == pytest.approx(sum(errors[2::5]) / 3)
    assert result.mae_by_horizon.mean().item() == pytest.approx(result.mae)


@given(scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_mase_and_skill_have_no_units(scale: float, shift: float) -> None:
    result, moved = example(), backtest(
        METHODS["seasonal"], scale * VALUES + shift, origins=[29, 37, 53], horizon=5, period=7
    )  # fmt: skip
    assert moved.mase == pytest.approx(result.mase)
    assert moved.mae == pytest.approx(scale * result.mae)


def test_skill_is_measured_against_the_reference() -> None:
    seasonal = example()
    last = backtest(persistence, VALUES, origins=[29, 37, 53], horizon=5, period=7)
    torch.testing.assert_close(last.skill(last), torch.zeros(5).double())
    expected = 1 - last.mae_by_horizon / seasonal.mae_by_horizon
    torch.testing.assert_close(last.skill(seasonal), expected)
    perfect = Backtest(
        origins=last.origins, forecasts=last.actual, actual=last.actual,
        naive_errors=last.naive_errors,
    )  # fmt: skip
    assert perfect.skill(last).tolist() == [1.0] * 5


def test_skill_needs_the_same_question() -> None:
    other = backtest(persistence, VALUES, origins=[29, 37, 59], horizon=5)
    with pytest.raises(ValueError, match="reference: expected forecasts of the same values"):
        other.skill(example())


def test_one_step_ahead_within_the_past_seasonal_naive_has_mase_one() -> None:
    period, past = 7, VALUES
    errors = [
        abs(seasonal_naive(past[:t], period=period)(past[:t], 1) - past[t]).item()
        for t in range(period, len(past))
    ]
    assert sum(errors) / len(errors) == pytest.approx(naive_error(past, period).item())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("forecast", "got"),
    [
        (torch.ones(1), r"the shape \(1,\)"),
        (torch.ones(4), r"the shape \(4,\)"),
        (torch.ones(3, 1), r"the shape \(3, 1\)"),
        (torch.tensor(1.0), r"the shape \(\)"),
        ([1.0, 2.0, 3.0], "list"),
        (None, "NoneType"),
        (torch.tensor([1.0, torch.nan, 3.0]), r"\[1\.0, nan, 3\.0\]"),
        (torch.tensor([1.0, 2.0, torch.inf]), r"\[1\.0, 2\.0, inf\]"),
    ],
)
def test_a_forecast_that_is_none_is_named_with_its_origin(forecast, got: str) -> None:
    def fails_at_23(past: torch.Tensor):
        return lambda past, horizon: forecast if len(past) == 23 else past[-1:].repeat(horizon)

    error = ValueError if isinstance(forecast, torch.Tensor) else TypeError
    with pytest.raises(error, match=f"method: .* 3 finite numbers from origin 23, got {got}"):
        backtest(fails_at_23, VALUES, origins=[20, 23, 26], horizon=3)


def test_a_value_that_was_not_measured_is_named() -> None:
    values = VALUES.clone()
    values[31] = torch.nan
    with pytest.raises(
        ValueError, match=r"values: expected finite numbers, got values\[31\] = nan"
    ):
        backtest(persistence, values, origins=[20, 30], horizon=3)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_tested_is_refused() -> None:
    for origins in ([], [30, 20], [30, 30]):
        with pytest.raises(ValueError, match="origins: expected rising numbers"):
            backtest(persistence, VALUES, origins=origins, horizon=3)
    with pytest.raises(ValueError, match="origins: expected more than period=7 values before"):
        backtest(persistence, VALUES, origins=[7], horizon=3, period=7)
    with pytest.raises(ValueError, match="horizon=3 after the last of 83, got 20 to 81"):
        backtest(persistence, VALUES, origins=[20, 81], horizon=3)
    with pytest.raises(ValueError, match="past: expected more than period=5 values, got 5"):
        naive_error(VALUES[:5], 5)
    with pytest.raises(ValueError, match="past: expected values that change"):
        naive_error(torch.tensor([1.0, 2.0, 1.0, 2.0]), 2)
