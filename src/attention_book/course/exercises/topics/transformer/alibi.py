"""An exercise on ALiBi: biases that grow with the distance."""

from collections.abc import Callable

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


def _with_slopes(slope: Callable[[int, int], float]) -> Callable[[int, int], Tensor]:
    """Return biases whose slopes are made of h, from 1, and H."""

    def alibi(num_heads: int, num_positions: int) -> Tensor:
        slopes = torch.tensor([slope(h, num_heads) for h in range(1, num_heads + 1)])
        return -slopes[:, None, None] * _distances(num_positions).abs()

    return alibi


def _future_hidden(num_heads: int, num_positions: int) -> Tensor:
    later = torch.ones(num_positions, num_positions, dtype=torch.bool).triu(1)
    return _alibi(num_heads, num_positions).masked_fill(later, -torch.inf)


def _squared(num_heads: int, num_positions: int) -> Tensor:
    return -alibi_slopes(num_heads)[:, None, None] * _distances(num_positions) ** 2


_WHOLE = Bilingual(
    "8h/H 不一定是整数：用 `/`，不用 `//`。",
    "8h/H need not be an integer: divide by `/`, not by `//`.",
)

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
    probes=lambda: [
        Probe((2, 3)),
        Probe((8, 3)),
        Probe((4, 5)),
        Probe((16, 3), Bilingual("头比 8 多", "there are more than 8 heads")),
        Probe((1, 2), Bilingual("只有一个头", "there is a single head")),
        Probe((4, 1), Bilingual("只有一个位置", "there is a single position")),
    ],
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
        Mistake(
            "past-favored",
            lambda num_heads, num_positions: -_signed(num_heads, num_positions),
            Bilingual(
                "没有取绝对值：前面的键得到了正的偏置，越远越受偏爱。",
                "The absolute value is missing: earlier keys get a positive bias, the more the "
                "further away.",
            ),
        ),
        Mistake(
            "squared",
            _squared,
            Bilingual(
                "偏置与距离成正比，不是与它的平方。",
                "The bias is proportional to the distance, not to its square.",
            ),
        ),
        Mistake(
            "steep-last",
            lambda num_heads, num_positions: _alibi(num_heads, num_positions).flip(0),
            Bilingual(
                "头的次序反了：第一个头的斜率最大。",
                "The heads come in the wrong order: the first has the steepest slope.",
            ),
        ),
        Mistake(
            "eight-heads-only",
            _with_slopes(lambda h, H: 2.0**-h),
            Bilingual(
                "只在 8 个头时对：指数是 −8h/H。", "Right for 8 heads alone: the exponent is −8h/H."
            ),
        ),
        Mistake("whole-exponent", _with_slopes(lambda h, H: 2.0 ** (-(8 // H) * h)), _WHOLE),
        Mistake("whole-exponent", _with_slopes(lambda h, H: 2.0 ** (-8 * h // H)), _WHOLE),
        Mistake(
            "future-hidden",
            _future_hidden,
            Bilingual(
                "这里只要偏置：遮住未来是掩码的事。",
                "Only the bias is asked for: hiding the future is the mask's task.",
            ),
        ),
        Mistake(
            "future-without-bias",
            lambda num_heads, num_positions: _alibi(num_heads, num_positions).tril(),
            Bilingual(
                "后面的键也有偏置：两边都按距离。",
                "Later keys have a bias, too: it goes by the distance on both sides.",
            ),
        ),
    ),
)

EXERCISES = (ALIBI_BIAS,)
