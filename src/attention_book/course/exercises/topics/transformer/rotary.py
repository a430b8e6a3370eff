"""Exercises on rotary positions: turning heads, and attention with turned heads."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import RotaryPositions, dot_product_attention, sinusoids
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual


def _heads_at_places() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 4), 0))
    yield Probe((torch.randn(1, 4), 2), Bilingual("只来了第 3 个词", "word 3 comes alone"))
    yield Probe((torch.randn(4, 8), 3))
    yield Probe((torch.randn(3, 2), 1), Bilingual("只有一对特征", "there is a single pair"))
    yield Probe((torch.randn(2, 4), 500), Bilingual("位置很远", "the positions are far"))


def _rotated(x: Tensor, offset: int) -> Tensor:
    return RotaryPositions(d_k=x.shape[-1]).rotate(x[None, None], offset=offset)[0, 0]


def _angles(x: Tensor, offset: int) -> Tensor:
    positions = torch.arange(offset, offset + len(x))[:, None]
    return positions * 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])


def _pairs_of_halves(x: Tensor, offset: int) -> Tensor:
    angles = _angles(x, offset).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


def _mixed_pairs(x: Tensor, offset: int) -> Tensor:
    angles = _angles(x, offset).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


def _backwards(x: Tensor, offset: int) -> Tensor:
    cos, sin = _angles(x, offset).cos(), _angles(x, offset).sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)


def _no_rotation(x: Tensor, offset: int) -> Tensor:
    cos, sin = _angles(x, offset).cos(), _angles(x, offset).sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def _added(x: Tensor, offset: int) -> Tensor:
    return x + sinusoids(len(x), x.shape[-1], offset=offset)


def _from_zero(x: Tensor, offset: int) -> Tensor:
    return _rotated(x, 0)


def _one_place(x: Tensor, offset: int) -> Tensor:
    return torch.cat([_rotated(row[None], offset) for row in x])


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


ROTARY = Exercise(
    name="rotary",
    task=Bilingual(
        "写 `rotate(x, offset)`：把 x（位置，特征）里相邻的每一对特征 (2i, 2i+1)"
        " 转过“位置 × 10000 的 −2i/d 次方”的角，第一个词在位置 offset。",
        "Write `rotate(x, offset)`: turn each pair of neighboring features (2i, 2i+1) of x"
        " (position, feature) by the position times 10000 to the power of −2i/d; the first word"
        " is at the position offset.",
    ),
    solution=_rotated,
    probes=_heads_at_places,
    mistakes=(
        Mistake(
            "pairs-of-halves",
            _pairs_of_halves,
            Bilingual(
                "这里把特征 j 与 j + d/2 配成一对；那样也自洽，但要的是相邻的两个，权重不通用。",
                "This pairs feature j with j + d/2; that is consistent too, but asked for are"
                " neighbors, and the two do not share weights.",
            ),
        ),
        Mistake(
            "mixed-pairs",
            _mixed_pairs,
            Bilingual(
                "角度按相邻的对排，特征却按前后两半配：一对里的两个转了不同的角，这不是旋转。",
                "The angles are laid out for neighbors and the features paired by halves: the two"
                " of a pair turn by different angles, which is no rotation.",
            ),
        ),
        Mistake(
            "backwards",
            _backwards,
            Bilingual(
                "转反了：新的第一个是 a·cos − b·sin。",
                "Turned the wrong way: the new first feature is a·cos − b·sin.",
            ),
        ),
        Mistake(
            "minus-lost",
            _no_rotation,
            Bilingual(
                "少了一个负号：这样会改变长度，旋转不会。",
                "A minus sign is missing: this changes lengths, which a rotation does not.",
            ),
        ),
        Mistake(
            "added",
            _added,
            Bilingual("旋转是乘，不是加。", "A rotation multiplies; nothing is added."),
        ),
        Mistake(
            "position-zero",
            _from_zero,
            Bilingual(
                "每次都从位置 0 转起：单独送来的词根本没有转。用上 `offset`。",
                "It starts from position 0 every time: words that come alone are not turned at"
                " all. Use `offset`.",
            ),
        ),
        Mistake(
            "one-too-far",
            lambda x, offset: _rotated(x, offset + 1),
            Bilingual(
                "多数了一个：第一个词就在位置 offset。",
                "One too many: the first word stands at the position offset itself.",
            ),
        ),
        Mistake(
            "one-place-for-all",
            _one_place,
            Bilingual(
                "几个词得到了同一个位置：第二个词在 offset + 1。",
                "All words get one position: the second is at offset + 1.",
            ),
        ),
        Mistake(
            "nothing-at-zero",
            lambda x, offset: _rotated(x, offset) if offset else x.clone(),
            Bilingual(
                "offset 为 0 时，后面的词也要转。",
                "With an offset of 0 the later words are turned as well.",
            ),
        ),
    ),
    laws=(
        Law(
            "lengths-stay",
            Bilingual("旋转不改变向量的长度。", "A rotation leaves the lengths of vectors alone."),
            _lengths_stay,
        ),
    ),
)


def _three_tensors() -> Iterator[Probe]:
    yield Probe((*torch.randn(3, 3, 4),))
    yield Probe((torch.randn(2, 4), torch.randn(5, 4), torch.randn(5, 8)))
    yield Probe(
        (torch.randn(3, 2), torch.randn(4, 2), torch.randn(4, 2)),
        Bilingual("只有一对特征", "there is a single pair"),
    )


def _queries_and_keys(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(_rotated(queries, 0), _rotated(keys, 0), values)


def _values_too(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(_rotated(queries, 0), _rotated(keys, 0), _rotated(values, 0))


def _queries_alone(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(_rotated(queries, 0), keys, values)


def _keys_alone(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(queries, _rotated(keys, 0), values)


def _of_scores(
    weigh: Callable[[Tensor], Tensor], power: float = -0.5, *, last: bool = False
) -> Callable[..., Tensor]:
    """Return an attention that makes weights of scaled scores of turned queries and keys."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        turned = _rotated(queries, max(len(keys) - len(queries), 0) if last else 0)
        return weigh(turned @ _rotated(keys, 0).mT * queries.shape[-1] ** power) @ values

    return attend


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def _one_backwards(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(_rotated(queries, 0), _backwards(keys, 0), values)


_ONE_SIDE = Bilingual(
    "查询和键都要转：只转一边，评分取决于位置本身，而不是两者的距离。",
    "Turn queries and keys: with one side alone the score depends on the place itself, not on the"
    " distance between two.",
)

ROTARY_ATTENTION = Exercise(
    name="rotary-attention",
    task=Bilingual(
        "写 `attend(queries, keys, values)`：带旋转位置的点积注意力，位置都从 0 数起。",
        "Write `attend(queries, keys, values)`: dot-product attention with rotary positions, all"
        " counted from 0.",
    ),
    solution=_queries_and_keys,
    probes=_three_tensors,
    mistakes=(
        Mistake(
            "values-rotated",
            _values_too,
            Bilingual(
                "值不转：位置只该影响评分，转了值，平均里就混进了绝对位置。",
                "Values are not turned: the position should affect the scores alone; turned values"
                " bring absolute positions into the average.",
            ),
        ),
        Mistake("one-side", _queries_alone, _ONE_SIDE),
        Mistake("one-side", _keys_alone, _ONE_SIDE),
        Mistake(
            "no-positions",
            dot_product_attention,
            Bilingual(
                "还没有转：这是没有位置的注意力。", "Nothing is turned: no positions at all."
            ),
        ),
        Mistake(
            "not-scaled",
            _of_scores(_softmax, 0.0),
            Bilingual("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
        Mistake(
            "divided-by-d",
            _of_scores(_softmax, -1.0),
            Bilingual("除以的是 √d_k，不是 d_k。", "Divide by √d_k, not by d_k."),
        ),
        Mistake(
            "wrong-axis",
            _of_scores(lambda scores: scores.softmax(dim=0)),
            Bilingual(
                "softmax 用错了轴：要沿键，也就是最后一个轴。",
                "The softmax runs over the wrong axis: it goes over the keys, the last axis.",
            ),
        ),
        Mistake(
            "sign",
            _of_scores(lambda scores: (-scores).softmax(dim=-1)),
            Bilingual(
                "符号反了：越相似，评分越高。",
                "The sign is reversed: the more alike, the higher the score.",
            ),
        ),
        Mistake(
            "one-backwards",
            _one_backwards,
            Bilingual(
                "查询与键转的方向相反：评分就取决于位置之和，不是之差。",
                "Queries and keys are turned in opposite directions: the score depends on the "
                "sum of positions, not on their difference.",
            ),
        ),
        Mistake(
            "queries-at-the-end",
            _of_scores(_softmax, last=True),
            Bilingual(
                "查询的位置也从 0 数起，不是接在末尾。",
                "The positions of the queries count from 0, too; they do not stand at the end.",
            ),
        ),
    ),
)


EXERCISES = (ROTARY, ROTARY_ATTENTION)
