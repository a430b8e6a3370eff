"""Exercises on positions: sinusoids, rotary positions, biases by distance."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_book.attention import (
    RotaryPositions,
    alibi_slopes,
    dot_product_attention,
    sinusoids,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- sinusoids ---------------------------------------------------------------------------------


def _angles(num_positions: int, d_model: int, first: int = 0) -> Tensor:
    """Return position times frequency, (position, pair)."""
    pairs = torch.arange(0, d_model, 2)
    return torch.arange(first, first + num_positions)[:, None] * 10000.0 ** (-pairs / d_model)


def _alternating(angles: Tensor) -> Tensor:
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def _own_frequencies(num_positions: int, d_model: int) -> Tensor:
    column = torch.arange(d_model)
    angles = torch.arange(num_positions)[:, None] * 10000.0 ** (-column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def _with_frequencies(frequency: Callable[[Tensor], Tensor]) -> Callable[[int, int], Tensor]:
    """Return waves whose frequencies are made of 2i/d."""

    def waves(num_positions: int, d_model: int) -> Tensor:
        share = torch.arange(0, d_model, 2) / d_model
        return _alternating(torch.arange(num_positions)[:, None] * frequency(share))

    return waves


SINUSOIDS = exercise(
    "sinusoids",
    "写 `sinusoids(num_positions, d_model)`：偶数列是正弦，奇数列是余弦，位置从 0 数起。",
    "Write `sinusoids(num_positions, d_model)`: sines in the even columns, cosines in the odd"
    " ones, positions counted from 0.",
    solution=lambda num_positions, d_model: _alternating(_angles(num_positions, d_model)),
    probes=lambda: [
        probe((3, 4)),
        probe((5, 8)),
        probe((4, 6)),
        probe((3, 2), "只有一对正弦和余弦", "there is one pair of sine and cosine"),
        probe((1, 4), *hints.ONE_POSITION),
    ],
    mistakes={
        "halves": wrong(
            "前一半是正弦，后一半是余弦：这样也行得通，但这里要的是交替排列。",
            "Sines in the first half, cosines in the second: that works as well, but here they"
            " should alternate.",
            lambda n, d: torch.cat((_angles(n, d).sin(), _angles(n, d).cos()), dim=-1),
        ),
        "cosine-first": wrong(
            "正弦在先，余弦在后。",
            "The sine comes first, then the cosine.",
            lambda n, d: torch.stack((_angles(n, d).cos(), _angles(n, d).sin()), dim=-1).flatten(
                -2
            ),
        ),
        "wrong-exponent": wrong(
            "频率不对：第 i 对（从 0 数起）的频率是 10000 的 −2i/d 次方，一对正弦余弦共用一个。",
            "The frequencies are off: that of pair i (counted from 0) is 10000 to the power of"
            " −2i/d, and the sine and cosine of a pair share it.",
            lambda n, d: _alternating(
                torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(d // 2) / d)
            ),
            _own_frequencies,
            lambda n, d: _alternating(
                torch.arange(n)[:, None] * 10000.0 ** (torch.arange(0, d, 2) / d)
            ),
            _with_frequencies(lambda share: 10000.0 ** (-2 * share)),
        ),
        "from-one": wrong(
            "位置从 0 数起：第 1 行的角度全是 0。",
            "Positions count from 0: every angle of the first row is 0.",
            lambda n, d: _alternating(_angles(n, d, first=1)),
        ),
        "slow-first": wrong(
            "次序反了：最前面的一对转得最快，每步 1 弧度，往后越来越慢。",
            "The wrong way round: the first pair is the fastest, one radian per step, and each"
            " later pair is slower.",
            lambda n, d: _alternating(_angles(n, d).flip(-1)),
        ),
        "wrong-base": wrong(
            "频率的底是 10000。",
            "The base of the frequencies is 10000.",
            _with_frequencies(lambda share: 1000.0**-share),
            _with_frequencies(lambda share: 100000.0**-share),
            _with_frequencies(lambda share: math.e**-share),
        ),
        "turns": wrong(
            "多了 2π：角度就是位置乘频率，单位弧度。",
            "2π is too much: the angle is the position times the frequency, in radians.",
            _with_frequencies(lambda share: 2 * math.pi * 10000.0**-share),
        ),
        "sines-only": wrong(
            "奇数列也是正弦：应当是余弦。",
            "The odd columns are sines as well: they should be cosines.",
            lambda n, d: _angles(n, d).sin().repeat_interleave(2, dim=-1),
        ),
    },
)


# --- place-words -------------------------------------------------------------------------------


def _placed(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(x.shape[-2], x.shape[-1], offset=offset)


def _instead_of_word(x: Tensor, offset: int) -> Tensor:
    return sinusoids(x.shape[-2], x.shape[-1], offset=offset)


PLACE_WORDS = exercise(
    "place-words",
    "写 `place(x, offset)`：给词向量 x（位置，特征）加上正弦位置编码，第一个词在位置 offset。",
    "Write `place(x, offset)`: add sinusoidal positions to the word vectors x (position,"
    " feature), the first of which stands at the position offset.",
    solution=_placed,
    probes=lambda: [
        probe((torch.randn(3, 4), 0)),
        probe((torch.randn(1, 4), 2), *hints.WORD_3_ALONE),
        probe((torch.randn(2, 8), 5), "来的是第 6、7 两个词", "words 6 and 7 come"),
        probe((torch.randn(1, 8), 1), "只来了第 2 个词", "word 2 comes alone"),
        probe((torch.randn(1, 2), 0), "只来了第 1 个词", "word 1 comes alone"),
    ],
    mistakes={
        "position-zero": wrong(
            "每次都从位置 0 数起：单独送来的词全成了第一个词。用上 `offset`。",
            "It counts from position 0 every time: words that come alone all become the first. Use"
            " `offset`.",
            lambda x, offset: x + sinusoids(x.shape[-2], x.shape[-1]),
        ),
        "one-place-for-all": wrong(
            "一起来的几个词得到了同一个位置：第二个词在 offset + 1。",
            "Words that come together all get one position: the second is at offset + 1.",
            lambda x, offset: x + sinusoids(1, x.shape[-1], offset=offset),
        ),
        "one-too-far": wrong(
            *hints.ONE_TOO_FAR,
            lambda x, offset: x + sinusoids(x.shape[-2], x.shape[-1], offset=offset + 1),
        ),
        "word-lost": wrong(
            "词不见了：位置编码是加上去的。",
            "The word is gone: positions are added to it.",
            _instead_of_word,
        ),
        "one-too-early": wrong(
            "少数了一个：第一个词就在位置 offset。",
            "One too few: the first word stands at the position offset itself.",
            lambda x, offset: x + sinusoids(x.shape[-2], x.shape[-1], offset=max(offset - 1, 0)),
        ),
        "subtracted": wrong(
            "符号反了：位置编码是加上去的。",
            "The sign is wrong: positions are added.",
            lambda x, offset: x - _instead_of_word(x, offset),
        ),
        "scaled": wrong(
            "这里词向量不乘 √d。",
            "The word vectors are not multiplied by √d here.",
            lambda x, offset: _placed(x * x.shape[-1] ** 0.5, offset),
        ),
        "multiplied": wrong(
            "位置编码是加上去的，不是乘。",
            "Positions are added, not multiplied.",
            lambda x, offset: x * _instead_of_word(x, offset),
        ),
        "put-beside": wrong(
            "位置编码是加上去的，不是接在旁边。",
            "Positions are added, not put beside the word.",
            lambda x, offset: torch.cat((x, _instead_of_word(x, offset)), dim=-1),
        ),
        "nothing-at-zero": wrong(
            "offset 为 0 时也要加：位置 0 的余弦是 1。",
            "Add them for an offset of 0 as well: the cosines of position 0 are 1.",
            lambda x, offset: _placed(x, offset) if offset else x.clone(),
        ),
    },
)


# --- rotary ------------------------------------------------------------------------------------


def _rotated(x: Tensor, offset: int) -> Tensor:
    return RotaryPositions(d_k=x.shape[-1]).rotate(x[None, None], offset=offset)[0, 0]


def _turns(x: Tensor, offset: int) -> Tensor:
    positions = torch.arange(offset, offset + len(x))[:, None]
    return positions * 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])


def _pairs_of_halves(x: Tensor, offset: int) -> Tensor:
    angles = _turns(x, offset).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


def _mixed_pairs(x: Tensor, offset: int) -> Tensor:
    angles = _turns(x, offset).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


def _backwards(x: Tensor, offset: int) -> Tensor:
    cos, sin = _turns(x, offset).cos(), _turns(x, offset).sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)


def _no_rotation(x: Tensor, offset: int) -> Tensor:
    cos, sin = _turns(x, offset).cos(), _turns(x, offset).sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def _lengths_stay(answer: Answer) -> Finding | None:
    x = torch.randn(3, 4)
    got = answer(x, 2).norm(dim=-1).float()
    if torch.allclose(got, x.norm(dim=-1), atol=1e-4):
        return None
    return Finding(
        {"x": x, "offset": 2},
        Bilingual(f"长度 {x.norm(dim=-1).tolist()}", f"lengths of {x.norm(dim=-1).tolist()}"),
        Bilingual(f"长度 {got.tolist()}", f"lengths of {got.tolist()}"),
    )


ROTARY = exercise(
    "rotary",
    "写 `rotate(x, offset)`：把 x（位置，特征）里相邻的每一对特征 (2i, 2i+1) 转过“位置 × 10000 "
    "的 −2i/d 次方”的角，第一个词在位置 offset。",
    "Write `rotate(x, offset)`: turn each pair of neighboring features (2i, 2i+1) of x (position,"
    " feature) by the position times 10000 to the power of −2i/d; the first word is at the"
    " position offset.",
    solution=_rotated,
    probes=lambda: [
        probe((torch.randn(3, 4), 0)),
        probe((torch.randn(1, 4), 2), *hints.WORD_3_ALONE),
        probe((torch.randn(4, 8), 3)),
        probe((torch.randn(3, 2), 1), *hints.ONE_PAIR),
        probe((torch.randn(2, 4), 500), "位置很远", "the positions are far"),
    ],
    mistakes={
        "pairs-of-halves": wrong(
            "这里把特征 j 与 j + d/2 配成一对；那样也自洽，但要的是相邻的两个，权重不通用。",
            "This pairs feature j with j + d/2; that is consistent too, but asked for are"
            " neighbors, and the two do not share weights.",
            _pairs_of_halves,
        ),
        "mixed-pairs": wrong(
            "角度按相邻的对排，特征却按前后两半配：一对里的两个转了不同的角，这不是旋转。",
            "The angles are laid out for neighbors and the features paired by halves: the two of a"
            " pair turn by different angles, which is no rotation.",
            _mixed_pairs,
        ),
        "backwards": wrong(
            "转反了：新的第一个是 a·cos − b·sin。",
            "Turned the wrong way: the new first feature is a·cos − b·sin.",
            _backwards,
        ),
        "minus-lost": wrong(
            "少了一个负号：这样会改变长度，旋转不会。",
            "A minus sign is missing: this changes lengths, which a rotation does not.",
            _no_rotation,
        ),
        "added": wrong(
            "旋转是乘，不是加。",
            "A rotation multiplies; nothing is added.",
            lambda x, offset: x + sinusoids(len(x), x.shape[-1], offset=offset),
        ),
        "position-zero": wrong(
            "每次都从位置 0 转起：单独送来的词根本没有转。用上 `offset`。",
            "It starts from position 0 every time: words that come alone are not turned at all. Use"
            " `offset`.",
            lambda x, offset: _rotated(x, 0),
        ),
        "one-too-far": wrong(*hints.ONE_TOO_FAR, lambda x, offset: _rotated(x, offset + 1)),
        "one-place-for-all": wrong(
            "几个词得到了同一个位置：第二个词在 offset + 1。",
            "All words get one position: the second is at offset + 1.",
            lambda x, offset: torch.cat([_rotated(row[None], offset) for row in x]),
        ),
        "nothing-at-zero": wrong(
            "offset 为 0 时，后面的词也要转。",
            "With an offset of 0 the later words are turned as well.",
            lambda x, offset: _rotated(x, offset) if offset else x.clone(),
        ),
    },
    laws=(
        Law(
            "lengths-stay",
            Bilingual("旋转不改变向量的长度。", "A rotation leaves the lengths of vectors alone."),
            _lengths_stay,
        ),
    ),
)


# --- rotary-attention --------------------------------------------------------------------------


def _of_turned_scores(
    weigh: Callable[[Tensor], Tensor], power: float = -0.5, *, last: bool = False
) -> Callable[..., Tensor]:
    """Return an attention that makes weights of scaled scores of turned queries and keys."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        turned = _rotated(queries, max(len(keys) - len(queries), 0) if last else 0)
        return weigh(turned @ _rotated(keys, 0).mT * queries.shape[-1] ** power) @ values

    return attend


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


ROTARY_ATTENTION = exercise(
    "rotary-attention",
    "写 `attend(queries, keys, values)`：带旋转位置的点积注意力，位置都从 0 数起。",
    "Write `attend(queries, keys, values)`: dot-product attention with rotary positions, all"
    " counted from 0.",
    solution=lambda queries, keys, values: dot_product_attention(
        _rotated(queries, 0), _rotated(keys, 0), values
    ),
    probes=lambda: [
        probe((*torch.randn(3, 3, 4),)),
        probe((torch.randn(2, 4), torch.randn(5, 4), torch.randn(5, 8))),
        probe((torch.randn(3, 2), torch.randn(4, 2), torch.randn(4, 2)), *hints.ONE_PAIR),
    ],
    mistakes={
        "values-rotated": wrong(
            "值不转：位置只该影响评分，转了值，平均里就混进了绝对位置。",
            "Values are not turned: the position should affect the scores alone; turned values"
            " bring absolute positions into the average.",
            lambda q, k, v: dot_product_attention(_rotated(q, 0), _rotated(k, 0), _rotated(v, 0)),
        ),
        "one-side": wrong(
            "查询和键都要转：只转一边，评分取决于位置本身，而不是两者的距离。",
            "Turn queries and keys: with one side alone the score depends on the place itself, not"
            " on the distance between two.",
            lambda q, k, v: dot_product_attention(_rotated(q, 0), k, v),
            lambda q, k, v: dot_product_attention(q, _rotated(k, 0), v),
        ),
        "no-positions": wrong(
            "还没有转：这是没有位置的注意力。",
            "Nothing is turned: no positions at all.",
            dot_product_attention,
        ),
        "not-scaled": wrong(*hints.NOT_SCALED, _of_turned_scores(_softmax, 0.0)),
        "divided-by-d": wrong(*hints.DIVIDED_BY_D, _of_turned_scores(_softmax, -1.0)),
        "wrong-axis": wrong(
            *hints.OVER_OTHER_AXIS, _of_turned_scores(lambda scores: scores.softmax(dim=0))
        ),
        "sign": wrong(
            *hints.LIKENESS_REVERSED, _of_turned_scores(lambda scores: (-scores).softmax(dim=-1))
        ),
        "one-backwards": wrong(
            "查询与键转的方向相反：评分就取决于位置之和，不是之差。",
            "Queries and keys are turned in opposite directions: the score depends on the sum of"
            " positions, not on their difference.",
            lambda q, k, v: dot_product_attention(_rotated(q, 0), _backwards(k, 0), v),
        ),
        "queries-at-the-end": wrong(
            "查询的位置也从 0 数起，不是接在末尾。",
            "The positions of the queries count from 0, too; they do not stand at the end.",
            _of_turned_scores(_softmax, last=True),
        ),
    },
)


# --- alibi-bias --------------------------------------------------------------------------------


def _alibi(num_heads: int, num_positions: int) -> Tensor:
    return -alibi_slopes(num_heads)[:, None, None] * _distances(num_positions).abs()


def _distances(num_positions: int) -> Tensor:
    positions = torch.arange(num_positions)
    return positions - positions[:, None]


def _signed(num_heads: int, num_positions: int) -> Tensor:
    return alibi_slopes(num_heads)[:, None, None] * _distances(num_positions)


def _with_slopes(slope: Callable[[int, int], float]) -> Callable[[int, int], Tensor]:
    """Return biases whose slopes are made of h, from 1, and H."""

    def alibi(num_heads: int, num_positions: int) -> Tensor:
        slopes = torch.tensor([slope(h, num_heads) for h in range(1, num_heads + 1)])
        return -slopes[:, None, None] * _distances(num_positions).abs()

    return alibi


ALIBI_BIAS = exercise(
    "alibi-bias",
    "写 `alibi(num_heads, num_positions)`：加到评分上的偏置（头，查询，键），等于 −m·|i − j|，"
    "斜率 m 是 2 的 −8h/H 次方，h 从 1 到 H（H 是 2 的幂）。",
    "Write `alibi(num_heads, num_positions)`: the bias of the scores (head, query, key), which is"
    " −m·|i − j| with the slope m equal to 2 to the power of −8h/H, for h from 1 to H (a power of"
    " 2).",
    solution=_alibi,
    probes=lambda: [
        probe((2, 3)),
        probe((8, 3)),
        probe((4, 5)),
        probe((16, 3), "头比 8 多", "there are more than 8 heads"),
        probe((1, 2), *hints.ONE_HEAD),
        probe((4, 1), *hints.ONE_POSITION),
    ],
    mistakes={
        "wrong-sign": wrong(
            "符号反了：越远，评分该越低。",
            "The sign is wrong: the further away, the lower the score.",
            lambda h, n: -_alibi(h, n),
        ),
        "future-favored": wrong(
            "没有取绝对值：后面的键得到了正的偏置，越远越受偏爱。",
            "The absolute value is missing: later keys get a positive bias, the more the further"
            " away.",
            _signed,
        ),
        "slopes-from-one": wrong(
            "h 从 1 数起：第一个头的斜率是 2 的 −8/H 次方，不是 1。",
            "h counts from 1: the slope of the first head is 2 to the power of −8/H, not 1.",
            lambda h, n: 2 ** (8 / h) * _alibi(h, n),
        ),
        "one-slope": wrong(
            "每个头各有自己的斜率。",
            "Every head has a slope of its own.",
            lambda h, n: _alibi(h, n)[:1].expand(h, -1, -1),
        ),
        "past-favored": wrong(
            "没有取绝对值：前面的键得到了正的偏置，越远越受偏爱。",
            "The absolute value is missing: earlier keys get a positive bias, the more the further"
            " away.",
            lambda h, n: -_signed(h, n),
        ),
        "squared": wrong(
            "偏置与距离成正比，不是与它的平方。",
            "The bias is proportional to the distance, not to its square.",
            lambda h, n: -alibi_slopes(h)[:, None, None] * _distances(n) ** 2,
        ),
        "steep-last": wrong(
            "头的次序反了：第一个头的斜率最大。",
            "The heads come in the wrong order: the first has the steepest slope.",
            lambda h, n: _alibi(h, n).flip(0),
        ),
        "eight-heads-only": wrong(
            "只在 8 个头时对：指数是 −8h/H。",
            "Right for 8 heads alone: the exponent is −8h/H.",
            _with_slopes(lambda h, H: 2.0**-h),
        ),
        "whole-exponent": wrong(
            "8h/H 不一定是整数：用 `/`，不用 `//`。",
            "8h/H need not be an integer: divide by `/`, not by `//`.",
            _with_slopes(lambda h, H: 2.0 ** (-(8 // H) * h)),
            _with_slopes(lambda h, H: 2.0 ** (-8 * h // H)),
        ),
        "future-hidden": wrong(
            "这里只要偏置：遮住未来是掩码的事。",
            "Only the bias is asked for: hiding the future is the mask's task.",
            lambda h, n: _alibi(h, n).masked_fill(
                torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf
            ),
        ),
        "future-without-bias": wrong(
            "后面的键也有偏置：两边都按距离。",
            "Later keys have a bias, too: it goes by the distance on both sides.",
            lambda h, n: _alibi(h, n).tril(),
        ),
    },
)

EXERCISES = (SINUSOIDS, PLACE_WORDS, ROTARY, ROTARY_ATTENTION, ALIBI_BIAS)
