"""An exercise on rotary frequencies for long texts: NTK-aware scaling."""

from collections.abc import Iterator

from torch import Tensor

from attention_book.attention import NtkScaling, rotary_frequencies
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual


def _sizes_and_factors() -> Iterator[Probe]:
    yield Probe((8, 8.0))
    yield Probe((32, 4.0))
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


def _last_is_interpolated(answer: Answer) -> Finding | None:
    got = (answer(8, 4.0)[-1] / rotary_frequencies(8)[-1]).item()
    if abs(got - 0.25) < 1e-3:
        return None
    return Finding(
        {"d": 8, "s": 4.0},
        Bilingual("最后一对慢到 1/4", "a last pair 1/4 as fast"),
        Bilingual(f"{got:.4g} 倍", f"one {got:.4g} times as fast"),
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
