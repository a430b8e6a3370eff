"""An exercise on ALiBi: biases that grow with the distance."""

import torch
from torch import Tensor

from attention_book.attention import alibi_slopes
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _alibi(num_heads: int, num_positions: int) -> Tensor:
    return -alibi_slopes(num_heads)[:, None, None] * _distances(num_positions).abs()


def _distances(num_positions: int) -> Tensor:
    positions = torch.arange(num_positions)
    return positions - positions[:, None]


def _growing(num_heads: int, num_positions: int) -> Tensor:
    return -_alibi(num_heads, num_positions)


def _signed(num_heads: int, num_positions: int) -> Tensor:
    return alibi_slopes(num_heads)[:, None, None] * _distances(num_positions)


def _slope_one_first(num_heads: int, num_positions: int) -> Tensor:
    return 2 ** (8 / num_heads) * _alibi(num_heads, num_positions)


def _one_slope(num_heads: int, num_positions: int) -> Tensor:
    return _alibi(num_heads, num_positions)[:1].expand(num_heads, -1, -1)


ALIBI_BIAS = Exercise(
    name="alibi-bias",
    task=Bilingual(
        "写 `alibi(num_heads, num_positions)`：加到评分上的偏置（头，查询，键），等于 −m·|i − j|，"
        "斜率 m 是 2 的 −8h/H 次方，h 从 1 到 H（H 是 2 的幂）。",
        "Write `alibi(num_heads, num_positions)`: the bias of the scores (head, query, key), which"
        " is −m·|i − j| with the slope m equal to 2 to the power of −8h/H, for h from 1 to H (a"
        " power of 2).",
    ),
    solution=_alibi,
    probes=lambda: [Probe((2, 3)), Probe((8, 3)), Probe((4, 5))],
    mistakes=(
        Mistake(
            "wrong-sign",
            _growing,
            Bilingual(
                "符号反了：越远，评分该越低。",
                "The sign is wrong: the further away, the lower the score.",
            ),
        ),
        Mistake(
            "future-favored",
            _signed,
            Bilingual(
                "没有取绝对值：后面的键得到了正的偏置，越远越受偏爱。",
                "The absolute value is missing: later keys get a positive bias, the more the"
                " further away.",
            ),
        ),
        Mistake(
            "slopes-from-one",
            _slope_one_first,
            Bilingual(
                "h 从 1 数起：第一个头的斜率是 2 的 −8/H 次方，不是 1。",
                "h counts from 1: the slope of the first head is 2 to the power of −8/H, not 1.",
            ),
        ),
        Mistake(
            "one-slope",
            _one_slope,
            Bilingual("每个头各有自己的斜率。", "Every head has a slope of its own."),
        ),
    ),
)

EXERCISES = (ALIBI_BIAS,)
