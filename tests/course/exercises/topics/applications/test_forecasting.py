"""The exercises on forecasting recognize what people get wrong, however they write it."""

import pytest
import torch

from attention_book.course.exercises import check


def mase(forecast, actual, past, period, *, lag=None, power=1, unit=None):
    """Count it up value by value."""
    lag = lag or period
    if unit is None:
        steps = [abs(float(past[t] - past[t - lag])) for t in range(lag, len(past))]
        unit = sum(steps) / len(steps)
    errors = [abs(float(a - b)) ** power for a, b in zip(forecast, actual, strict=True)]
    return torch.tensor((sum(errors) / len(errors)) ** (1 / power) / unit)


def of_the_future(forecast, actual, past, period):
    lag = min(period, len(actual) - 1)
    differences = (actual[lag:] - actual[: len(actual) - lag]).abs()
    return (actual - forecast).abs().mean() / differences.mean()


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (of_the_future, "unit-from-the-future"),
        (lambda f, a, p, m: mase(f, a, p, m, lag=1), "period-ignored"),
        (lambda f, a, p, m: mase(f, a, p, m, power=2), "squared"),
        (lambda f, a, p, m: mase(f, a, p, m, unit=float(p.var()) ** 0.5), "spread-as-unit"),
        (lambda f, a, p, m: (f.mean() - a.mean()) / (p[m:] - p[:-m]).abs().mean(), "signed"),
    ],
)
def test_mase(answer, mistake):
    assert check("mase", mase)
    assert check("mase", answer).mistake == mistake


def scaled(values, origin, *, end=None):
    known = values[: origin if end is None else end(values, origin)]
    return values / known.std() - known.mean() / known.std()


def batch_norm_by_parts(values, origin):
    past = (values[:origin] - values[:origin].mean()) / values[:origin].std()
    future = (values[origin:] - values[origin:].mean()) / values[origin:].std()
    return torch.cat([past, future])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda v, o: scaled(v, o, end=lambda v, o: len(v)), "the-future-counts"),
        (lambda v, o: scaled(v, o, end=lambda v, o: o + 1), "one-too-many"),
        (batch_norm_by_parts, "each-by-its-own"),
        (lambda v, o: v - v[:o].sum() / o, "not-divided"),
    ],
)
def test_scaled_by_the_past(answer, mistake):
    assert check("scaled-by-the-past", scaled)
    assert check("scaled-by-the-past", answer).mistake == mistake
