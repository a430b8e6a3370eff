"""Two real time series: yearly sunspot numbers, and monthly CO₂ concentrations."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book.foundations.environment import from_extra

SeriesName = Literal["sunspots", "co2"]


@dataclass(frozen=True, kw_only=True)
class TimeSeries:
    """Values at equal steps of time.

    Attributes:
        name: What is measured, in short.
        values: In double precision, oldest first, (time,).
        times: When, in years; a month is named by its middle, 1958.2083 is March 1958.
        period: After how many steps it about repeats.
        units: Of the values.
        source: Who measured, and where the numbers come from.
        filled: True where nothing was measured and the value is an interpolation.

    >>> series = load_series("sunspots")
    >>> len(series), series.period, series.values[:3].tolist()
    (309, 11, [5.0, 11.0, 16.0])
    """

    name: str
    values: Float[Tensor, " time"]
    times: Float[Tensor, " time"]
    period: int
    units: str
    source: str
    filled: Bool[Tensor, " time"]

    def __post_init__(self) -> None:
        """Refuse parts that don't fit together."""
        for part in ("times", "filled"):
            if (got := len(getattr(self, part))) != len(self):
                raise ValueError(f"{part}: expected one for each of {len(self)} values, got {got}")
        if not self.values.isfinite().all():
            raise ValueError("values: expected finite numbers, got a gap")

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def count_before(self, time: int | float) -> int:
        """Return how many values are older than ``time``: the origin of a forecast from then on.

        >>> load_series("sunspots").count_before(1900)
        200
        """
        return int((self.times < time).sum())


def load_series(name: SeriesName) -> TimeSeries:
    """Load a real series that ships with statsmodels.

    "sunspots": the mean number of sunspots of each year from 1700 to 2008, with a cycle of
    about 11 years. "co2": the share of CO₂ in the air over Mauna Loa from March 1958 to
    December 2001. It was measured by the week, with gaps. Here are the means of the months; a
    month without any measurement lies on the straight line between its neighbors, and
    ``filled`` says so. (The later neighbor is in that month's future. A backtest must
    therefore begin after the last filled month.)

    Args:
        name: "sunspots" or "co2".

    Raises:
        ValueError: if there is no series of that name.
        ImportError: if statsmodels is not installed.

    >>> co2 = load_series("co2")
    >>> len(co2), co2.period, co2.units, int(co2.filled.sum())
    (526, 12, 'ppm', 5)
    """
    if name not in get_args(SeriesName):
        expected = ", ".join(get_args(SeriesName))
        raise ValueError(f"name: expected one of {expected}, got {name!r}")
    with from_extra("data", "statsmodels"):
        from statsmodels import datasets
    return _sunspots(datasets) if name == "sunspots" else _co2(datasets)


def _sunspots(datasets: Any) -> TimeSeries:
    yearly = datasets.sunspots.load_pandas().data
    values = torch.tensor(yearly["SUNACTIVITY"].tolist(), dtype=torch.float64)
    return TimeSeries(
        name="sunspots",
        values=values,
        times=torch.tensor(yearly["YEAR"].tolist(), dtype=torch.float64),
        period=11,
        units="sunspots",
        source="National Geophysical Data Center, by statsmodels.datasets.sunspots",
        filled=torch.zeros(len(values), dtype=torch.bool),
    )


def _co2(datasets: Any) -> TimeSeries:
    weekly = datasets.co2.load_pandas().data["co2"]
    monthly = weekly.resample("MS").mean()
    times = [month.year + (month.month - 0.5) / 12 for month in monthly.index]
    return TimeSeries(
        name="co2",
        values=torch.tensor(monthly.interpolate().tolist(), dtype=torch.float64),
        times=torch.tensor(times, dtype=torch.float64),
        period=12,
        units="ppm",
        source="Keeling and Whorf (2004), Mauna Loa, by statsmodels.datasets.co2",
        filled=torch.tensor(monthly.isna().tolist()),
    )


__all__ = ["SeriesName", "TimeSeries", "load_series"]
