"""Exercises on weighted averages: attention pooling, and kernel regression."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import nadaraya_watson
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual

# --- attention-pooling -----------------------------------------------------------------------


def _scores_and_values() -> Iterator[Probe]:
    yield Probe((torch.randn(2, 3), torch.randn(3, 2)))
    yield Probe(
        (torch.randn(3, 3), torch.randn(3, 5)),
        Bilingual("查询与键一样多", "there are as many queries as keys"),
    )
    yield Probe(
        (torch.randn(2, 3, 5), torch.randn(2, 5, 1)),
        Bilingual("前面还有批量的轴", "a batch axis comes first"),
    )


ATTENTION_POOLING = Exercise(
    name="attention-pooling",
    task=Bilingual(
        "写 `pool(scores, values)`：把评分（查询，键）变成权重，对值（键，特征）求加权平均。",
        "Write `pool(scores, values)`: turn scores (query, key) into weights, and average the"
        " values (key, feature) with them.",
    ),
    solution=lambda scores, values: scores.softmax(dim=-1) @ values,
    probes=_scores_and_values,
    mistakes=(
        Mistake(
            "wrong-axis",
            lambda scores, values: scores.softmax(dim=-2) @ values,
            Bilingual(
                "现在是各个查询在争同一个键：一个查询的权重要沿键（最后一个轴）相加为 1。",
                "Here the queries compete for each key: the weights of one query sum to 1 over"
                " the keys, the last axis.",
            ),
        ),
        Mistake(
            "not-normalized",
            lambda scores, values: scores.exp() @ values,
            Bilingual(
                "指数还要除以这一行的和：不然输出的大小随键的个数增长。",
                "The exponentials still have to be divided by the sum of their row: otherwise"
                " the output grows with the number of keys.",
            ),
        ),
        Mistake(
            "scores-as-weights",
            lambda scores, values: scores @ values,
            Bilingual(
                "评分还不是权重：它可以为负，一行之和也不是 1。",
                "Scores are no weights yet: they can be negative, and a row does not sum to 1.",
            ),
        ),
        Mistake(
            "shares-of-scores",
            lambda scores, values: scores / scores.sum(dim=-1, keepdim=True) @ values,
            Bilingual(
                "评分有正有负，直接除以它们的和会得到负的权重：先取指数。",
                "Scores have either sign, so their shares in the sum can be negative: take"
                " exponentials first.",
            ),
        ),
        Mistake(
            "plain-average",
            lambda scores, values: (0 * scores).softmax(dim=-1) @ values,
            Bilingual(
                "每个键的权重都一样：评分没有用上。",
                "Every key has the same weight: the scores are not used.",
            ),
        ),
    ),
)

# --- nadaraya-watson -------------------------------------------------------------------------


def _points() -> Iterator[Probe]:
    queries, keys, values = torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.5, 2.0]), torch.randn(3)
    yield Probe((queries, keys, values, 1.0))
    yield Probe((queries, keys, values, 0.5), Bilingual("带宽不是 1", "the bandwidth is not 1"))
    yield Probe((queries, keys, values, 3.0), Bilingual("带宽很大", "the bandwidth is large"))
    yield Probe(
        (torch.randn(3), torch.randn(3), values, 0.7),
        Bilingual("查询与键一样多", "there are as many queries as keys"),
    )
    far = torch.tensor([0.0, 40.0])
    yield Probe(
        (far, keys, values, 1.0),
        Bilingual("一个查询离所有的键都很远", "one query is far from all keys"),
    )


def _regression(score: Callable[[Tensor, float], Tensor], dim: int = -1) -> Callable[..., Tensor]:
    """Return a regression whose scores are made of distance and bandwidth."""

    def predict(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        distances = queries[:, None] - keys
        return score(distances, bandwidth).softmax(dim=dim) @ values

    return predict


def _densities(queries: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    return (-(((queries[:, None] - keys) / bandwidth) ** 2) / 2).exp()


def _quotient(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    likeness = _densities(queries, keys, bandwidth)
    return likeness @ values / likeness.sum(dim=-1)


NADARAYA_WATSON = Exercise(
    name="nadaraya-watson",
    task=Bilingual(
        "写 `predict(queries, keys, values, bandwidth)`：高斯核的 Nadaraya–Watson 回归。",
        "Write `predict(queries, keys, values, bandwidth)`: Nadaraya–Watson regression with a"
        " Gaussian kernel.",
    ),
    solution=lambda queries, keys, values, bandwidth: nadaraya_watson(
        queries, keys, values, bandwidth=bandwidth
    ),
    probes=_points,
    mistakes=(
        Mistake(
            "bandwidth-not-squared",
            _regression(lambda d, h: -(d**2) / (2 * h)),
            Bilingual(
                "带宽为 1 时对，其余都错：先除以带宽，再平方。",
                "Right for bandwidth 1 alone: divide by the bandwidth first, then square.",
            ),
        ),
        Mistake(
            "bandwidth-multiplied",
            _regression(lambda d, h: -((d * h) ** 2) / 2),
            Bilingual(
                "带宽乘上去了：带宽越大，核应当越宽，距离要除以它。",
                "Multiplied by the bandwidth: a larger one must make the kernel wider, so the"
                " distance is divided by it.",
            ),
        ),
        Mistake(
            "no-half",
            _regression(lambda d, h: -((d / h) ** 2)),
            Bilingual(
                "高斯核的指数里有一个 1/2；漏了它，带宽就成了原来的 1/√2。",
                "There is a 1/2 in the exponent of the Gaussian; without it the bandwidth is"
                " smaller by a factor of √2.",
            ),
        ),
        Mistake(
            "not-squared",
            _regression(lambda d, h: -(d / h).abs() / 2),
            Bilingual(
                "高斯核里是距离的平方，不是绝对值。",
                "The Gaussian takes the square of the distance, not its absolute value.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _regression(lambda d, h: -((d / h) ** 2) / 2, dim=0),
            Bilingual(
                "权重要沿键相加为 1，不是沿查询。",
                "The weights sum to 1 over the keys, not over the queries.",
            ),
        ),
        Mistake(
            "not-normalized",
            lambda queries, keys, values, h: _densities(queries, keys, h) @ values,
            Bilingual(
                "分母忘了：要除以这个查询所有核值的和。",
                "The denominator is missing: divide by the sum of the kernel over all keys.",
            ),
        ),
        Mistake(
            "underflow",
            _quotient,
            Bilingual(
                "离所有键都远时，每个核值都下溢成 0，于是 0/0。"
                "对核取对数再做 softmax，公式不变，却不会下溢。",
                "Far from all keys every kernel value underflows to 0, hence 0/0. A softmax of"
                " the kernel's logarithm is the same formula and does not underflow.",
            ),
        ),
    ),
)

EXERCISES = (ATTENTION_POOLING, NADARAYA_WATSON)
