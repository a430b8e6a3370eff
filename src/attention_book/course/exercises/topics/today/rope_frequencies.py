"""An exercise on rotary frequencies for long texts: NTK-aware scaling."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import NtkScaling, rotary_frequencies
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual


def _sizes_and_factors() -> Iterator[Probe]:
    yield Probe((8, 8.0))
    yield Probe((32, 4.0))
    yield Probe((32, 1.5), Bilingual("s 不是整数", "s is not an integer"))
    yield Probe((4, 3.0), Bilingual("只有两对", "there are two pairs"))
    yield Probe((64, 40.0), Bilingual("文字长得多", "much longer texts"))
    yield Probe((16, 1.0), Bilingual("s = 1，什么也不该变", "s = 1, nothing should change"))


def _stretched(d: int, s: float) -> Tensor:
    return NtkScaling(factor=s).frequencies(d).float()


def _base_times_s(d: int, s: float) -> Tensor:
    return rotary_frequencies(d, base=10000.0 * s).float()


def _interpolated(d: int, s: float) -> Tensor:
    return (rotary_frequencies(d) / s).float()


def _upside_down(d: int, s: float) -> Tensor:
    return rotary_frequencies(d, base=10000.0 * s ** ((d - 2) / d)).float()


def _faster(d: int, s: float) -> Tensor:
    return rotary_frequencies(d, base=10000.0 / s ** (d / (d - 2))).float()


def _whole_exponent(d: int, s: float) -> Tensor:
    return rotary_frequencies(d, base=10000.0 * s ** (d // (d - 2))).float()


def _pairs_from_one(d: int, s: float) -> Tensor:
    base = 10000.0 * s ** (d / (d - 2))
    return torch.tensor([base ** (-2 * j / d) for j in range(1, d // 2 + 1)])


def _last_alone(d: int, s: float) -> Tensor:
    frequencies = rotary_frequencies(d).float()
    return torch.cat((frequencies[:-1], frequencies[-1:] / s))


def _last_is_interpolated(answer: Answer) -> Finding | None:
    got = (answer(8, 4.0)[-1] / rotary_frequencies(8)[-1]).item()
    if abs(got - 0.25) < 1e-3:
        return None
    return Finding(
        {"d": 8, "s": 4.0},
        Bilingual("最后一对慢到 1/4", "a last pair 1/4 as fast"),
        Bilingual(f"{got:.4g} 倍", f"one {got:.4g} times as fast"),
    )


_EACH_ONCE = Bilingual(
    "一对特征一个频率：是 d/2 个，不是 d 个。",
    "One frequency for each pair of features: d/2 of them, not d.",
)

NTK_FREQUENCIES = Exercise(
    name="ntk-frequencies",
    task=Bilingual(
        "写 `frequencies(d, s)`：NTK 感知缩放之后，d 个特征的 d/2 个频率。底数原是 10000，"
        "要使第一对不变，最后一对慢到 1/s。",
        "Write `frequencies(d, s)`: the d/2 frequencies of d features after NTK-aware scaling."
        " The base was 10000; the first pair should stay, and the last be 1/s as fast.",
    ),
    solution=_stretched,
    probes=_sizes_and_factors,
    mistakes=(
        Mistake(
            "base-times-s",
            _base_times_s,
            Bilingual(
                "底数只乘 s，最后一对慢不到 1/s：它的指数是 (d−2)/d，不是 1，所以 s 还要有指数。",
                "With the base times s the last pair is not yet 1/s as fast: its exponent is"
                " (d − 2)/d, not 1, so that s needs an exponent, too.",
            ),
        ),
        Mistake(
            "interpolation",
            _interpolated,
            Bilingual(
                "所有的对都除以 s，这是位置插值：第一对也变慢了。",
                "Every pair is divided by s: that is position interpolation, and the first pair"
                " is slower, too.",
            ),
        ),
        Mistake(
            "exponent-upside-down",
            _upside_down,
            Bilingual(
                "指数倒了：(s 的 x 次方) 再取 (d−2)/d 次方应当等于 s。",
                "The exponent is upside down: s to the power of x, to the power of (d − 2)/d,"
                " should be s.",
            ),
        ),
        Mistake(
            "faster",
            _faster,
            Bilingual(
                "底数变小，转得更快了；文字更长，要转得更慢。",
                "A smaller base turns faster; longer texts need slower turns.",
            ),
        ),
        Mistake(
            "whole-exponent",
            _whole_exponent,
            Bilingual(
                "指数 d/(d−2) 不是整数：用 `/`，不用 `//`。",
                "The exponent d/(d − 2) is no integer: divide by `/`, not by `//`.",
            ),
        ),
        Mistake(
            "pairs-from-one",
            _pairs_from_one,
            Bilingual(
                "各对从 0 数起：第一对的频率是 1。",
                "Pairs count from 0: the frequency of the first is 1.",
            ),
        ),
        Mistake(
            "last-alone",
            _last_alone,
            Bilingual(
                "只改了最后一对：换的是底数，中间各对都慢一些，越靠后慢得越多。",
                "Only the last pair is changed: it is the base that changes, and the pairs between"
                " are slower, too, the later the more.",
            ),
        ),
        Mistake(
            "wavelengths",
            lambda d, s: 1 / _stretched(d, s),
            Bilingual(
                "这是倒数：频率的指数是负的，−2j/d。",
                "These are the reciprocals: the exponent of a frequency is negative, −2j/d.",
            ),
        ),
        Mistake("twice", lambda d, s: _stretched(d, s).repeat_interleave(2), _EACH_ONCE),
        Mistake("twice", lambda d, s: _stretched(d, s).repeat(2), _EACH_ONCE),
    ),
    laws=(
        Law(
            "last-pair",
            Bilingual("最后一对慢到 1/s。", "The last pair turns 1/s as fast."),
            _last_is_interpolated,
        ),
    ),
)


EXERCISES = (NTK_FREQUENCIES,)
