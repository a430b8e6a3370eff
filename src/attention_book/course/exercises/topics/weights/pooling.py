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
    far_apart = torch.tensor([[1000.0, 999.0, 0.0], [-1000.0, -1001.0, -1000.0]])
    yield Probe((far_apart, torch.randn(3, 2)), Bilingual("评分相差很大", "scores are far apart"))
    yield Probe(
        (torch.randn(2, 1), torch.randn(1, 3)), Bilingual("只有一个键", "there is a single key")
    )


def _of_exponentials(likeness: Tensor, values: Tensor) -> Tensor:
    return likeness / likeness.sum(dim=-1, keepdim=True) @ values


def _of_the_highest(scores: Tensor, values: Tensor) -> Tensor:
    highest = scores == scores.amax(dim=-1, keepdim=True)
    return highest.to(values.dtype) @ values


_OVERFLOW = Bilingual(
    "`exp(1000)` 是无穷大，`exp(-1000)` 是 0：取指数之前，每一行减去它自己的最大值，"
    "或者交给 `softmax`。",
    "`exp(1000)` is infinite and `exp(-1000)` is 0: before the exponential, subtract from each row"
    " its own maximum, or leave it to `softmax`.",
)
_COMPETING_QUERIES = Bilingual(
    "现在是各个查询在争同一个键：一个查询的权重要沿键（最后一个轴）相加为 1。",
    "Here the queries compete for each key: the weights of one query sum to 1 over the keys, the"
    " last axis.",
)
_NO_SCALE = Bilingual(
    "评分在这里不再除以什么：直接做 softmax。",
    "The scores are not divided by anything here: take their softmax as they are.",
)


ATTENTION_POOLING = Exercise(
    name="attention-pooling",
    task=Bilingual(
        "写 `pool(scores, values)`：把评分（查询，键）变成权重，对值（键，特征）求加权"
        "平均；前面可以还有批量的轴，评分可大可小。",
        "Write `pool(scores, values)`: turn scores (query, key) into weights, and "
        "average the values (key, feature) with them; batch axes may come first, and "
        "scores may be of any size.",
    ),
    solution=lambda scores, values: scores.softmax(dim=-1) @ values,
    probes=_scores_and_values,
    mistakes=(
        Mistake(
            "wrong-axis",
            lambda scores, values: scores.softmax(dim=-2) @ values,
            _COMPETING_QUERIES,
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
        Mistake(
            "wrong-axis", lambda scores, values: scores.softmax(dim=0) @ values, _COMPETING_QUERIES
        ),
        Mistake(
            "wrong-axis", lambda scores, values: scores.softmax(dim=1) @ values, _COMPETING_QUERIES
        ),
        Mistake(
            "overflow", lambda scores, values: _of_exponentials(scores.exp(), values), _OVERFLOW
        ),
        Mistake(
            "overflow",
            lambda scores, values: _of_exponentials((scores - scores.max()).exp(), values),
            _OVERFLOW,
        ),
        Mistake(
            "overflow",
            lambda scores, values: (
                (scores - scores.max()).exp()
                @ values
                / ((scores - scores.max()).exp().sum(dim=-1, keepdim=True) + 1e-8)
            ),
            _OVERFLOW,
        ),
        Mistake(
            "sign",
            lambda scores, values: (-scores).softmax(dim=-1) @ values,
            Bilingual(
                "符号反了：评分越高，权重越大。",
                "The sign is reversed: a higher score means a larger weight.",
            ),
        ),
        Mistake(
            "scaled",
            lambda scores, values: (scores / scores.shape[-1] ** 0.5).softmax(dim=-1) @ values,
            _NO_SCALE,
        ),
        Mistake(
            "scaled",
            lambda scores, values: (scores / values.shape[-1] ** 0.5).softmax(dim=-1) @ values,
            _NO_SCALE,
        ),
        Mistake(
            "highest-only",
            _of_the_highest,
            Bilingual(
                "只取了评分最高的键：软注意力让每个键都有一份。",
                "Only the key of the highest score is taken: with soft attention every key has "
                "a share.",
            ),
        ),
        Mistake(
            "softmax-twice",
            lambda scores, values: scores.softmax(dim=-1).softmax(dim=-1) @ values,
            Bilingual("softmax 做了两次。", "The softmax was taken twice."),
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
    yield Probe(
        (queries, keys[:1], values[:1], 0.1), Bilingual("只有一个键", "there is a single key")
    )


def _regression(score: Callable[[Tensor, float], Tensor], dim: int = -1) -> Callable[..., Tensor]:
    """Return a regression whose scores are made of distance and bandwidth."""

    def predict(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        distances = queries[:, None] - keys
        return score(distances, bandwidth).softmax(dim=dim) @ values

    return predict


def _densities(queries: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    return (-(((queries[:, None] - keys) / bandwidth) ** 2) / 2).exp()


def _quotient(
    queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float, add: float = 0.0
) -> Tensor:
    likeness = _densities(queries, keys, bandwidth)
    return likeness @ values / (likeness.sum(dim=-1) + add)


def _nearest(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    return values[(queries[:, None] - keys).abs().argmin(dim=-1)]


_UNDERFLOW = Bilingual(
    "离所有键都远时，每个核值都下溢成 0，于是 0/0；分母加一个小数，结果就成了 0。"
    "对核取对数再做 softmax，公式不变，却不会下溢。",
    "Far from all keys every kernel value underflows to 0, hence 0/0; with a small number added"
    " below, the result is 0. A softmax of the kernel's logarithm is the same formula and does"
    " not underflow.",
)


NADARAYA_WATSON = Exercise(
    name="nadaraya-watson",
    task=Bilingual(
        "写 `predict(queries, keys, values, bandwidth)`：高斯核的 Nadaraya–Watson 回归"
        "；查询离所有的键都很远时，结果也要对。",
        "Write `predict(queries, keys, values, bandwidth)`: Nadaraya–Watson regression "
        "with a Gaussian kernel; it must come out right for a query far from all keys, "
        "too.",
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
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda queries, keys, values, h: _quotient(queries, keys, values, h, 1e-8),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda queries, keys, values, h: _quotient(queries, keys, values, h, 1e-30),
            _UNDERFLOW,
        ),
        Mistake(
            "sign",
            _regression(lambda d, h: (d / h) ** 2 / 2),
            Bilingual(
                "指数里少了负号：越远的键，权重越小。",
                "The minus sign of the exponent is missing: keys further away weigh less.",
            ),
        ),
        Mistake(
            "no-bandwidth",
            _regression(lambda d, h: -(d**2) / 2),
            Bilingual("带宽没有用上。", "The bandwidth is not used."),
        ),
        Mistake(
            "nearest-only",
            _nearest,
            Bilingual(
                "只取了最近的键：核回归是所有键的加权平均。",
                "Only the nearest key is taken: kernel regression is a weighted average over "
                "all keys.",
            ),
        ),
        Mistake(
            "plain-average",
            lambda queries, keys, values, h: values.mean().expand(len(queries)),
            Bilingual(
                "每个键的权重都一样：距离没有用上。",
                "Every key has the same weight: the distances are not used.",
            ),
        ),
        Mistake(
            "softmax-of-kernel",
            lambda queries, keys, values, h: _densities(queries, keys, h).softmax(dim=-1) @ values,
            Bilingual(
                "对核值又取了一次指数：softmax 的输入是核的对数。",
                "This takes the exponential of the kernel once more: what goes into the "
                "softmax is the kernel's logarithm.",
            ),
        ),
    ),
)

EXERCISES = (ATTENTION_POOLING, NADARAYA_WATSON)
