"""The real series: what was measured, what was filled in, and who is asked for them."""

import sys

import pytest
import torch

from attention_book.course.datasets import TimeSeries, load_series

statsmodels = pytest.importorskip("statsmodels.datasets")


def test_the_sunspots_are_those_of_statsmodels() -> None:
    series = load_series("sunspots")
    yearly = statsmodels.sunspots.load_pandas().data
    assert series.values.tolist() == yearly["SUNACTIVITY"].tolist()
    assert series.times.tolist() == list(range(1700, 2009))
    assert not series.filled.any()


def test_a_month_of_co2_is_the_mean_of_its_weeks() -> None:
    series = load_series("co2")
    weekly = statsmodels.co2.load_pandas().data["co2"]
    for year, month in ((1958, 3), (1974, 7), (2001, 12)):
        weeks = weekly[(weekly.index.year == year) & (weekly.index.month == month)].dropna()
        at = series.count_before(year + (month - 1) / 12)
        assert series.values[at].item() == pytest.approx(weeks.mean())


def test_every_month_is_there_once() -> None:
    times = load_series("co2").times
    torch.testing.assert_close(times.diff(), torch.full((525,), 1 / 12, dtype=torch.float64))
    assert times[0].item() == pytest.approx(1958 + 2.5 / 12)


def test_filled_months_are_those_without_a_measurement_and_lie_on_a_straight_line() -> None:
    series = load_series("co2")
    weekly = statsmodels.co2.load_pandas().data["co2"].dropna()
    measured = {(week.year, week.month) for week in weekly.index}
    for at, filled in enumerate(series.filled.tolist()):
        year, month = divmod(1958 * 12 + 2 + at, 12)
        assert filled == ((year, month + 1) not in measured)
    gap = series.values[70:75]  # January and May 1964, and three months without a flask
    assert series.filled[70:75].tolist() == [False, True, True, True, False]
    torch.testing.assert_close(gap, torch.linspace(0, 1, 5).double() * (gap[4] - gap[0]) + gap[0])


def test_the_count_before_is_the_first_index_not_older() -> None:
    series = load_series("sunspots")
    assert series.count_before(1700) == 0
    assert series.times[series.count_before(1849.5)] == 1850
    assert series.count_before(3000) == len(series)


@pytest.mark.usefixtures("unchecked")
def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"name: expected one of sunspots, co2, got 'airline'"):
        load_series("airline")  # type: ignore[arg-type]


def test_without_statsmodels_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with pytest.raises(ImportError, match=r'statsmodels: .* "attention-book\[data\] @ git'):
        load_series("co2")


@pytest.mark.usefixtures("unchecked")
def test_parts_that_do_not_fit_are_refused() -> None:
    parts = {"name": "x", "period": 2, "units": "m", "source": "nobody"}
    numbers, none = torch.arange(3.0), torch.zeros(3, dtype=torch.bool)
    with pytest.raises(ValueError, match="times: expected one for each of 3 values, got 2"):
        TimeSeries(values=numbers, times=numbers[:2], filled=none, **parts)
    with pytest.raises(ValueError, match="values: expected finite numbers"):
        TimeSeries(values=numbers / 0, times=numbers, filled=none, **parts)
