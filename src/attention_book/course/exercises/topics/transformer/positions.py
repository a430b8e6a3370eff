"""Exercises on positions at the input: the sinusoids, and words that come one at a time."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import sinusoids
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _angles(num_positions: int, d_model: int, first: int = 0) -> Tensor:
    """Return position times frequency, (position, pair)."""
    pairs = torch.arange(0, d_model, 2)
    return torch.arange(first, first + num_positions)[:, None] * 10000.0 ** (-pairs / d_model)


def _sinusoids(num_positions: int, d_model: int) -> Tensor:
    return _alternating(_angles(num_positions, d_model))


def _alternating(angles: Tensor) -> Tensor:
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def _halves(num_positions: int, d_model: int) -> Tensor:
    angles = _angles(num_positions, d_model)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def _cosine_first(num_positions: int, d_model: int) -> Tensor:
    angles = _angles(num_positions, d_model)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(-2)


def _half_exponent(num_positions: int, d_model: int) -> Tensor:
    pair = torch.arange(d_model // 2)
    angles = torch.arange(num_positions)[:, None] * 10000.0 ** (-pair / d_model)
    return _alternating(angles)


def _own_frequencies(num_positions: int, d_model: int) -> Tensor:
    column = torch.arange(d_model)
    angles = torch.arange(num_positions)[:, None] * 10000.0 ** (-column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def _from_one(num_positions: int, d_model: int) -> Tensor:
    return _alternating(_angles(num_positions, d_model, first=1))


def _slow_first(num_positions: int, d_model: int) -> Tensor:
    return _alternating(_angles(num_positions, d_model).flip(-1))


def _multiplied(num_positions: int, d_model: int) -> Tensor:
    pairs = torch.arange(0, d_model, 2)
    angles = torch.arange(num_positions)[:, None] * 10000.0 ** (pairs / d_model)
    return _alternating(angles)


def _with_frequencies(frequency: Callable[[Tensor], Tensor]) -> Callable[[int, int], Tensor]:
    """Return waves whose frequencies are made of 2i/d."""

    def waves(num_positions: int, d_model: int) -> Tensor:
        share = torch.arange(0, d_model, 2) / d_model
        return _alternating(torch.arange(num_positions)[:, None] * frequency(share))

    return waves


def _sines_only(num_positions: int, d_model: int) -> Tensor:
    return _angles(num_positions, d_model).sin().repeat_interleave(2, dim=-1)


_BASE = Bilingual("频率的底是 10000。", "The base of the frequencies is 10000.")
_EXPONENT = Bilingual(
    "频率不对：第 i 对（从 0 数起）的频率是 10000 的 −2i/d 次方，一对正弦余弦共用一个。",
    "The frequencies are off: that of pair i (counted from 0) is 10000 to the power of −2i/d, and"
    " the sine and cosine of a pair share it.",
)

SINUSOIDS = Exercise(
    name="sinusoids",
    task=Bilingual(
        "写 `sinusoids(num_positions, d_model)`：偶数列是正弦，奇数列是余弦，位置从 0 数起。",
        "Write `sinusoids(num_positions, d_model)`: sines in the even columns, cosines in the odd"
        " ones, positions counted from 0.",
    ),
    solution=_sinusoids,
    probes=lambda: [
        Probe((3, 4)),
        Probe((5, 8)),
        Probe((4, 6)),
        Probe((3, 2), Bilingual("只有一对正弦和余弦", "there is one pair of sine and cosine")),
        Probe((1, 4), Bilingual("只有一个位置", "there is a single position")),
    ],
    mistakes=(
        Mistake(
            "halves",
            _halves,
            Bilingual(
                "前一半是正弦，后一半是余弦：这样也行得通，但这里要的是交替排列。",
                "Sines in the first half, cosines in the second: that works as well, but here they"
                " should alternate.",
            ),
        ),
        Mistake(
            "cosine-first",
            _cosine_first,
            Bilingual("正弦在先，余弦在后。", "The sine comes first, then the cosine."),
        ),
        Mistake("wrong-exponent", _half_exponent, _EXPONENT),
        Mistake("wrong-exponent", _own_frequencies, _EXPONENT),
        Mistake("wrong-exponent", _multiplied, _EXPONENT),
        Mistake(
            "from-one",
            _from_one,
            Bilingual(
                "位置从 0 数起：第 1 行的角度全是 0。",
                "Positions count from 0: every angle of the first row is 0.",
            ),
        ),
        Mistake(
            "slow-first",
            _slow_first,
            Bilingual(
                "次序反了：最前面的一对转得最快，每步 1 弧度，往后越来越慢。",
                "The wrong way round: the first pair is the fastest, one radian per step, and"
                " each later pair is slower.",
            ),
        ),
        Mistake(
            "wrong-exponent", _with_frequencies(lambda share: 10000.0 ** (-2 * share)), _EXPONENT
        ),
        Mistake("wrong-base", _with_frequencies(lambda share: 1000.0**-share), _BASE),
        Mistake("wrong-base", _with_frequencies(lambda share: 100000.0**-share), _BASE),
        Mistake("wrong-base", _with_frequencies(lambda share: math.e**-share), _BASE),
        Mistake(
            "turns",
            _with_frequencies(lambda share: 2 * math.pi * 10000.0**-share),
            Bilingual(
                "多了 2π：角度就是位置乘频率，单位弧度。",
                "2π is too much: the angle is the position times the frequency, in radians.",
            ),
        ),
        Mistake(
            "sines-only",
            _sines_only,
            Bilingual(
                "奇数列也是正弦：应当是余弦。",
                "The odd columns are sines as well: they should be cosines.",
            ),
        ),
    ),
)


def _words_at_places() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 4), 0))
    yield Probe((torch.randn(1, 4), 2), Bilingual("只来了第 3 个词", "word 3 comes alone"))
    yield Probe((torch.randn(2, 8), 5), Bilingual("来的是第 6、7 两个词", "words 6 and 7 come"))
    yield Probe((torch.randn(1, 8), 1), Bilingual("只来了第 2 个词", "word 2 comes alone"))
    yield Probe((torch.randn(1, 2), 0), Bilingual("只来了第 1 个词", "word 1 comes alone"))


def _placed(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(x.shape[-2], x.shape[-1], offset=offset)


def _always_first(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(x.shape[-2], x.shape[-1])


def _all_at_offset(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(1, x.shape[-1], offset=offset)


def _one_too_far(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(x.shape[-2], x.shape[-1], offset=offset + 1)


def _instead_of_word(x: Tensor, offset: int) -> Tensor:
    return sinusoids(x.shape[-2], x.shape[-1], offset=offset)


def _one_too_near(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(x.shape[-2], x.shape[-1], offset=max(offset - 1, 0))


def _beside(x: Tensor, offset: int) -> Tensor:
    return torch.cat((x, _instead_of_word(x, offset)), dim=-1)


def _nothing_at_zero(x: Tensor, offset: int) -> Tensor:
    return _placed(x, offset) if offset else x.clone()


PLACE_WORDS = Exercise(
    name="place-words",
    task=Bilingual(
        "写 `place(x, offset)`：给词向量 x（位置，特征）加上正弦位置编码，第一个词在位置 offset。",
        "Write `place(x, offset)`: add sinusoidal positions to the word vectors x (position,"
        " feature), the first of which stands at the position offset.",
    ),
    solution=_placed,
    probes=_words_at_places,
    mistakes=(
        Mistake(
            "position-zero",
            _always_first,
            Bilingual(
                "每次都从位置 0 数起：单独送来的词全成了第一个词。用上 `offset`。",
                "It counts from position 0 every time: words that come alone all become the"
                " first. Use `offset`.",
            ),
        ),
        Mistake(
            "one-place-for-all",
            _all_at_offset,
            Bilingual(
                "一起来的几个词得到了同一个位置：第二个词在 offset + 1。",
                "Words that come together all get one position: the second is at offset + 1.",
            ),
        ),
        Mistake(
            "one-too-far",
            _one_too_far,
            Bilingual(
                "多数了一个：第一个词就在位置 offset。",
                "One too many: the first word stands at the position offset itself.",
            ),
        ),
        Mistake(
            "word-lost",
            _instead_of_word,
            Bilingual(
                "词不见了：位置编码是加上去的。", "The word is gone: positions are added to it."
            ),
        ),
        Mistake(
            "one-too-early",
            _one_too_near,
            Bilingual(
                "少数了一个：第一个词就在位置 offset。",
                "One too few: the first word stands at the position offset itself.",
            ),
        ),
        Mistake(
            "subtracted",
            lambda x, offset: x - _instead_of_word(x, offset),
            Bilingual("符号反了：位置编码是加上去的。", "The sign is wrong: positions are added."),
        ),
        Mistake(
            "scaled",
            lambda x, offset: _placed(x * x.shape[-1] ** 0.5, offset),
            Bilingual("这里词向量不乘 √d。", "The word vectors are not multiplied by √d here."),
        ),
        Mistake(
            "multiplied",
            lambda x, offset: x * _instead_of_word(x, offset),
            Bilingual("位置编码是加上去的，不是乘。", "Positions are added, not multiplied."),
        ),
        Mistake(
            "put-beside",
            _beside,
            Bilingual(
                "位置编码是加上去的，不是接在旁边。",
                "Positions are added, not put beside the word.",
            ),
        ),
        Mistake(
            "nothing-at-zero",
            _nothing_at_zero,
            Bilingual(
                "offset 为 0 时也要加：位置 0 的余弦是 1。",
                "Add them for an offset of 0 as well: the cosines of position 0 are 1.",
            ),
        ),
    ),
)

EXERCISES = (SINUSOIDS, PLACE_WORDS)
