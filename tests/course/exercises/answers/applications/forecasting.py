"""Answers to the exercises on forecasting."""

import torch


def mase(forecast, actual, past, period, *, lag=None, power=1, unit=None, total=False):
    """Count it up value by value."""
    lag = lag or period
    if unit is None:
        steps = [abs(float(past[t] - past[t - lag])) for t in range(lag, len(past))]
        unit = sum(steps) / len(steps)
    errors = [abs(float(a - b)) ** power for a, b in zip(forecast, actual, strict=True)]
    count = 1 if total else len(errors)
    return torch.tensor((sum(errors) / count) ** (1 / power) / unit)


def with_unit(unit):
    return lambda f, a, p, m: (f - a).abs().mean() / unit(f, a, p, m)


def of_the_future(forecast, actual, past, period):
    lag = min(period, len(actual) - 1)
    differences = (actual[lag:] - actual[: len(actual) - lag]).abs()
    return (actual - forecast).abs().mean() / differences.mean()


def naive_in_the_future(forecast, actual, past, period):
    places = torch.arange(len(actual)) % period
    naive = past[-period:][places]
    return (actual - forecast).abs().mean() / (actual - naive).abs().mean()


def lagged(series, m):
    return series[m:] - series[:-m]


def scaled(values, origin, *, end=None, correction=1, epsilon=0.0):
    known = values[: origin if end is None else end(values, origin)]
    std = known.std(correction=correction) + epsilon
    return values / std - known.mean() / std


def batch_norm_by_parts(values, origin):
    past = (values[:origin] - values[:origin].mean()) / values[:origin].std()
    if origin == len(values):
        return past
    future = (values[origin:] - values[origin:].mean()) / values[origin:].std()
    return torch.cat([past, future])


def by_future(values, origin):
    known = values[origin:] if origin < len(values) else values
    return (values - known.mean()) / known.std()


def written_into(values, origin):
    known = values[:origin].clone()
    values -= known.mean()
    return values / known.std()


def in_two_steps(values, origin):
    centered = values - values[:origin].sum() / origin
    return centered / (centered[:origin].square().sum() / (origin - 1)).sqrt()


RIGHT = {
    "mase": [mase, with_unit(lambda f, a, p, m: lagged(p, m).abs().mean())],
    "scaled-by-the-past": [scaled, in_two_steps],
}

WRONG = {
    "mase": [
        (of_the_future, "unit-from-the-future"),
        (naive_in_the_future, "unit-from-the-future"),
        (lambda f, a, p, m: mase(f, a, p, m, lag=1), "period-ignored"),
        (lambda f, a, p, m: mase(f, a, p, m, lag=m + 1), "rejected"),
        (lambda f, a, p, m: mase(f, a, p, m, power=2), "squared"),
        (lambda f, a, p, m: mase(f, a, p, m, unit=float(p.var()) ** 0.5), "spread-as-unit"),
        (lambda f, a, p, m: (f.mean() - a.mean()) / lagged(p, m).abs().mean(), "signed"),
        (lambda f, a, p, m: (f - a).abs().mean() / lagged(p, m).mean().abs(), "unit-signed"),
        (lambda f, a, p, m: (f - a).abs().mean() / lagged(p, m).mean(), "unit-signed"),
        (lambda f, a, p, m: (f - a).abs().mean(), "no-unit"),
        (lambda f, a, p, m: mase(f, a, p, m, unit=float(p.mean())), "mean-as-unit"),
        (lambda f, a, p, m: mase(f, a, p, m, unit=float(p.abs().mean())), "mean-as-unit"),
        (lambda f, a, p, m: ((f - a).abs() / a.abs()).mean(), "rejected"),
        (lambda f, a, p, m: mase(f, a, p, m, total=True), "not-averaged"),
        (lambda f, a, p, m: (f - a).abs().sum() / lagged(p, m).abs().sum(), "not-averaged"),
        (lambda f, a, p, m: 1 / mase(f, a, p, m), "rejected"),
        (
            with_unit(lambda f, a, p, m: lagged(torch.cat((p, a)), m).abs().mean()),
            "past-and-future",
        ),
        (with_unit(lambda f, a, p, m: lagged(p, m).square().mean().sqrt()), "rejected"),
        (with_unit(lambda f, a, p, m: lagged(p, m).abs().sum() / len(p)), "divided-by-all"),
        (with_unit(lambda f, a, p, m: lagged(p, m).abs().median()), "rejected"),
        (lambda f, a, p, m: (f - a).abs() / lagged(p, m).abs().mean(), "not-averaged"),
        (lambda f, a, p, m: mase(f, a, p, m).clamp(max=1), "rejected"),
    ],
    "scaled-by-the-past": [
        (lambda v, o: scaled(v, o, end=lambda v, o: len(v)), "the-future-counts"),
        (lambda v, o: scaled(v, o, end=lambda v, o: o + 1), "one-too-many"),
        (lambda v, o: scaled(v, o, end=lambda v, o: o - 1), "one-too-few"),
        (batch_norm_by_parts, "each-by-its-own"),
        (lambda v, o: v - v[:o].sum() / o, "not-divided"),
        (lambda v, o: v / v[:o].std(), "not-centered"),
        (lambda v, o: scaled(v, o, correction=0), "not-corrected"),
        (lambda v, o: scaled(v, o, epsilon=1e-5), "epsilon"),
        (lambda v, o: scaled(v, o, epsilon=1e-6), "epsilon"),
        (lambda v, o: (v - v[:o].mean()) / v[:o].var(), "variance"),
        (lambda v, o: (v - v[:o].mean()) / v.std(), "the-future-counts"),
        (lambda v, o: (v - v.mean()) / v[:o].std(), "the-future-counts"),
        (lambda v, o: scaled(v, o)[:o], "future-dropped"),
        (lambda v, o: scaled(v, o)[o:], "rejected"),
        (by_future, "future-alone"),
        (lambda v, o: torch.cat((scaled(v, o)[:o], v[o:])), "future-unscaled"),
        (lambda v, o: (v - v[:o].min()) / (v[:o].max() - v[:o].min()), "range"),
        (lambda v, o: (v - v[:o].median()) / v[:o].std(), "rejected"),
        (lambda v, o: (v - v[o - 1]) / v[:o].std(), "rejected"),
        (lambda v, o: v / v[:o].std() - v[:o].mean(), "rejected"),
        (written_into, "input"),
    ],
}
