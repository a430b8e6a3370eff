"""Answers to the exercise on rotary frequencies for long texts."""

import torch


def frequencies(d, s, *, power=None, base=10000.0, first=0):
    power = d / (d - 2) if power is None else power
    return torch.tensor([(base * s**power) ** (-2 * (j + first) / d) for j in range(d // 2)])


def scaled_one_by_one(d, s):
    pairs = torch.arange(d // 2)
    return frequencies(d, 1) * s ** (-pairs / (d // 2 - 1))


def changed(d, s, divisor):
    """Divide the frequencies of the pairs, as the shares of the last one say."""
    share = torch.arange(d // 2) / (d // 2 - 1)
    return frequencies(d, 1) / divisor(share, s)


RIGHT = {
    "ntk-frequencies": [
        frequencies,
        scaled_one_by_one,
        lambda d, s: (10000 * s ** (d / (d - 2))) ** (-torch.arange(0, d, 2) / d),
    ]
}

WRONG = {
    "ntk-frequencies": [
        (lambda d, s: frequencies(d, s, power=1), "base-times-s"),
        (lambda d, s: frequencies(d, s, power=d // (d - 2)), "whole-exponent"),
        (lambda d, s: frequencies(d, 1) / s, "interpolation"),
        (lambda d, s: frequencies(d, s, power=1 - 2 / d), "exponent-upside-down"),
        (lambda d, s: frequencies(d, 1 / s), "faster"),
        (lambda d, s: frequencies(d, 1), "rejected"),
        (lambda d, s: frequencies(d, s, power=2), "rejected"),
        (lambda d, s: frequencies(d, s, first=1), "pairs-from-one"),
        (lambda d, s: frequencies(d, s, base=500000.0), "rejected"),
        (lambda d, s: 1 / frequencies(d, s), "wavelengths"),
        (lambda d, s: frequencies(d, s).repeat_interleave(2), "twice"),
        (lambda d, s: frequencies(d, s).repeat(2), "twice"),
        (lambda d, s: changed(d, s, lambda share, s: 1 + share * (s - 1)), "rejected"),
        (lambda d, s: changed(d, s, lambda share, s: torch.where(share < 1, 1, s)), "last-alone"),
        (lambda d, s: frequencies(d, s, power=(d / 2) / (d / 2 - 2)), "rejected"),
        (lambda d, s: frequencies(d, s, power=d / (d - 1)), "rejected"),
        (lambda d, s: frequencies(d, int(s)), "rejected"),
        (lambda d, s: frequencies(d, s, power=d / (d - 2) if s > 2 else 0), "rejected"),
        (lambda d, s: frequencies(d, s).tolist(), "type"),
        (lambda s, d: frequencies(int(d), s), "rejected"),
    ]
}
