"""The simple forecasts: each against its formula, and statsmodels' own."""

import sys
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.models import (
    Autoregression,
    differenced,
    fit_autoregression,
    persistence,
    seasonal_naive,
)


def noisy_wave(n: int = 97) -> torch.Tensor:
    noise = torch.randn(n, generator=torch.Generator().manual_seed(5)).double()
    return torch.arange(n).double().mul(0.6).sin() + 0.3 * noise


@given(length=st.integers(1, 13), horizon=st.integers(1, 17))
def test_persistence_repeats_the_last_value(length: int, horizon: int) -> None:
    past = torch.randn(length)
    assert persistence(past)(past, horizon).tolist() == [past[-1].item()] * horizon


@given(period=st.integers(1, 7), extra=st.integers(0, 5), horizon=st.integers(1, 17))
def test_seasonal_naive_looks_whole_periods_back(period: int, extra: int, horizon: int) -> None:
    past = torch.randn(period + extra)
    forecast = seasonal_naive(past, period=period)(past, horizon)
    whole = torch.cat([past, forecast])
    assert torch.equal(whole[len(past) :], whole[len(past) - period : -period])
    if period == 1:
        assert torch.equal(forecast, persistence(past)(past, horizon))


def test_a_method_goes_on_from_the_past_it_is_given_last() -> None:
    old, new = noisy_wave()[:60], noisy_wave()
    for method in (
        persistence,
        partial(seasonal_naive, period=7),
        differenced(persistence),
        differenced(partial(seasonal_naive, period=7)),
    ):
        assert torch.equal(method(old)(new, 5), method(new)(new, 5))


def test_differenced_is_exact_where_the_changes_are() -> None:
    season = torch.tensor([0.0, 3.0, -1.0, 2.0, 5.0])
    time = torch.arange(40)
    values = season[time % 5] + 0.75 * time  # a season and a trend: its changes repeat
    go_on = differenced(partial(seasonal_naive, period=5))(values[:20])
    torch.testing.assert_close(go_on(values[:20], 20), values[20:])


def test_differenced_gives_nothing_but_changes_to_the_method() -> None:
    seen = []

    def spy(past: torch.Tensor):
        seen.append(past)
        return persistence(past)

    past = noisy_wave()
    before = differenced(spy)(past)(past, 3)
    after = differenced(spy)(past + 100)(past + 100, 3)
    torch.testing.assert_close(after, before + 100)  # the level passes by
    torch.testing.assert_close(seen[0], past.diff())


def test_the_recursion_is_the_formula() -> None:
    past, weights = noisy_wave(11), torch.tensor([0.5, -0.25, 0.125]).double()
    known = past.tolist()
    for _ in range(4):
        known.append(2.0 + 0.5 * known[-1] - 0.25 * known[-2] + 0.125 * known[-3])
    expected = torch.tensor(known[-4:], dtype=torch.float64)
    torch.testing.assert_close(Autoregression(2.0, weights)(past, 4), expected)


def test_no_weights_are_a_constant() -> None:
    assert Autoregression(2.0, torch.zeros(0))(torch.ones(3), 2).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_the_autoregression_forecasts_as_statsmodels_does(criterion: str) -> None:
    ar_model = pytest.importorskip("statsmodels.tsa.ar_model")
    past = noisy_wave()
    found = fit_autoregression(past, max_lags=13, criterion=criterion)
    order = ar_model.ar_select_order(past.numpy(), 13, ic=criterion).ar_lags
    assert len(found.weights) == max(order) > 1
    theirs = ar_model.AutoReg(past.numpy(), lags=order).fit().forecast(9)
    torch.testing.assert_close(found(past, 9), torch.from_numpy(theirs))


def test_it_is_the_least_squares_solution() -> None:
    pytest.importorskip("statsmodels")
    past = noisy_wave()
    found = fit_autoregression(past, max_lags=13)
    lags = len(found.weights)
    rows = past.unfold(0, lags, 1)[:-1].flip(1)
    errors = past[lags:] - found.constant - rows @ found.weights
    # Nothing more to gain: the errors are orthogonal to every regressor.
    torch.testing.assert_close(errors @ rows, torch.zeros(lags).double(), atol=1e-9, rtol=0)
    assert abs(errors.sum()) < 1e-9


def test_what_has_no_autoregression_is_a_constant() -> None:
    pytest.importorskip("statsmodels")
    noise = torch.randn(300, generator=torch.Generator().manual_seed(0)).double()
    found = fit_autoregression(noise, max_lags=5, criterion="bic")
    assert found.weights.tolist() == []
    assert found.constant == pytest.approx(noise.mean().item())


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_what_stays_the_same_is_expected_to_stay(value: float) -> None:
    past = torch.full((40,), value, dtype=torch.float64)
    assert fit_autoregression(past, max_lags=3)(past, 5).tolist() == [value] * 5
    past[:3] += 7  # what every fit reads and none explains
    assert fit_autoregression(past, max_lags=3)(past, 5).tolist() == [value] * 5


def test_a_line_goes_on_as_a_line() -> None:
    line = torch.arange(45.0).double()  # its changes stay the same
    forecast = differenced(lambda past: fit_autoregression(past, max_lags=3))(line[:40])
    assert torch.equal(forecast(line[:40], 5), line[40:])


def test_what_cannot_be_fitted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    past = noisy_wave(11)
    with pytest.raises(ValueError, match="period: expected at least 1, got 0"):
        seasonal_naive(past, period=0)
    with pytest.raises(ValueError, match="past: expected a period of 12 values, got 11"):
        seasonal_naive(past, period=12)(past, 1)
    with pytest.raises(ValueError, match="past: expected 3 values or more, got 2"):
        Autoregression(0.0, torch.ones(3).double())(past[:2], 1)
    with pytest.raises(ValueError, match="max_lags: expected at least 1"):
        fit_autoregression(past, max_lags=0)
    with pytest.raises(ValueError, match="past: expected 12 values for 5 lags, got 11"):
        fit_autoregression(past, max_lags=5)
    monkeypatch.setitem(sys.modules, "statsmodels.tsa", None)
    with pytest.raises(ImportError, match=r'statsmodels: .* "attention-book\[data\] @ git'):
        fit_autoregression(noisy_wave(), max_lags=2)
