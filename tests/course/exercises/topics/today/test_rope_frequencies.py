import pytest
import torch

from attention_book.course.exercises import check


def frequencies(d, s, *, power=None, base=10000.0):
    power = d / (d - 2) if power is None else power
    return torch.tensor([(base * s**power) ** (-2 * j / d) for j in range(d // 2)])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda d, s: frequencies(d, s, power=1), "base-times-s"),
        (lambda d, s: frequencies(d, 1) / s, "interpolation"),
        (lambda d, s: frequencies(d, s, power=1 - 2 / d), "exponent-upside-down"),
        (lambda d, s: frequencies(d, 1 / s), "faster"),
    ],
)
def test_frequencies(answer, mistake):
    assert check("ntk-frequencies", frequencies)
    assert check("ntk-frequencies", answer).mistake == mistake


def test_unchanged_frequencies_break_the_law():
    answer = check("ntk-frequencies", lambda d, s: frequencies(d, 1))
    assert not answer
    assert answer.mistake is None
